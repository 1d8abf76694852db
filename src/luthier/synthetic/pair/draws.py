"""Random choices one at a time, fast: a stream of unit draws, and bags of things with weights."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

import numpy as np

Item = TypeVar("Item")

BLOCK = 128


class Draws:
    """Numbers in [0, 1), drawn from a generator in blocks because single draws are slow."""

    __slots__ = ("_at", "_rng", "_values")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng, self._at = rng, 0
        self._values: list[float] = rng.random(BLOCK).tolist()

    def unit(self) -> float:
        """Return the next number in [0, 1)."""
        if self._at == BLOCK:
            self._values, self._at = self._rng.random(BLOCK).tolist(), 0
        self._at += 1
        return self._values[self._at - 1]

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.unit() < probability

    def below(self, stop: int) -> int:
        """Return one of 0, …, stop − 1."""
        return int(self.unit() * stop)

    def pick(self, items: Sequence[Item]) -> Item:
        """Return one of the items, all alike."""
        return items[int(self.unit() * len(items))]

    def erlang(self, shape: int) -> float:
        """Return a positive number of mean 1 and variance 1/shape."""
        total = 0.0
        for _ in range(shape):  # not `sum`, whose last bit depends on the version of Python
            total += math.log(1.0 - self.unit())
        return -total / shape


class Bag(Generic[Item]):
    """Things with weights, to be drawn from."""

    __slots__ = ("_cumulative", "_last", "items")

    def __init__(self, items: Sequence[Item], weights: Iterable[float]) -> None:
        self.items = tuple(items)
        self._cumulative = list(accumulate(weights))
        self._last = len(self.items) - 1

    def __len__(self) -> int:
        return len(self.items)

    def draw(self, draws: Draws) -> Item:
        """Return one of the things, each as likely as its weight says; the only one costs no draw."""
        last = self._last
        if not last:
            return self.items[0]
        sums = self._cumulative
        # Rounding may lift the product to the whole sum: never look behind the last thing.
        return self.items[bisect_right(sums, draws.unit() * sums[last], 0, last)]
