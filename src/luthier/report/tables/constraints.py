"""How constrained a model is, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.geometry.lp.certificates import Feasible
from luthier.geometry.polytopes.counting import Bound, Counts
from luthier.landscape.selections.constraints import ConstraintCurves, GeometryReport
from luthier.landscape.selections.feasibility import Constraint, Verdict
from luthier.report.console import cell, stack, table, written_text

MOST_CONSTRAINTS = 20


def geometry_tables(report: GeometryReport, curves: ConstraintCurves | None, written: Sequence[str]) -> Any:
    """Return bounds, counts, what was tested, and, where drawn, how the constraints tighten."""
    parts = [_bounds(report), _lists(report), _tests(report)]
    constraints = report.contradiction()
    if constraints:
        parts.append(_contradiction(constraints))
    if curves is not None:
        parts += _curves(curves)
    if written:
        parts.append(written_text(written))
    return stack(*parts)


def size_table(counts: Counts) -> Any:
    """Return the bounds that follow from sizes alone."""
    return table(
        f"at most, for {counts.n_lists:,} sentences and {counts.n_dimensions:,} features",
        BOUND_COLUMNS,
        _bound_rows(counts),
        caption=f"{_power(counts.log10_index_vectors)} index vectors\n{NOT_BINDING}",
    )


BOUND_COLUMNS = ("bound", "feasible index vectors", "edges (Theorem 2)", "share of index vectors", "stops binding at")
NOT_BINDING = "where a bound does not bind, a selection may still be impossible"


def _bound_rows(counts: Counts) -> list[tuple[str, ...]]:
    return [
        (name, _power(b.log10_vertices), _power(b.log10_edges), _share(b), f"D = {b.least_dimensions:,}")
        for name, b in (
            ("Theorem 1, constant 1", counts.theorem),
            ("cells of the arrangement", counts.arrangement),
            ("the most a sum can have", counts.tight),
        )
    ]


def _bounds(report: GeometryReport) -> Any:
    counts = report.counts
    every, extreme = counts.log10_index_vectors, report.log10_extreme_index_vectors
    features, rank = report.problem.n_features, counts.n_dimensions
    independent = f", {rank:,} of them independent" if rank < features else ""
    return table(
        f"at most, for {counts.n_lists:,} sentences and {features:,} features{independent}",
        BOUND_COLUMNS,
        _bound_rows(counts),
        caption=f"{_power(every)} index vectors, {_power(extreme)} of extreme hypotheses only\n{NOT_BINDING}",
    )


def _lists(report: GeometryReport) -> Any:
    return table(
        "hypotheses per list",
        ("", "total", "least", "median", "mean", "most"),
        [
            (name, int(n.sum()), int(n.min()), f"{np.median(n):.1f}", f"{n.mean():.1f}", int(n.max()))
            for name, n in (
                ("all", report.lengths),
                ("distinct feature vectors", report.distinct),
                ("extreme: some weights select them", report.extreme),
            )
        ],
    )


def _tests(report: GeometryReport) -> Any:
    n, subset, reached = len(report.lengths), report.subset, report.sample_reached
    again = "selects it" if report.subset_holds else "does not select it: rounding"
    rows = [
        ("oracle (greedy)", f"{report.oracle.score:.2f}"),
        ("  its hypotheses that are extreme", f"{np.count_nonzero(report.oracle_extreme):,} of {n:,}"),
        ("  its index vector", _verdict(report.verdict)),
        ("  feasible on so many sentences", f"{len(subset.lists):,} of {n:,} (greedy; {report.subset_order})"),
        ("  re-ranked with weights found there", again),
        ("random index vectors", f"{report.sample_feasible:,} of {len(reached):,} feasible"),
    ]
    failed = reached[reached < n]
    if len(failed):
        rows.append(("  sentences before a contradiction", f"mean {failed.mean():.1f}, most {failed.max():,}"))
    return table("put to the test", ("", ""), rows, caption=report.problem.metric.signature)


def _verdict(verdict: Verdict) -> str:
    if isinstance(verdict.proof, Feasible):
        margin = f", with the margin {verdict.proof.margin:.3g}" if math.isfinite(verdict.proof.margin) else ""
        return f"feasible{margin}" + ("" if verdict.selects else "; floating-point weights are too coarse")
    return f"infeasible: {len(verdict.proof.lists)} of its constraints contradict one another"


def _contradiction(constraints: Sequence[Constraint]) -> Any:
    shown = constraints[:MOST_CONSTRAINTS]
    more = len(constraints) - len(shown)
    return table(
        "the contradiction",
        ("sentence", "oracle's hypothesis", "shall beat", "multiplier"),
        [(str(w.sentence), str(w.wanted), str(w.other), f"{w.multiplier:.4g}") for w in shown],
        caption="no weights fulfil all of these constraints: so multiplied, the differences of their features sum to 0"
        + (f"\n{more} more are in the JSON output" if more else ""),
    )


def _curves(curves: ConstraintCurves) -> list[Any]:
    numbers = sorted({share.n_sentences for share in curves.shares})
    sizes = sorted({share.n_features for share in curves.shares})
    found = {(s.n_features, s.n_sentences): s.feasible / s.draws for s in curves.shares}
    draws = curves.shares[0].draws
    parts = [
        table(
            "share of oracle selections that are feasible",
            ("features", *(f"{n:,} sentence{'s' if n > 1 else ''}" for n in numbers)),
            [(cell(d), *(f"{found[d, n]:.0%}" for n in numbers)) for d in sizes],
            caption=f"{draws} draws of features and of sentences",
        )
    ]
    if curves.costs:
        parts.append(
            table(
                f"lp-mert on the first {curves.k} hypotheses",
                ("features", "sentences", "runs", "that ended", "CPU s, mean", "longest"),
                [(c.n_features, c.n_sentences, len(c.seconds), c.finished, *_times(c.seconds)) for c in curves.costs],
                caption=f"runs are given up after {curves.time_limit:g} s; {_ENDED}",
            )
        )
    return parts


_ENDED = "larger sizes are left out once none ends"


def _times(seconds: Sequence[float]) -> tuple[str, str]:
    return f"{math.fsum(seconds) / len(seconds):.3f}", f"{max(seconds):.3f}"


def _power(log10: float) -> str:
    """Return a number of any size.

    >>> _power(4506.0), _power(2.0), _power(-math.inf)
    ('10^4506.0', '100', '0')
    """
    if log10 == -math.inf:
        return "0"
    return f"{round(10**log10):,}" if log10 < 6 else f"10^{log10:.1f}"


def _share(bound: Bound) -> str:
    if not bound.binds:
        return "does not bind"
    log10 = bound.log10_percent
    return f"{10**log10:.3g} %" if log10 > -4 else f"10^{log10:.1f} %"
