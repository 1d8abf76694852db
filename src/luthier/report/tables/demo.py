"""The demonstration's results as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.landscape.planes.surface import SurfaceReport
from luthier.report.console import stack, table
from luthier.report.tables.train import Trained, training_tables


@dataclasses.dataclass(frozen=True, eq=False)
class DemoResult:
    """All that the demonstration made, for tables and for programs."""

    folder: str
    seed: int
    trained: Trained
    surface: SurfaceReport
    files: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        surface = self.surface.as_dict()
        return {
            "folder": self.folder,
            "seed": self.seed,
            **self.trained.as_dict(),
            "surface": {
                "seconds": self.surface.seconds,
                **{name: surface[name] for name in ("axes", "cells", "start", "optimum", "check")},
            },
            "files": list(self.files),
        }


def demo_tables(result: DemoResult) -> Any:
    """Return the training's tables, the surface, and the files."""
    surface, check = result.surface, result.surface.check
    plane = table(
        f"every cell of the plane of {' × '.join(surface.plane.subspace.names)}, in a window about the tuned weights",
        ("cells", "BLEU at the weights", "best BLEU", "re-ranked, drawn at random", "confirmed", "too small to tell",
         "wrong", "s"),
        [(
            surface.survey.cells, f"{surface.start_score:.2f}", f"{surface.optimum.score:.2f}", check.tried,
            check.agreed, check.tried - check.representable, check.wrong, f"{surface.seconds:.1f}",
        )],
    )  # fmt: skip
    written = table("written", ("file",), [(name,) for name in result.files])
    return stack(training_tables(result.trained), plane, written)
