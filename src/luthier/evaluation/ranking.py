"""The sentences on which two systems differ most, each shown by its median replica."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int64
from luthier.core.errors import LuthierError
from luthier.evaluation.systems import Lines, System
from luthier.metrics.base import Metric


@dataclasses.dataclass(frozen=True)
class SentenceDifference:
    """One sentence as the median replicas of two systems translate it.

    Attributes
    ----------
    sentence
        Its number, from 0.
    baseline_score, system_score
        Of the sentence alone, smoothed as the metric does it.
    effect
        What the baseline's corpus score gains or loses if this sentence is taken from the system.
    baseline_text, system_text
        The translations; empty where a system has no texts.
    references
        As many as were given.
    """

    sentence: int
    baseline_score: float
    system_score: float
    effect: float
    baseline_text: str
    system_text: str
    references: tuple[str, ...]

    @property
    def difference(self) -> float:
        """Sentence score of the system minus that of the baseline."""
        return self.system_score - self.baseline_score


def median_replica(scores: npt.ArrayLike) -> int:
    """Return which replica has the median score; of an even number, the upper of the middle two.

    >>> median_replica([3.0, 1.0, 2.0]), median_replica([2.0, 1.0])
    (2, 0)
    """
    order = np.argsort(np.asarray(scores, dtype=np.float64), kind="stable")
    return int(order[len(order) // 2])


def most_different_sentences(
    baseline: System,
    system: System,
    metric: tuple[str, Metric],
    *,
    count: int = 10,
    references: Sequence[Lines] = (),
) -> list[SentenceDifference]:
    """Return the sentences whose scores differ most between the median replicas, largest first.

    Equal differences are ordered by their effect on the corpus score, then by sentence.

    Parameters
    ----------
    metric
        Its name among the systems' statistics, and the metric.
    count
        How many sentences at most; sentences with no difference at all are left out.
    references
        Columns of N texts, to be shown.
    """
    name, method = metric
    if baseline.n_sentences != system.n_sentences:
        raise LuthierError(f"expected {baseline.n_sentences} sentences, found {system.n_sentences}")
    before, after = baseline.stats[name], system.stats[name]
    chosen = [median_replica(method.score(stats.sum(axis=1))) for stats in (before, after)]
    before, after = before[chosen[0]], after[chosen[1]]  # (N, S)
    sentence_scores = method.sentence_score(before), method.sentence_score(after)  # (N,)
    total = before.sum(axis=0)
    effects = method.score(total + (after - before)) - method.score(total)  # (N,)
    sizes = np.abs(sentence_scores[1] - sentence_scores[0])
    order: Int64 = np.lexsort((-np.abs(effects), -sizes))  # stable: then by sentence
    shown = [part.texts[r] if part.texts else None for part, r in zip((baseline, system), chosen, strict=True)]
    return [
        SentenceDifference(
            sentence=i,
            baseline_score=float(sentence_scores[0][i]),
            system_score=float(sentence_scores[1][i]),
            effect=float(effects[i]),
            baseline_text="" if shown[0] is None else shown[0][i],
            system_text="" if shown[1] is None else shown[1][i],
            references=tuple(column[i] for column in references),
        )
        for i in order[:count].tolist()
        if sizes[i] > 0 or effects[i] != 0
    ]


@dataclasses.dataclass(frozen=True)
class DifferentSentences:
    """The sentences on which a system differs most from the baseline under a metric."""

    metric: str
    baseline: str
    system: str
    sentences: tuple[SentenceDifference, ...]


def most_different(
    systems: Sequence[System], references: Sequence[Lines], metrics: Mapping[str, Metric], *, count: int
) -> list[DifferentSentences]:
    """Return, for each system, the `count` sentences that differ most from the baseline by the first metric."""
    if not count:
        return []
    label, metric = next(iter(metrics.items()))
    baseline = systems[0]
    return [
        DifferentSentences(
            label,
            baseline.name,
            system.name,
            tuple(most_different_sentences(baseline, system, (label, metric), count=count, references=references)),
        )
        for system in systems[1:]
    ]
