"""Which sentences two selections translate differently, and what each of them gains."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from luthier.core.arrays import Float64, Int64, frozen
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
