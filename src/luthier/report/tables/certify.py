"""The closing tables of a proof over boxes of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.core.arrays import Float64
from luthier.landscape.certified.certificate import Certificate
from luthier.report.console import stack, table

MOST_FEATURES = 40


def certify_tables(
    found: Certificate, names: Sequence[str], start: Float64, start_score: float, written: Sequence[str]
) -> Any:
    """Return what is proven of the given weights and of the best ones, these, and the files."""
    rows: list[tuple[str, Any]] = [
        ("score of the given weights", f"{start_score:.4f}"),
        ("best score found", f"{found.score:.4f}"),
        ("no weights in the window score better than" if not found.whole else "no weights at all score better than",
         f"{found.score_bound:.4f}"),
        ("the given weights are from the best, at most", f"{abs(found.score_bound - start_score):.4f}"),
        ("the best found are from the best, at most", f"{found.distance:.4f}"),
        ("boxes looked at", found.boxes),
        ("boxes open", found.n_open),
        ("share of the window that they are", f"{100 * found.open_share:.3g} %"),
        ("the search", found.end),
    ]  # fmt: skip
    changed = [(n, float(a), float(b)) for n, a, b in zip(names, start, found.weights, strict=True) if a != b]
    aside = "" if found.ties else "weights at which a list hangs on a tie, or on the last digits, are left out\n"
    parts = [table("certified", ("", "value"), rows, caption=aside + found.metric.signature)]
    if changed:
        parts.append(table("best weights, where they differ", ("feature", "given", "best"), changed[:MOST_FEATURES]))
    if written:
        parts.append(table("written", ("file",), [(path,) for path in written]))
    return stack(*parts)
