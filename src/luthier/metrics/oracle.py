"""Oracles: which hypotheses of each list one would choose, knowing the references.

They bound what tuning can reach. A selection is one row for every sentence that has hypotheses.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.metrics.base import Metric, Stats

MOST_PASSES = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Selection:
    """The chosen row of each sentence that has any, (n,), the corpus score, and how it was reached.

    Attributes
    ----------
    passes : tuple of float
        For a corpus oracle, the score at the start and after each pass; otherwise only the score.
    """

    rows: Int64
    score: float
    passes: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Oracle:
    """One of the scores that bound a pool: how it is reached, the score, and that after each pass."""

    selection: str
    score: float
    passes: tuple[float, ...]


def first_best(metric: Metric, stats: Stats, offsets: Int64) -> Selection:
    """Select the first row of every list: what the decoder thought best."""
    return _selected(metric, stats, offsets[:-1][np.diff(offsets) > 0])


def random_choice(metric: Metric, stats: Stats, offsets: Int64, seed: int | np.random.Generator = 0) -> Selection:
    """Select a row of every list at random, each with the same probability."""
    filled = np.diff(offsets) > 0
    rows = make_rng(seed).integers(offsets[:-1][filled], offsets[1:][filled])
    return _selected(metric, stats, rows.astype(np.int64))


def sentence_oracle(metric: Metric, stats: Stats, offsets: Int64, *, worst: bool = False) -> Selection:
    """Select the row of every list with the best (or worst) sentence score; ties go to the first."""
    gains = metric.sentence_gains(stats)
    return _selected(metric, stats, best_rows(-gains if worst else gains, offsets))


def corpus_oracle(
    metric: Metric, stats: Stats, offsets: Int64, *, worst: bool = False, start: Int64 | None = None
) -> Selection:
    """Select rows for the best (or worst) corpus score, greedily.

    A pass goes through the sentences and changes the choice of each to the one that, all others kept,
    improves the corpus score most; passes go on until one changes nothing. The result is a local
    optimum: no single change improves it. A pass scores each of the M rows once.

    Parameters
    ----------
    stats : (M, S)
    offsets : (N+1,)
    start : (n,), optional
        The selection to begin with; otherwise that of `sentence_oracle`.
    """
    rows = (sentence_oracle(metric, stats, offsets, worst=worst).rows if start is None else start).copy()
    scores = [corpus_score(metric, stats, rows)]
    with progress("passes of the corpus oracle") as advance:
        for _ in range(MOST_PASSES):
            total = stats[rows].sum(axis=0)  # anew in each pass, so that rounding does not add up
            _, changed = greedy_pass(metric, stats, offsets, rows, total, worst=worst)
            advance(1)
            if not changed:
                break
            scores.append(corpus_score(metric, stats, rows))
    return Selection(rows, scores[-1], tuple(scores))


def greedy_pass(
    metric: Metric, stats: Stats, offsets: Int64, rows: Int64, total: npt.NDArray[Any], *, worst: bool
) -> tuple[npt.NDArray[Any], bool]:
    """Change the choices of lists in turn, in `rows`; return the new total of statistics, and whether any changed.

    `total` (S,) may count the choices of other lists too, which are kept.
    """
    sign, changed = -1.0 if worst else 1.0, False
    for i, s in enumerate(np.flatnonzero(np.diff(offsets) > 0)):
        low, high = offsets[s], offsets[s + 1]
        others = total - stats[rows[i]]  # (S,)
        gains = sign * metric.gain(metric.score(others + stats[low:high]))  # (K,)
        best = int(np.argmax(gains))
        if gains[best] > gains[rows[i] - low]:
            rows[i] = low + best
            total = others + stats[rows[i]]
            changed = True
    return total, changed


def all_selections(
    metric: Metric, stats: Stats, offsets: Int64, seed: int | np.random.Generator = 0
) -> dict[str, Selection]:
    """Return the selections of this file by name, from what the decoder chose to the bounds."""
    return {
        "first": first_best(metric, stats, offsets),
        "random": random_choice(metric, stats, offsets, seed),
        "sentence-worst": sentence_oracle(metric, stats, offsets, worst=True),
        "sentence-best": sentence_oracle(metric, stats, offsets),
        "corpus-worst": corpus_oracle(metric, stats, offsets, worst=True),
        "corpus-best": corpus_oracle(metric, stats, offsets),
    }


def corpus_score(metric: Metric, stats: Stats, rows: Int64) -> float:
    """Return the corpus score of the selected rows."""
    return float(metric.score(stats[rows].sum(axis=0)))


def best_rows(gains: Float64, offsets: Int64) -> Int64:
    """Return the first row with the largest gain of each segment that has rows.

    >>> best_rows(np.array([1.0, 3.0, 3.0, 0.0]), np.array([0, 3, 3, 4])).tolist()
    [1, 3]
    """
    starts = offsets[:-1][np.diff(offsets) > 0]
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    largest = np.repeat(np.maximum.reduceat(gains, starts), np.diff(offsets)[np.diff(offsets) > 0])
    candidates = np.flatnonzero(gains == largest)
    return candidates[np.searchsorted(candidates, starts)].astype(np.int64)


def _selected(metric: Metric, stats: Stats, rows: Int64) -> Selection:
    score = corpus_score(metric, stats, rows)
    return Selection(rows, score, (score,))
