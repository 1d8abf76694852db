"""The closing tables of a search over the vertices of a Minkowski sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from luthier.core.arrays import Float64
from luthier.geometry.subspace import Subspace
from luthier.geometry.sums.coverage import Coverage
from luthier.report.console import stack, table

MOST_FEATURES = 40


class Tally(Protocol):
    """Counts, and the best cone."""

    found: int
    usable: int
    uncertain: int
    deepest: int
    best: int
    best_margin: float
    best_position: tuple[float, ...]


class Report(Protocol):
    """What the tables need of a search."""

    @property
    def tally(self) -> Tally: ...  # noqa: D102
    @property
    def subspace(self) -> Subspace: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def metric(self) -> str: ...  # noqa: D102
    @property
    def start_score(self) -> float | None: ...  # noqa: D102
    @property
    def best_score(self) -> float | None: ...  # noqa: D102
    @property
    def best_weights(self) -> Float64: ...  # noqa: D102
    @property
    def coverage(self) -> Coverage: ...  # noqa: D102
    @property
    def complete(self) -> bool: ...  # noqa: D102
    @property
    def interrupted(self) -> bool: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102


def minkowski_tables(report: Report, written: Sequence[str]) -> Any:
    """Return what was found, the best cone, and the files."""
    t = report.tally
    rows: list[tuple[str, Any]] = [
        ("vertices found", t.found),
        ("of these usable", t.usable),
        ("too thin for a certain re-rank", t.uncertain),
        ("steps from the root at most", t.deepest),
        ("space covered", _covered(report.coverage)),
        ("the search", "complete" if report.complete else "stopped: --resume goes on"),
        ("CPU s", f"{report.seconds:.1f}"),
    ]
    parts = [table("Minkowski sum", ("", "value"), rows)]
    if report.best_score is not None:
        changed = [
            (name, float(start), float(best))
            for name, start, best in zip(report.names, report.subspace.start, report.best_weights, strict=True)
            if start != best
        ]
        best = [
            ("score at the start", f"{report.start_score:.4f}"),
            ("best score found", f"{report.best_score:.4f}"),
            ("its vertex", t.best),
            ("margin there", t.best_margin),
        ]
        parts.append(table("best cone", ("", "value"), best, caption=report.metric))
        if changed:
            parts.append(table("its weights, where they differ", ("feature", "start", "best"), changed[:MOST_FEATURES]))
    return stack(*parts, table("written", ("file",), [(path,) for path in written]))


def _covered(coverage: Coverage) -> str:
    if not coverage.directions:
        return "all"
    share, error = 100 * coverage.share, 100 * coverage.error
    return f"{share:.2f} % ± {error:.2f} (estimate from {coverage.directions:,} directions)"


def minkowski_report(report: Report, written: Sequence[str]) -> dict[str, Any]:
    """Return the same as plain data."""
    t = report.tally
    return {
        "found": t.found,
        "usable": t.usable,
        "uncertain": t.uncertain,
        "deepest": t.deepest,
        "complete": report.complete,
        "interrupted": report.interrupted,
        "covered": {
            "share": report.coverage.share, "error": report.coverage.error, "directions": report.coverage.directions,
        },
        "metric": report.metric,
        "start_score": report.start_score,
        "best_score": report.best_score,
        "best_vertex": t.best,
        "best_margin": t.best_margin if math.isfinite(t.best_margin) else None,  # no list has a choice
        "best_position": dict(zip(report.subspace.names, t.best_position, strict=False)),
        "weights": dict(zip(report.names, report.best_weights.tolist(), strict=True)),
        "cpu_seconds": report.seconds,
        "written": list(written),
    }  # fmt: skip
