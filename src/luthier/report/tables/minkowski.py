"""The closing tables of a search over the vertices of a Minkowski sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.geometry.sums.checksum import Checksum
from luthier.geometry.sums.coverage import Coverage
from luthier.landscape.cones.minkowski import SearchReport
from luthier.report.console import stack, table

MOST_FEATURES = 40


def minkowski_tables(report: SearchReport, written: Sequence[str]) -> Any:
    """Return what was found, the best cone, and the files."""
    t = report.tally
    rows: list[tuple[str, Any]] = [
        ("vertices found", t.found),
        ("of these usable", t.usable),
        ("too thin for a certain re-rank", t.uncertain),
        ("steps from the root at most", t.deepest),
        ("space covered", _covered(report.coverage)),
        ("the search", "complete" if report.complete else "stopped; it can be resumed"),
        ("CPU s", f"{report.seconds:.1f}"),
    ]
    if report.checksum is not None:
        rows.append(("checksum", _checked(report.checksum)))
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


def _checked(checksum: Checksum) -> str:
    said = f"{checksum.expected:,} by {checksum.sums:,} partial sums"
    if checksum.agrees:
        return f"agrees: {said}"
    return f"{checksum.expected - checksum.found:,} fewer than in general position, {said}: lists tie"


def _covered(coverage: Coverage) -> str:
    if not coverage.directions:
        return "all"
    share, error = 100 * coverage.share, 100 * coverage.error
    return f"{share:.2f} % ± {error:.2f} (estimate from {coverage.directions:,} directions)"
