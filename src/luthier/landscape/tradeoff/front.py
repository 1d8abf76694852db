"""Pareto fronts: of many places, those that no other beats in every metric."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64

# Gains are compared up to so many digits of the largest of each metric: sums of statistics are rounded.
DIGITS = 10


def pareto(gains: Float64, prefer: Float64 | None = None) -> Int64:
    """Return the rows that no other row equals or exceeds in every column, by falling first column; (n, K) → (f,).

    Of equal rows one stays, the one with the highest `prefer`, (n,), or else the first.

    >>> pareto(np.array([[1.0, 5.0], [2.0, 4.0], [2.0, 3.0], [0.0, 6.0], [2.0, 4.0]])).tolist()
    [1, 0, 3]
    """
    largest = np.abs(gains).max(axis=0, initial=0.0)
    rounded = np.round(gains / np.where(largest > 0.0, largest, 1.0), DIGITS) + 0.0
    keys = [-rounded[:, k] for k in reversed(range(rounded.shape[1]))]
    order = np.lexsort(keys if prefer is None else [-prefer, *keys])
    found: list[int] = []
    while len(order):
        first = order[0]
        found.append(int(first))
        order = order[(rounded[order] > rounded[first]).any(axis=1)]
    return np.array(found, dtype=np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Archive:
    """The front so far: gains (n, K), and for each place numbers that say where it is, (n, …), any."""

    gains: Float64
    places: Any
    prefer: Float64

    @classmethod
    def none(cls, n_metrics: int, width: int, dtype: Any = np.float64) -> Archive:
        """Return no places; each has `width` numbers."""
        return cls(np.zeros((0, n_metrics)), np.zeros((0, width), dtype), np.zeros(0))

    def plus(self, gains: Float64, places: Any, prefer: Float64 | None = None) -> Archive:
        """Return the front of these and more places."""
        if not len(gains):
            return self
        both = np.concatenate([self.gains, gains])
        wanted = np.concatenate([self.prefer, np.zeros(len(gains)) if prefer is None else prefer])
        kept = pareto(both, wanted)
        return Archive(both[kept], np.concatenate([self.places, places])[kept], wanted[kept])
