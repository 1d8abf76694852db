"""Oracles of a pool in parts, of which no more than one is in memory.

The oracles of single sentences are looked for by whoever works on the parts. Those of the corpus are a chain: every
sentence is changed under the total of all others, so one process goes through the parts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int64
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Given, run_units
from luthier.kbest.parts.manifest import Manifest
from luthier.kbest.parts.part_files import check_files, open_part
from luthier.landscape.parted.part_work import PartsRecipe, PartsSource
from luthier.metrics.base import Metric
from luthier.metrics.oracle import MOST_PASSES, Selection, best_rows, greedy_pass


def part_selections(
    manifest: Manifest, metric: Metric, seed: int, *, engine: Engine | None = None
) -> dict[str, Selection]:
    """Return what `luthier.metrics.oracle.all_selections` returns of the pool in one piece."""
    lists = _Lists(manifest, metric, engine)
    drawn = make_rng(seed).integers(lists.lows, lists.highs).astype(np.int64)
    return {
        "first": lists.selection(np.split(lists.lows, lists.cuts)),
        "random": lists.selection(np.split(drawn, lists.cuts)),
        "sentence-worst": lists.selection(lists.best(worst=True)),
        "sentence-best": lists.selection(lists.best(worst=False)),
        "corpus-worst": lists.greedy(worst=True),
        "corpus-best": lists.greedy(worst=False),
    }


@dataclasses.dataclass(frozen=True)
class AskedBest:
    """A part, and whether the worst are asked for."""

    part: int
    worst: bool


def part_best_rows(source: PartsSource, asked: AskedBest) -> Int64:
    """Return the row of each list of a part with the best (or worst) sentence score."""
    pool = open_part(source.manifest, asked.part)
    gains = source.metric.gain(source.metric.sentence_score(pool.stats[source.metric.signature].values))
    return best_rows(-gains if asked.worst else gains, pool.offsets)


class _Lists:
    """The lists of all parts; rows are counted through all of them."""

    def __init__(self, manifest: Manifest, metric: Metric, engine: Engine | None) -> None:
        self.manifest, self.metric, self.engine = manifest, metric, engine
        self.stored = manifest.statistics(metric.signature)
        check_files(manifest)
        self.first_rows = np.cumsum([0, *(part.hypotheses for part in manifest.parts)])
        self.cuts = np.cumsum([part.filled for part in manifest.parts])[:-1]
        offsets = [self._offsets(number) for number in range(len(manifest.parts))]
        filled = [np.diff(part) > 0 for part in offsets]
        starts = list(zip(offsets, filled, self.first_rows, strict=False))
        self.lows = np.concatenate([own[:-1][full] + first for own, full, first in starts])
        self.highs = np.concatenate([own[1:][full] + first for own, full, first in starts])

    def _offsets(self, number: int) -> Int64:
        return open_part(self.manifest, number).offsets

    def _stats(self, number: int) -> npt.NDArray[Any]:
        return open_part(self.manifest, number).stats[self.metric.signature].values

    def chosen(self, rows: Sequence[Int64]) -> npt.NDArray[Any]:
        """Return the statistics of the rows chosen in each part, (n, S)."""
        return np.concatenate([self._stats(p)[own - self.first_rows[p]] for p, own in enumerate(rows)])

    def selection(self, rows: Sequence[Int64]) -> Selection:
        """Return a selection with its score; sums are made in the order of the sentences."""
        score = float(self.metric.score(self.chosen(rows).sum(axis=0)))
        return Selection(np.concatenate(list(rows)), score, (score,))

    def best(self, *, worst: bool) -> list[Int64]:
        """Return the row of each list with the best (or worst) sentence score."""
        source = PartsSource(self.manifest, self.metric)
        units = {number: AskedBest(number, worst) for number in range(len(self.manifest.parts))}
        found = run_units(part_best_rows, Given(source, PartsRecipe.of(source)), units, engine=self.engine)
        return [rows + first for rows, first in zip(found.values(), self.first_rows, strict=False)]

    def greedy(self, *, worst: bool) -> Selection:
        """Return the corpus oracle: a pass goes through the parts in order, with the total of all of them."""
        rows = self.best(worst=worst)
        scores = [self.selection(rows).score]
        with progress("passes of the corpus oracle") as advance:
            for _ in range(MOST_PASSES):
                total, changed = self.chosen(rows).sum(axis=0), False
                for number, own in enumerate(rows):
                    local = own - self.first_rows[number]
                    lists = (self._stats(number), self._offsets(number))
                    total, moved = greedy_pass(self.metric, *lists, local, total, worst=worst)
                    rows[number], changed = local + self.first_rows[number], changed or moved
                advance(1)
                if not changed:
                    break
                scores.append(self.selection(rows).score)
        return Selection(np.concatenate(rows), scores[-1], tuple(scores))
