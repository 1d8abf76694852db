"""What a training came to, as tables: steps, the loop, scores with significance, some translations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from luthier.evaluation.comparison import Comparison
from luthier.report.console import stack, table
from luthier.report.tables.comparison import comparison_text
from luthier.report.tables.loop import loop_turns
from luthier.tuning.iterations import LoopResult


@dataclasses.dataclass(frozen=True)
class Sample:
    """One sentence: source, reference, translated before tuning and after."""

    source: str
    reference: str
    untuned: str
    tuned: str


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A trained system.

    Attributes
    ----------
    steps : name, whether it was left out, seconds
    loops : of each replica
    comparisons : untuned against tuned weights, by the name of the text
    """

    folder: str
    steps: tuple[tuple[str, bool, float], ...]
    loops: tuple[LoopResult, ...]
    comparisons: Mapping[str, Comparison]
    samples: tuple[Sample, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "folder": self.folder,
            "steps": [{"name": name, "skipped": skipped, "seconds": took} for name, skipped, took in self.steps],
            "loops": [loop.as_dict() for loop in self.loops],
            "comparisons": {name: found.as_dict() for name, found in self.comparisons.items()},
            "samples": [dataclasses.asdict(sample) for sample in self.samples],
        }


def training_tables(trained: Trained) -> Any:
    """Return the steps, the loops, the scores of each text, and samples."""
    steps = table(
        "steps",
        ("step", "", "s"),
        [(name, "unchanged" if skipped else "done", f"{seconds:.1f}") for name, skipped, seconds in trained.steps],
    )
    loops = [loop_turns(loop) for loop in trained.loops]
    return stack(steps, *loops, samples_text(trained), *score_tables(trained))


def score_tables(trained: Trained) -> list[Any]:
    """Return a comparison of untuned and tuned weights for each text."""
    return [
        part
        for name, found in trained.comparisons.items()
        for part in (f"\n{name}: untuned and tuned weights", comparison_text(found, decimals=2))
    ]


def samples_text(trained: Trained) -> str:
    """Return some translations, line by line."""
    blocks = [
        "\n".join(f"{field.name:<11}{getattr(sample, field.name)}" for field in dataclasses.fields(sample))
        for sample in trained.samples
    ]
    return "\n" + "\n\n".join(blocks) + "\n"
