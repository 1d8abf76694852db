"""How good trained systems are: scores with intervals, and p-values where there are two."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.files.io import write_lines
from luthier.core.files.written import Written
from luthier.core.tasks import Threads
from luthier.corpus.lines import read_lines
from luthier.evaluation.bootstrap import bootstrap_scores, score_interval
from luthier.evaluation.comparison import Comparison, Settings, compare
from luthier.evaluation.systems import System
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch
from luthier.pipelines.scoring import read_parallel
from luthier.pipelines.train.model import TranslationModel


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
