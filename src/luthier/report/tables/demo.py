"""The demonstration's results as tables."""

from __future__ import annotations

from typing import Any, Protocol

from luthier.evaluation.comparison import Comparison
from luthier.kbest.inspection import PoolSummary
from luthier.report.console import stack, table
from luthier.report.tables.comparison import comparison_text
from luthier.report.tables.inspection import inspection_tables
from luthier.report.tables.score import oracle_table


class Demo(Protocol):
    """What the tables need of a demonstration."""

    @property
    def pool(self) -> PoolSummary: ...  # noqa: D102
    @property
    def metric(self) -> str: ...  # noqa: D102
    @property
    def oracles(self) -> list[dict[str, Any]]: ...  # noqa: D102
    @property
    def tuned(self) -> list[dict[str, Any]]: ...  # noqa: D102
    @property
    def comparison(self) -> Comparison: ...  # noqa: D102
    @property
    def surface(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def files(self) -> list[str]: ...  # noqa: D102


def demo_tables(result: Demo) -> Any:
    """Return the pool's tables, the oracles, what tuning brought, the comparison, and the files."""
    tuned = table(
        "tuned weights: BLEU",
        ("weights", "on the tuning lists", "on the test lists", "± over seeds", "CPU s"),
        [
            (
                row["weights"],
                f"{row['tune']:.2f}",
                f"{row['test']:.2f}",
                None if row["spread"] is None else f"{row['spread']:.2f}",
                None if row["seconds"] is None else f"{row['seconds']:.1f}",
            )
            for row in result.tuned
        ],
    )
    surface, check = result.surface, result.surface["check"]
    plane = table(
        f"every cell of the plane of {' × '.join(surface['axes'])}, in a window about the best weights",
        ("cells", "BLEU at the weights", "best BLEU", "re-ranked cells", "that hold", "s"),
        [(
            surface["cells"], f"{surface['start']:.2f}", f"{surface['optimum']['score']:.2f}",
            check["tried"], check["agreed"] + check["lucky"], f"{surface['seconds']:.1f}",
        )],
    )  # fmt: skip
    written = table("written", ("file",), [(name,) for name in result.files])
    return stack(
        inspection_tables(result.pool, 40),
        oracle_table({result.metric: result.oracles}),
        tuned,
        comparison_text(result.comparison, decimals=2),
        plane,
        written,
    )
