"""How good trained systems are: ``luthier.evaluate``, with intervals, and p-values where there are two."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.files.io import check_apart, check_writable, write_lines
from luthier.core.files.written import Written
from luthier.core.html import Shown
from luthier.core.params import DEFAULT_SEED, checked, path_of, paths_of
from luthier.core.tasks import Threads
from luthier.corpus.lines import read_lines
from luthier.evaluation.bootstrap import bootstrap_scores, score_interval
from luthier.evaluation.comparison import Comparison, Settings, compare
from luthier.evaluation.systems import System
from luthier.jobs.opening import AnyMetrics, AnyPath, cores, metrics_at
from luthier.jobs.score import read_parallel
from luthier.jobs.train_text import for_text, published_signature
from luthier.jobs.trained_model import TranslationModel
from luthier.jobs.translate import Wanted, translated
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation(Shown):
    """Systems on a text: the comparison, the interval of each score by system and metric, sacrebleu's signatures."""

    comparison: Comparison
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    published: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        told = {**self.comparison.as_dict(), "intervals": {name: dict(of) for name, of in self.intervals.items()}}
        return told | ({"published": list(self.published)} if self.published else {})


@checked
def evaluate(
    model: AnyPath,
    source: AnyPath,
    refs: AnyPath | Sequence[AnyPath],
    metric: AnyMetrics = "bleu",
    *,
    against: AnyPath | None = None,
    weights: AnyPath | None = None,
    mbr: str | None = None,
    k: int = 100,
    output: AnyPath | None = None,
    draws: int = 1000,
    shuffles: int = 10_000,
    exchange: str = "systems",
    confidence: float = 0.95,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    written: Written | None = None,
) -> Evaluation:
    """Score a trained model on a text, with intervals; against another model, with p-values.

    Parameters
    ----------
    model, against
        Folders that `train` made; `against` is the baseline.
    source, refs
        Files: the text to translate, and its references.
    metric
        Names that commas separate, a metric, or metrics by label.
    weights
        A file in place of the model's own weights.
    mbr, k
        A metric by which, of the `k` best, the one that agrees most with the others is chosen.
    output
        Where the translations go; that they cannot be written is an error, or known to `written` where it is given.
    draws, shuffles, exchange, confidence
        As of `compare`.
    """
    settings = Settings(draws=draws, shuffles=shuffles, exchange=exchange, confidence=confidence, seed=seed)
    asked, n_threads, wanted = metrics_at(metric), cores(threads), Wanted.of(mbr=mbr, k=k)
    place, files = path_of(source, "a text"), paths_of(refs, "a file of references")
    if output is not None:
        check_writable(output)
        check_apart(output, place, *files)
    folders = [path_of(folder, "the folder of a model") for folder in (against, model) if folder is not None]
    sentences = read_lines(place)
    references = read_parallel(files, sentences, place)
    answers = Written() if written is None else written
    systems, names = [], _names(folders)
    given = [None] * (len(folders) - 1) + [None if weights is None else path_of(weights)]
    models = [TranslationModel.open(folder, own) for folder, own in zip(folders, given, strict=True)]
    raw = any(opened.text is not None for opened in models)
    alike = raw and all(opened.text == models[0].text for opened in models)
    metrics = {label: for_text(one) if raw else one for label, one in asked.items()}
    in_words = {f"{label}, tokenised": one for label, one in asked.items() if alike}
    for name, opened in zip(names, models, strict=True):
        found = translated(opened, sentences, wanted, threads=n_threads)
        texts = opened.restored(found, sentences)
        batch = Batch.from_lines(texts, references)
        stats = {label: one.stats(batch)[None] for label, one in metrics.items()}
        if in_words:
            batch = Batch.from_lines(found, [opened.target_lines(column) for column in references])
            stats |= {label: one.stats(batch)[None] for label, one in in_words.items()}
        systems.append(System(name, stats, [texts]))
        if name == names[-1] and output is not None:
            with answers.answer(output):
                write_lines(output, texts)
    if written is None:
        answers.check()
    published = tuple(filter(None, (published_signature(one, len(files)) for one in metrics.values() if raw)))
    metrics |= in_words
    intervals = {
        system.name: {label: _interval(system, label, one, settings) for label, one in metrics.items()}
        for system in systems
    }
    return Evaluation(compare(systems, metrics, settings, engine=Threads(n_threads)), intervals, published)


def _interval(system: System, label: str, metric: Metric, settings: Settings) -> tuple[float, float]:
    drawn = bootstrap_scores([system.stats[label]], metric.score, draws=settings.draws, seed=settings.seed)
    return score_interval(drawn[0], settings.confidence)


def _names(folders: Sequence[str]) -> list[str]:
    """Return a name for each folder: its own, or the whole path where two are alike."""
    names = [Path(folder).resolve().name for folder in folders]
    names = names if len(set(names)) == len(names) else list(folders)
    if len(set(names)) < len(names):
        raise LuthierError("the same model was given twice")
    return names
