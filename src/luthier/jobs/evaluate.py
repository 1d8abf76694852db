"""How good trained systems are: scores with intervals, and p-values where there are two."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import write_lines
from luthier.core.files.written import Written
from luthier.core.tasks import Threads
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.evaluation.bootstrap import bootstrap_scores, score_interval
from luthier.evaluation.comparison import Comparison, Settings, compare
from luthier.evaluation.systems import System
from luthier.jobs.score import read_parallel
from luthier.jobs.trained_model import TranslationModel
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """Systems on a text: the comparison, and the interval of each score by system and metric."""

    comparison: Comparison
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**self.comparison.as_dict(), "intervals": {name: dict(of) for name, of in self.intervals.items()}}


@dataclasses.dataclass(frozen=True)
class EvaluateJob:
    """What to evaluate on what.

    Attributes
    ----------
    models : folders, the baseline first where there are two
    weights : a file to use in place of the last model's own, or None
    output : where the last model's translations go, or None
    """

    models: tuple[str, ...]
    source: str
    refs: tuple[str, ...]
    weights: str | None = None
    output: str | None = None
    threads: int = 1


def evaluate(job: EvaluateJob, metrics: Mapping[str, Metric], settings: Settings, written: Written) -> Evaluation:
    """Translate a text by each model, and compare the results; `written` knows what became of the translations."""
    sentences = read_lines(job.source)
    references = read_parallel(job.refs, sentences, job.source)
    names = _names(job.models)
    systems = []
    for name, folder in zip(names, job.models, strict=True):
        last = name == names[-1]
        model = TranslationModel.open(folder, job.weights if last else None)
        texts = model.translate(sentences, threads=job.threads)
        batch = Batch.from_lines(texts, references)
        systems.append(System(name, {label: metric.stats(batch)[None] for label, metric in metrics.items()}, [texts]))
        if last and job.output is not None:
            with written.answer(job.output):
                write_lines(job.output, texts)
    intervals = {
        system.name: {
            label: score_interval(
                bootstrap_scores([system.stats[label]], metric.score, draws=settings.draws, seed=settings.seed)[0],
                settings.confidence,
            )
            for label, metric in metrics.items()
        }
        for system in systems
    }
    return Evaluation(compare(systems, metrics, settings, engine=Threads(job.threads)), intervals)


def _names(folders: Sequence[str]) -> list[str]:
    """Return a name for each folder: its own, or the whole path where two are alike."""
    names = [Path(folder).resolve().name for folder in folders]
    names = names if len(set(names)) == len(names) else list(folders)
    if len(set(names)) < len(names):
        raise LuthierError("the same model was given twice")
    return names


# Translating a stream: each line is answered before the next is read.


def translate_lines(model: TranslationModel, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the translation of each line as it comes.

    Raises
    ------
    InputError
        At a line that is no UTF-8; those before it are answered.
    """
    for number, raw in enumerate(lines, start=1):
        try:
            line = raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                expected="text in UTF-8", found=f"the byte {raw[error.start]:#04x}", path="standard input", line=number
            ) from None
        if not line.strip():
            yield ""
            continue
        yield model.translate(Texts.from_strings([line]))[0]
