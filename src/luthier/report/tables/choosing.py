"""The table of a choice: every point that was tried, the chosen one marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.report.console import stack, table
from luthier.tuning.chosen import Chosen, Tried


def chosen_tables(chosen: Chosen, written: Sequence[str]) -> Any:
    """Return the points with their scores, and the files."""
    points = table(
        "points",
        (*chosen.axes, "features", "tuned", "held out", "β a pair", "CPU s", ""),
        [_row(point, chosen) for point in chosen.points],
        caption=f"{chosen.metric}\n{chosen.method}; chosen by re-ranking the held-out lists, without decoding:\n"
        "the score of the best of many points flatters it",
    )
    return stack(points, table("written", ("file",), [(path,) for path in written]))


def _row(point: Tried, chosen: Chosen) -> tuple[Any, ...]:
    marks = ["chosen"] * (point is chosen.best) + ["did not converge"] * ("did not converge" in point.note)
    each = point.record.get("beta_per_pair")
    return (
        *(point.values[name] for name in chosen.axes), point.features, f"{point.tuned:.2f}", f"{point.heldout:.2f}",
        None if each is None else f"{each:.3g}", f"{point.cpu_seconds:.1f}", ", ".join(marks),
    )  # fmt: skip
