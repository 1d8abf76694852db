"""The demonstration's results as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.planes.surface import SurfaceReport
from luthier.report.console import stack, table
from luthier.report.tables.train import Trained, training_tables


@dataclasses.dataclass(frozen=True, eq=False)
class DemoProof:
    """How far tuned weights are from the best there are, whatever some of them are.

    Attributes
    ----------
    names : tuple of str
        The features whose weights may be any.
    score : float
        At the tuned weights.
    found : Certificate
    """

    names: tuple[str, ...]
    score: float
    found: Certificate

    @property
    def sentence(self) -> str:
        """What is proven, for people."""
        away = abs(self.found.score_bound - self.score)
        return (
            f"whatever the weights of {', '.join(self.names)} are, ties aside, none score better than "
            f"{self.found.score_bound:.2f} on these lists, so the tuned weights ({self.score:.2f}) are at most "
            f"{away:.2f} from the best there are"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class DemoResult:
    """All that the demonstration made, for tables and for programs."""

    folder: str
    seed: int
    trained: Trained
    surface: SurfaceReport
    proof: DemoProof
    files: Sequence[str]
    to_explore: tuple[str, str]  # the lists and the weights that are worth a look

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
            "certified": {"axes": list(self.proof.names), "tuned": self.proof.score, **self.proof.found.as_dict()},
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
    found = result.proof.found
    proof = table(
        "how far the tuned weights are from the best there are",
        ("BLEU at the weights", "best found", "no weights reach more than", "boxes"),
        [(f"{result.proof.score:.2f}", f"{found.score:.2f}", f"{found.score_bound:.2f}", found.boxes)],
        caption=result.proof.sentence,
    )
    written = table("written", ("file",), [(name,) for name in result.files])
    return stack(training_tables(result.trained), plane, written, proof)
