"""Lists of two weight vectors in a turn: one remedy for turns that go astray. Studies alone run loops with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from luthier.kbest.merge import drop_duplicates, merge
from luthier.kbest.pool import Pool
from luthier.kbest.weights import Weights
from luthier.metrics.base import Metric
from luthier.tuning.loops.folder import TURNS, read_turns
from luthier.tuning.loops.loop import NumberedDecoder
from luthier.tuning.loops.report import Iteration, towards


class TwoVectors(NumberedDecoder):
    """A decoder that searches twice from the second turn on: with the weights, and half way to those that decoded best.

    Parameters
    ----------
    start : weights of the first turn
    folder : of the loop, which has the turns so far
    """

    def __init__(self, decode: Callable[[Weights], Pool], metric: Metric, start: Weights, folder: Path) -> None:
        self._decode, self._metric, self._start, self._folder = decode, metric, start, folder

    def decode(self, weights: Weights, number: int) -> Pool:
        """Return the lists of both; hypotheses that both find stand once."""
        own = self._decode(weights)
        if number:
            own = merge([own, self._decode(Weights(towards(self._best(number), weights, 0.5)))])
        # a decoder's total is of its weights
        return drop_duplicates(dataclasses.replace(own, columns={}))

    def _best(self, number: int) -> Weights:
        """Return the weights that decoded best in the first turns."""
        records, _ = read_turns(self._folder / TURNS)
        turns = [Iteration.from_record(record) for record in records[2:]][:number]
        sign = 1.0 if self._metric.higher_is_better is True else -1.0
        best = max(range(number), key=lambda turn: sign * turns[turn].decoded)
        return turns[best - 1].weights if best else self._start
