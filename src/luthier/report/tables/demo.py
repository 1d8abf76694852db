"""The demonstration's results as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.evaluation.comparison import Comparison
from luthier.kbest.inspection import PoolSummary
from luthier.landscape.planes.surface import SurfaceReport
from luthier.metrics.oracle import Oracle
from luthier.report.console import stack, table
from luthier.report.tables.comparison import comparison_text
from luthier.report.tables.inspection import inspection_tables
from luthier.report.tables.score import oracle_table


@dataclasses.dataclass(frozen=True)
class MethodScores:
    """What the weights of one method reach, as means over seeds."""

    weights: str
    tune: float
    test: float
    spread: float | None = None
    seconds: float | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class DemoResult:
    """All that the demonstration made, for tables and for programs."""

    folder: str
    seed: int
    pool: PoolSummary
    metric: str
    oracles: Sequence[Oracle]
    tuned: Sequence[MethodScores]
    comparison: Comparison
    surface: SurfaceReport
    files: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        surface = self.surface.as_dict()
        return {
            **{key: getattr(self, key) for key in ("folder", "seed", "metric")},
            "oracles": [dataclasses.asdict(oracle) for oracle in self.oracles],
            "tuned": [dataclasses.asdict(row) for row in self.tuned],
            "surface": {
                "seconds": self.surface.seconds,
                **{name: surface[name] for name in ("axes", "cells", "start", "optimum", "check")},
            },
            "files": list(self.files),
            "pool": dataclasses.asdict(self.pool),
            "comparison": self.comparison.as_dict(),
        }


def demo_tables(result: DemoResult) -> Any:
    """Return the pool's tables, the oracles, what tuning brought, the comparison, and the files."""
    tuned = table(
        "tuned weights: BLEU",
        ("weights", "on the tuning lists", "on the test lists", "± over seeds", "CPU s"),
        [
            (
                row.weights,
                f"{row.tune:.2f}",
                f"{row.test:.2f}",
                None if row.spread is None else f"{row.spread:.2f}",
                None if row.seconds is None else f"{row.seconds:.1f}",
            )
            for row in result.tuned
        ],
    )
    surface, check = result.surface, result.surface.check
    plane = table(
        f"every cell of the plane of {' × '.join(surface.plane.subspace.names)}, in a window about the best weights",
        ("cells", "BLEU at the weights", "best BLEU", "re-ranked cells", "that hold", "s"),
        [(
            surface.survey.cells, f"{surface.start_score:.2f}", f"{surface.optimum.score:.2f}",
            check.tried, check.agreed + check.lucky, f"{surface.seconds:.1f}",
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
