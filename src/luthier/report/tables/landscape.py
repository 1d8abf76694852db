"""The curve along a line as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.axes import axes_of
from luthier.landscape.lines.stability import SHARE
from luthier.landscape.planes.pixels import absolute_window
from luthier.report.console import FEW, FinePrint, as_text, cell, paragraph, stack, table, written_text

if TYPE_CHECKING:
    from luthier.landscape.certified.certificate import Certificate, Proof
    from luthier.landscape.lines.line_report import LineReport
    from luthier.landscape.planes.robust import RobustOptimum
    from luthier.landscape.planes.surface import SurfaceReport


def line_tables(report: LineReport, written: Sequence[str], chosen: RobustOptimum | None = None) -> Any:
    """Return what is on the line, the best intervals, the place that was chosen instead, and the files written."""
    best, check, metric, axis = report.optimum, report.check, report.problem.metric, report.axis
    rows = [
        ("intervals", cell(len(report.scores))),
        (f"score at w0, {axis.label} {axis.origin:.8g}", f"{report.start_score:.4f}"),
        ("best score", f"{best.score:.4f}"),
        (f"  at {axis.label}", f"{best.position + axis.origin:.8g}"),
        ("  on an interval of width", f"{best.width:.4g}"),
        *_stable_rows(report),
    ]
    answer = len(rows)
    rows += [
        ("re-ranked", f"{check.tried:,} intervals"),
        ("  selected what the curve says", cell(check.agreed)),
        ("  too narrow to represent", cell(check.narrow)),
        ("  disagreed", cell(check.wrong)),
    ]
    low, high = report.window
    ends = (
        "the whole line"
        if math.isinf(low) and math.isinf(high)
        else f"{axis.kind} {low + axis.origin:g} … {high + axis.origin:g}"
    )
    summary = table(f"along {report.line.names[0]}, {ends}", ("", ""), rows[:answer], legend=metric.signature)
    checked = table("checked", ("", ""), rows[answer:])
    intervals = table(
        "best intervals",
        ("score", f"from {axis.kind}", f"to {axis.kind}", "width", "a place inside", "re-ranks to it"),
        [
            (
                f"{i.score:.4f}",
                *(f"{place + axis.origin:.8g}" for place in (i.low, i.high)),
                f"{i.width:.4g}",
                f"{i.position + axis.origin:.8g}",
                i.holds or "no",
            )
            for i in report.best
        ],
    )
    parts = [summary, *_told_wrong(check.wrong, "intervals"), FinePrint(stack(checked, intervals))]
    if chosen is not None:
        rows = [
            (axis.label, f"{chosen.position + axis.origin:.8g}"),
            ("score", f"{chosen.score:.4f}"),
            ("mean under noise", f"{chosen.mean:.4f}"),
            ("worst within its deviation", f"{chosen.worst:.4f}"),
            ("room about it, in deviations", f"{chosen.radius:.4g}"),
        ]
        parts.append(table(f"chosen: {chosen.choice}, noise {chosen.noise:g} mean effects", ("", ""), rows))
    if written:
        parts.append(written_text(written))
    return stack(*parts)


def _told_wrong(wrong: int, what: str) -> list[Any]:
    """Say so where a re-rank selects something else: it never should."""
    return [as_text(f"{wrong:,} {what} re-rank to something else")] if wrong else []


def _stable_rows(report: LineReport) -> list[tuple[str, str]]:
    """Return where the optimum is on resamples, where there are any."""
    found, axis = report.stability, report.axis
    if found is None:
        return []
    low, high = (end + axis.origin for end in found.region)
    where = f"of {SHARE:.0%} of {len(found.position):,} resamples, {axis.kind}"
    return [(f"  {where}", f"{low:.8g} … {high:.8g}")]


# The surface over a plane as tables.

SHOWN = 8


def surface_tables(
    report: SurfaceReport,
    written: Sequence[str],
    changes: Mapping[str, Mapping[str, float]] | None = None,
    chosen: RobustOptimum | None = None,
    proof: Proof | None = None,
) -> Any:
    """Return what is on the plane, the best cells, how often which score, and the files written.

    `changes` are those of `luthier.jobs.surface`, `proof` is how far the answer is from the best of the window.
    """
    optimum, axes, check = report.optimum, report.plane.subspace.names, report.check
    walked = "" if report.survey.share == 1.0 else f" ({report.survey.share:.1%} of the edges walked)"
    rows: list[tuple[str, str]] = [
        ("cells", cell(report.survey.cells) + walked),
        ("score at w0", f"{report.start_score:.4f}"),
        ("best score", f"{optimum.score:.4f}"),
        *((f"  at {label}", text) for label, text in _place(report, optimum.cell.position)),
        *_stable_places(report),
    ]
    title = f"{' × '.join(axes)}, {_window(report)}"
    parts = [
        table(title, ("", ""), rows, legend=report.plane.problem.metric.signature),
        *_told_wrong(check.wrong, "cells"),
        FinePrint(_details(report)),
    ]
    if report.cut:
        parts.append(_wider(report))
    if chosen is not None:
        parts.append(_chosen(report, chosen))
    if changes:
        parts.append(_changes(changes))
    parts.append(FinePrint(_best(report)))
    if proof is not None:
        parts.append(paragraph(proof.sentence))
    if written:
        parts.append(written_text(written))
    return stack(*parts)


def _details(report: SurfaceReport) -> Any:
    """Return what cells there are, and how many of those drawn at random re-rank to what they say."""
    check, faces = report.check, report.plane.overlay.faces.counts
    rows = [
        ("cells without area (ties, rounding)", cell(report.survey.without_area)),
        ("faces of a list", f"{faces.min():,} to {faces.max():,}, {faces.mean():.1f} on average"),
        ("change of the best score from w0", f"{report.optimum.score - report.start_score:+.4f}"),
        ("room about the best place", f"{report.optimum.cell.radius:.4g}"),
        ("worst score", f"{report.worst:.4f}"),
    ]
    if report.record is not None:
        rows.append(("different scores", cell(report.distinct_scores)))
        rows.append(("cells that floats cannot reach for certain", cell(report.unrepresentable)))
    if check.tried:
        rows += [
            ("re-ranked", f"{check.tried:,} cells, drawn at random"),
            ("  reached for certain", cell(check.representable)),
            ("    selected what the cell says", cell(check.agreed)),
            ("    selected something else", cell(check.wrong)),
            ("  not for certain", cell(check.tried - check.representable)),
        ]
    return table("details", ("", ""), [*rows, ("seconds", f"{report.seconds:.1f}")])


def _stable_places(report: SurfaceReport) -> list[tuple[str, str]]:
    """Return where the optimum is on resamples: the extent of an ellipse along each axis."""
    found = report.stability
    if found is None:
        return []
    extent = np.sqrt((found.axes**2).sum(axis=0))
    ends = (_place(report, found.centre - extent), _place(report, found.centre + extent))
    where = f"  optima of {SHARE:.0%} of {len(found.position):,} resamples, an ellipse:"
    return [(where, ""), *((f"    {label}", f"{low} … {high}") for (label, low), (_, high) in zip(*ends, strict=True))]


def _place(report: SurfaceReport, position: Float64 | float) -> list[tuple[str, str]]:
    """Return a place, along each axis what it is and its number: a weight, or an offset with its sign."""
    axes = axes_of(report.plane.subspace)
    numbers = [
        f"{x + a.origin:.8g}" if a.is_weight else f"{x:+.8g}"
        for a, x in zip(axes, np.atleast_1d(position), strict=True)
    ]
    return list(zip((axis.label for axis in axes), numbers, strict=True))


def _chosen(report: SurfaceReport, chosen: RobustOptimum) -> Any:
    """Return the point that was chosen instead of the optimum, and what it is worth under noise."""
    rows = [
        *_place(report, chosen.position),
        ("score", f"{chosen.score:.4f}"),
        ("mean under noise", f"{chosen.mean:.4f}"),
        ("worst within its deviation", f"{chosen.worst:.4f}"),
        ("room about it, in deviations", f"{chosen.radius:.4g}"),
    ]
    return table(f"chosen: {chosen.choice}, noise {chosen.noise:g} mean effects", ("", ""), rows)


def _verdict(found: Mapping[str, float]) -> str:
    """Return whether a change is more than chance; with few sentences nobody can tell."""
    if found["sentences"] < FEW:
        return "too few to tell"
    return "no" if found["low"] <= 0 <= found["high"] else "yes"


def _changes(changes: Mapping[str, Mapping[str, float]]) -> Any:
    """Return what the best weights change, and whether that is more than chance."""
    rows = [
        (
            {"these": "these, which flatters", "heldout": "held out"}[where],
            f"{found['before']:.4f}",
            f"{found['after']:.4f}",
            f"{found['after'] - found['before']:+.4f} ({found['low']:+.4f} … {found['high']:+.4f})",
            _verdict(found),
        )
        for where, found in changes.items()
    ]
    return table("the best against w0", ("sentences", "w0", "best", "Δ, 95 % interval", "more than chance"), rows)


def _ends(report: SurfaceReport) -> dict[str, tuple[float, float]]:
    """Return where the window begins and ends along each axis, as weights or offsets."""
    x_low, x_high, y_low, y_high = absolute_window(report.plane.subspace, report.plane.window)
    return dict(zip(report.plane.subspace.names, ((x_low, x_high), (y_low, y_high)), strict=True))


def _wider(report: SurfaceReport) -> str:
    """Say that the best cell touches the window's border, and name a window twice as large along these axes."""
    wider = []
    for axis in report.cut:
        low, high = _ends(report)[axis]
        finite = [end for end in (high, low) if math.isfinite(end)]
        more = (high - low) / 2 if len(finite) == 2 else abs(finite[0] if finite else 0.0) or 1.0
        ends = (f"{end + change:.4g}" if math.isfinite(end) else "" for end, change in ((low, -more), (high, more)))
        wider.append(f"{axis}={':'.join(ends)}")
    found = "the best cell touches the window's border: there may be better ones beyond"
    return f"{found}. hint: a window of {' '.join(wider)}"


