"""What a training came to, as tables: steps, the loop, scores with significance, some translations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from luthier.core.html import Shown
from luthier.evaluation.comparison import Comparison
from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.planes.surface import SurfaceReport
from luthier.report.console import stack, table, written_text
from luthier.report.tables.comparison import comparison_text
from luthier.tuning.loops.report import LoopResult

# The turns of a tuning loop as a table, for the terminal and for a file.

COLUMNS = ("turn", "hypotheses", "new", "all lists", "decoded", "before", "after", "change of w", "held out")


def loop_tables(result: LoopResult, written: Sequence[str]) -> Any:
    """Return the turns with their times, why the loop ended, and the answer."""
    answer = table("weights", ("feature", "start", "answer"), _weight_rows(result))
    return stack(loop_turns(result), answer, written_text(written))


def loop_turns(result: LoopResult) -> Any:
    """Return the turns with their times, and why the loop ended."""
    times = [
        tuple(None if part is None else f"{part:.1f}" for part in (took.decode, took.tune, took.heldout))
        for took in result.seconds
    ]
    return table(
        f"tuning loop: {result.tuner}",
        (*COLUMNS, "decode s", "tune s", "held out s"),
        [(*row, *took) for row, took in zip(loop_rows(result), [(None,) * 3, *times], strict=True)],
        caption=f"{result.metric}\n{ending(result)}",
    )


def loop_markdown(result: LoopResult) -> str:
    """Return the turns as Markdown, without times: the same loop gives the same text."""
    lines = [COLUMNS, ("---:",) * len(COLUMNS), *loop_rows(result)]
    text = "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines)
    return f"{text}\n\n{result.metric}\n\n{ending(result)}\n"


def loop_rows(result: LoopResult) -> list[tuple[Any, ...]]:
    """Return a row for the start and one for each turn; scores with two digits."""
    start = (0, *(None,) * 7, _score(result.start_heldout))
    turns = [
        (
            turn.number,
            turn.hypotheses,
            turn.new,
            turn.merged,
            _score(turn.decoded),
            _score(turn.before),
            _score(turn.after),
            f"{turn.change:.4f}",
            _score(turn.heldout),
        )
        for turn in result.iterations
    ]
    return [start, *turns]


def ending(result: LoopResult) -> str:
    """Return why the loop ended and whose weights are the answer."""
    whose = "the start" if result.chosen == 0 else f"turn {result.chosen}"
    return f"The loop ended: {result.ended}. The answer is the weights of {whose}."


def _weight_rows(result: LoopResult) -> list[tuple[Any, ...]]:
    largest = sorted(result.weights, key=lambda name: -abs(result.weights[name]))[:20]
    return [(name, result.start.get(name), result.weights[name]) for name in largest]


def _score(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


@dataclasses.dataclass(frozen=True)
class Sample:
    """One sentence: source, reference, translated before tuning and after."""

    source: str
    reference: str
    untuned: str
    tuned: str


@dataclasses.dataclass(frozen=True, eq=False)
class Trained(Shown):
    """A trained system.

    Attributes
    ----------
    steps : name, whether it was left out, seconds
    loops : of each replica
    comparisons : untuned against tuned weights, by the name of the text
    signature : what sacrebleu calls the score of ordinary text; "" where text is taken as it is
    """

    folder: str
    steps: tuple[tuple[str, bool, float], ...]
    loops: tuple[LoopResult, ...]
    comparisons: Mapping[str, Comparison]
    samples: tuple[Sample, ...]
    signature: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "folder": self.folder,
            "steps": [{"name": name, "skipped": skipped, "seconds": took} for name, skipped, took in self.steps],
            "loops": [loop.as_dict() for loop in self.loops],
            "comparisons": {name: found.as_dict() for name, found in self.comparisons.items()},
            "samples": [dataclasses.asdict(sample) for sample in self.samples],
            **({"signature": self.signature} if self.signature else {}),
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
    scores = [
        part
        for name, found in trained.comparisons.items()
        for part in (f"\n{name}: untuned and tuned weights", comparison_text(found, decimals=2))
    ]
    return [*scores, *([trained.signature] if trained.signature else [])]


def samples_text(trained: Trained) -> str:
    """Return some translations, line by line."""
    blocks = [
        "\n".join(f"{field.name:<11}{getattr(sample, field.name)}" for field in dataclasses.fields(sample))
        for sample in trained.samples
    ]
    return "\n" + "\n\n".join(blocks) + "\n"


# The demonstration's results as tables.


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
        (
            "cells",
            "BLEU at the weights",
            "best BLEU",
            "re-ranked, drawn at random",
            "confirmed",
            "too small to tell",
            "wrong",
            "s",
        ),
        [
            (
                surface.survey.cells,
                f"{surface.start_score:.2f}",
                f"{surface.optimum.score:.2f}",
                check.tried,
                check.agreed,
                check.tried - check.representable,
                check.wrong,
                f"{surface.seconds:.1f}",
            )
        ],
    )
    found = result.proof.found
    proof = table(
        "how far the tuned weights are from the best there are",
        ("BLEU at the weights", "best found", "no weights reach more than", "boxes"),
        [(f"{result.proof.score:.2f}", f"{found.score:.2f}", f"{found.score_bound:.2f}", found.boxes)],
        caption=result.proof.sentence,
    )
    written = written_text(result.files)
    return stack(training_tables(result.trained), plane, written, proof)


# Scores of translation systems with their intervals.


def evaluation_tables(
    comparison: Comparison, intervals: Mapping[str, Mapping[str, tuple[float, float]]], published: Sequence[str] = ()
) -> Any:
    """Return a row for each system and metric, and, where there are two systems, their difference."""
    rows = []
    for metric in comparison.metrics:
        for result in metric.results:
            low, high = intervals[result.system][metric.metric]
            rows.append((metric.metric, result.system, f"{result.mean:.2f}", f"{low:.2f}", f"{high:.2f}"))
    share = f"{100 * comparison.settings.confidence:g} % interval"
    signatures = "\n".join([*(metric.signature for metric in comparison.metrics), *published])
    scores = table(
        f"{comparison.sentences:,} sentences", ("metric", "system", "score", share, ""), rows, caption=signatures
    )
    if len(comparison.systems) == 1:
        return scores
    return stack(scores, comparison_text(comparison, decimals=2))
