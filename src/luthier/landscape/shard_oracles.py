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
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Given, run_units
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.shards.manifest import Manifest
from luthier.kbest.shards.shard import check_files, open_part
from luthier.landscape.planes.pixels import Pixels, add_changes, centres, pixels_from
from luthier.landscape.shard_work import PartsRecipe, PartsSource, Vectors, packed, vectors
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


# The raster of a pool in parts, by whoever works on the parts.
#
# Whole numbers are added part by part. Other numbers must be added in the order of the sentences, so that there a unit
# is some rows of pixels, for which it goes through all parts.

ROWS = 64  # of pixels, a unit
MOST_BYTES = 1 << 30  # of answers that wait to be added


@dataclasses.dataclass(frozen=True)
class AskedRaster:
    """Parts, a plane as the rows of its matrix, the limits of a window, its pixels a side, and which rows of them."""

    parts: tuple[int, ...]
    plane: Vectors
    limits: tuple[float, ...]
    side: int
    first: int
    end: int


def part_raster(source: PartsSource, asked: AskedRaster) -> npt.NDArray[Any]:
    """Return what is to be summed along x for some rows of a raster, (rows, side, S), packed."""
    subspace = Subspace(np.array(asked.plane[0]), np.array(asked.plane[1:]))
    xs, ys = centres(Window(*asked.limits), asked.side)
    changes = None
    for part in asked.parts:
        changes = add_changes(source.problem(part), subspace, (xs, ys[asked.first : asked.end]), onto=changes)
    assert changes is not None  # no unit is without parts
    return packed(changes)


def parted_pixels(
    source: PartsSource, subspace: Subspace, window: Window, side: int, *, engine: Engine | None = None
) -> Pixels:
    """Return the raster of all parts, in the bytes of the pool in one piece."""
    centres(window, side)  # checked before anybody is asked
    check_files(source.manifest)
    if not source.filled:
        raise LuthierError("expected lists with hypotheses, found none")
    plane, limits = vectors(subspace.matrix), tuple(map(float, window.limits))
    if source.whole_numbers:
        asked = [AskedRaster((part,), plane, limits, side, 0, side) for part in source.filled]
    else:
        all_parts, firsts = tuple(source.filled), range(0, side, ROWS)
        asked = [AskedRaster(all_parts, plane, limits, side, first, min(first + ROWS, side)) for first in firsts]
    total = np.zeros((side, side, len(source.metric.stat_names)), np.int64 if source.whole_numbers else np.float64)
    at_once = max(1, MOST_BYTES // total.nbytes)
    given = Given(source, PartsRecipe.of(source))
    for begin in range(0, len(asked), at_once):
        some = asked[begin : begin + at_once]
        found = run_units(part_raster, given, dict(enumerate(some)), engine=engine)
        for number, changes in found.items():
            total[some[number].first : some[number].end] += changes
    return pixels_from(total, subspace, window, source.metric)