def _best(report: SurfaceReport) -> Any:
    """Return the best cells; a cell that no float reaches for certain is marked."""
    columns = ("score", *(a.label for a in axes_of(report.plane.subspace)), "area", "radius", "reached for certain")
    rows = [
        (
            f"{one.score:.4f}",
            *(text for _, text in _place(report, one.cell.position)),
            f"{one.cell.area:.4g}" if math.isfinite(one.cell.area) else "without end",
            f"{one.cell.radius:.4g}",
            one.representable or "no",
        )
        for one in report.best[:SHOWN]
    ]
    return table("best cells", columns, rows)


def _window(report: SurfaceReport) -> str:
    ends = _ends(report)
    if all(math.isinf(end) for pair in ends.values() for end in pair):
        return "the whole plane"
    return ", ".join(
        f"{axis.label} {low:.4g} … {high:.4g}"
        for axis, (low, high) in zip(axes_of(report.plane.subspace), ends.values(), strict=True)
    )


# The closing tables of a proof over boxes of weights.

MOST_FEATURES = 40


def certify_tables(
    found: Certificate, names: Sequence[str], start: Float64, start_score: float, written: Sequence[str]
) -> Any:
    """Return what is proven of the given weights and of the best ones, these, and the files."""
    which = ("at all" if found.everything else "along the axes") if found.whole else "in the window"
    rows: list[tuple[str, Any]] = [
        ("score of the given weights", f"{start_score:.4f}"),
        ("best score found", f"{found.score:.4f}"),
        (f"no weights {which} score better than", f"{found.score_bound:.4f}"),
        ("the given weights are from the best, at most", f"{abs(found.score_bound - start_score):.4f}"),
        ("the search", found.end),
    ]
    boxes = [
        ("the best found are from the best, at most", f"{found.distance:.4f}"),
        ("boxes looked at", found.boxes),
        ("boxes open", found.n_open),
        ("share of the window that they are", f"{100 * found.open_share:.3g} %"),
    ]
    changed = [(n, float(a), float(b)) for n, a, b in zip(names, start, found.weights, strict=True) if a != b]
    aside = "" if found.ties else "weights at which a list hangs on a tie, or on the last digits, are left out"
    parts = [
        table("certified", ("", "value"), rows, caption=aside, legend=found.metric.signature),
        FinePrint(table("boxes", ("", "value"), boxes)),
    ]
    if changed:
        parts.append(table("best weights, where they differ", ("feature", "given", "best"), changed[:MOST_FEATURES]))
    return stack(*parts, written_text(written))
