"""The surface over a plane as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from luthier.core.arrays import Float64
from luthier.landscape.axes import axes_of
from luthier.landscape.certified.certificate import Proof
from luthier.landscape.planes.pixels import told_window
from luthier.landscape.planes.steady import Steady
from luthier.landscape.planes.surface import SurfaceReport
from luthier.report.console import FEW, cell, stack, table

SHOWN = 8


def surface_tables(
    report: SurfaceReport,
    written: Sequence[str],
    changes: Mapping[str, Mapping[str, float]] | None = None,
    chosen: Steady | None = None,
    proof: Proof | None = None,
) -> Any:
    """Return what is on the plane, the best cells, how often which score, and the files written.

    `changes` are those of `luthier.pipelines.chance`, `proof` is how far the answer is from the best of the window.
    """
    optimum, axes, check = report.optimum, report.plane.subspace.names, report.check
    complete, faces = report.survey.share == 1.0, report.plane.overlay.faces.counts
    walked = "" if complete else f" ({report.survey.share:.1%} of the edges walked)"
    rows: list[tuple[str, str]] = [
        ("cells", cell(report.survey.cells) + walked),
        ("  more that have no area (ties, rounding)", cell(report.survey.without_area)),
        ("faces of a list", f"{faces.min():,} to {faces.max():,}, {faces.mean():.1f} on average"),
    ]
    if report.record is not None:
        rows.append(("different scores", cell(report.distinct_scores)))
    rows += [
        ("score at w0", f"{report.start_score:.4f}"),
        ("best score", f"{optimum.score:.4f}"),
        ("  change from w0", f"{optimum.score - report.start_score:+.4f}"),
        *((f"  at {label}", text) for label, text in _place(report, optimum.cell.position)),
        ("  room about it", f"{optimum.cell.radius:.4g}"),
        ("worst score", f"{report.worst:.4f}"),
    ]
    if report.record is not None:
        rows.append(("cells that floats cannot reach for certain", cell(report.unrepresentable)))
    if check.tried:
        rows += [
            ("re-ranked", f"{check.tried:,} cells, drawn at random"),
            ("  reached for certain", cell(check.representable)),
            ("    selected what the cell says", cell(check.agreed)),
            ("    selected something else", cell(check.wrong)),
            ("  not for certain", cell(check.tried - check.representable)),
        ]
    rows.append(("seconds", f"{report.seconds:.1f}"))
    title = f"{' × '.join(axes)}, {_window(report)}"
    parts = [table(title, ("", ""), rows, caption=report.plane.problem.metric.signature)]
    if report.cut:
        parts.append(_wider(report))
    if chosen is not None:
        parts.append(_chosen(report, chosen))
    if changes:
        parts.append(_changes(changes))
    parts.append(_best(report))
    if proof is not None:
        parts.append(table("certified", ("",), [(proof.sentence,)]))
    if written:
        parts.append(table("written", ("file",), [(path,) for path in written]))
    return stack(*parts)


def _place(report: SurfaceReport, position: Float64) -> list[tuple[str, str]]:
    """Return a place, along each axis what it is and its number: a weight, or an offset with its sign."""
    axes = axes_of(report.plane.subspace)
    numbers = [f"{x + a.origin:.8g}" if a.is_weight else f"{x:+.8g}" for a, x in zip(axes, position, strict=True)]
    return list(zip((axis.label for axis in axes), numbers, strict=True))


def _chosen(report: SurfaceReport, chosen: Steady) -> Any:
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
    x_low, x_high, y_low, y_high = told_window(report.plane.subspace, report.plane.window)
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
