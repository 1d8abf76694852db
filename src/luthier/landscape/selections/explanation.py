"""Which sentences two selections translate differently, and what each of them gains."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.errors import LuthierError
from luthier.geometry.lines.envelope import Envelope, envelopes_of_lines
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.landscape.list_problem import ListProblem

Order = Literal["worst", "best", "sentence"]


@dataclasses.dataclass(frozen=True, eq=False)
class Changes:
    """C sentences of which two selections have different words.

    Attributes
    ----------
    sentences : (C,) int64
        Ascending.
    before, after : (C,) int64
        The selected rows.
    gains : (C,) float64
        The sentence's own (smoothed) gain after, less that before.
    """

    sentences: Int64
    before: Int64
    after: Int64
    gains: Float64

    def __len__(self) -> int:
        return len(self.sentences)

    def ordered(self, order: Order) -> Int64:
        """Return places in an order: the largest losses first, the largest gains first, or as the sentences come."""
        if order == "sentence":
            return np.arange(len(self))
        return np.argsort(self.gains if order == "worst" else -self.gains, kind="stable")


def changes_between(problem: ListProblem, before: Int64, after: Int64) -> Changes:
    """Return the sentences that two selections, (N,) rows each, translate by different words."""
    moved = np.flatnonzero(before != after)
    sentences = moved[problem.pool.texts.differ(before[moved], after[moved])]
    rows = before[sentences], after[sentences]
    gains = [problem.metric.gain(problem.metric.sentence_score(problem.stats[part])) for part in rows]
    return Changes(frozen(sentences), frozen(rows[0]), frozen(rows[1]), frozen(gains[1] - gains[0]))


# Why a hypothesis won: the list of one sentence by its scores, what they are made of, and what would flip it.

MOST_TRIED = 512  # features, those that differ most within the list


@dataclasses.dataclass(frozen=True)
class Flip:
    """By how much one weight must change, all others as they are, for other words to win, and which row then does.

    Attributes
    ----------
    feature : int
    change : float
        Words change just beyond it.
    row : int
        Of the pool.
    effect : float
        |change| times the feature's spread within all lists: changes of different weights compared.
    """

    feature: int
    change: float
    row: int
    effect: float


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceExplanation:
    """The K hypotheses of one sentence at given weights.

    Attributes
    ----------
    sentence : int
    rows : (K,) int64
        The highest first; ties go to the lower row.
    scores : (K,) float64
        w·h.
    metric_scores : (K,) float64
        The metric of the sentence alone, smoothed where the metric does that.
    oracle : int
        The place, from 0, of the best hypothesis by the metric; ties go to the first.
    second : int or None
        The place of the first hypothesis with other words than the winner's.
    contributions : (R, D) float64
        w·h of each feature, of the winner and, where there is one, the second.
    overturns : the least change of each weight that overturns the winner, up and down; the least effect first
    """

    sentence: int
    rows: Int64
    scores: Float64
    metric_scores: Float64
    oracle: int
    second: int | None
    contributions: Float64
    overturns: tuple[Flip, ...]

    @property
    def gap(self) -> float | None:
        """By how much the winner leads the first hypothesis with other words."""
        return None if self.second is None else float(self.scores[0] - self.scores[self.second])


def explanation_of(problem: ListProblem, weights: Float64, sentence: int) -> SentenceExplanation:
    """Return how the hypotheses of a sentence stand."""
    n = len(problem.offsets) - 1
    if not 0 <= sentence < n:
        raise LuthierError(f"expected a sentence from 0 to {n - 1}, found {sentence}")
    start, stop = int(problem.offsets[sentence]), int(problem.offsets[sentence + 1])
    part = problem.pool.features.take(np.arange(start, stop))
    scores = part.scores(weights)
    order = np.argsort(-scores, kind="stable")
    metric_scores = problem.metric.sentence_score(problem.stats[start:stop])
    texts = _numbered(problem.pool, start, stop)
    others = np.flatnonzero(texts[order] != texts[order[0]])
    second = int(others[0]) if len(others) else None
    shown = order[[0] if second is None else [0, second]]
    return SentenceExplanation(
        sentence=sentence,
        rows=frozen(start + order),
        scores=frozen(scores[order]),
        metric_scores=frozen(metric_scores[order]),
        oracle=int(np.argmax(problem.metric.gain(metric_scores)[order])),
        second=second,
        contributions=frozen(_contributions(part, weights, shown)),
        overturns=() if second is None else _overturns(problem, part, weights, texts, start),
    )


def _numbered(pool: Pool, start: int, stop: int) -> Int64:
    """Return a number for each text of some rows: equal texts, equal numbers."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(pool.texts[row], len(numbers)) for row in range(start, stop)])


def _contributions(part: Features, weights: Float64, rows: Int64) -> Float64:
    """Return w·h of each feature, (R, D)."""
    out = np.zeros((len(rows), part.n_features))
    out[:, : part.n_dense] = weights[: part.n_dense] * part.dense[rows]
    for i, row in enumerate(rows.tolist()):
        entries = slice(part.indptr[row], part.indptr[row + 1])
        columns = part.n_dense + part.indices[entries]
        out[i, columns] = weights[columns] * part.values[entries]
    return out


def _overturns(problem: ListProblem, part: Features, weights: Float64, texts: Int64, start: int) -> tuple[Flip, ...]:
    """Follow the upper envelope of the list along each weight, both ways, to the first other words."""
    spread = _ranges(part) * (problem.spread > 0)
    tried = np.argsort(-spread, kind="stable")[:MOST_TRIED]
    tried = np.sort(tried[spread[tried] > 0])
    if not len(tried):
        return ()
    directions = np.zeros((len(tried), part.n_features))
    directions[np.arange(len(tried)), tried] = 1.0
    envelopes = envelopes_of_lines(np.array([0, len(part)]), part.scores(weights), part.scores(directions))
    found = []
    for feature, envelope in zip(tried.tolist(), envelopes, strict=True):
        for change, row in _first_changes(envelope, texts):
            effect = abs(change) * float(problem.spread[feature])
            found.append(Flip(feature, change, start + row, effect))
    return tuple(sorted(found, key=lambda item: (item.effect, item.feature, item.change)))


def _first_changes(envelope: Envelope, texts: Int64) -> list[tuple[float, int]]:
    """Return the nearest breakpoints above and below 0 beyond which other words are selected than at 0."""
    times = envelope.breakpoints
    here = int(np.searchsorted(times, 0.0, side="right"))
    selected = [int(envelope.first[0]), *envelope.after.tolist()]
    found = []
    own = texts[selected[here]]
    for i in range(here, len(times)):
        if texts[selected[i + 1]] != own:
            found.append((float(times[i]), selected[i + 1]))
            break
    for i in range(here - 1, -1, -1):
        if texts[selected[i]] != own:
            found.append((float(times[i]), selected[i]))
            break
    return found


def _ranges(part: Features) -> Float64:
    """Return how far each feature reaches within the list, (D,)."""
    out = np.zeros(part.n_features)
    out[: part.n_dense] = np.ptp(part.dense, axis=0)
    low, high = np.zeros(part.n_features - part.n_dense), np.zeros(part.n_features - part.n_dense)
    np.minimum.at(low, part.indices, part.values)
    np.maximum.at(high, part.indices, part.values)
    out[part.n_dense :] = high - low
    return out
