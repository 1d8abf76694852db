"""Lists over a space of weights: heights, statistics, and how wrong a difference of heights may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64, Int64, flat, gamma
from luthier.core.errors import LuthierError
from luthier.landscape.certified import _box_kernels as kernels
from luthier.landscape.certified._box_kernels import Bundle, Open, Sums, Table
from luthier.landscape.certified.space import Space
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import height_noise

# Open rows of boxes that are looked at together, and of one of them.


def bundled(opens: Sequence[Open]) -> tuple[Bundle, Int64]:
    """Return open rows one after another, each set once, and which of the sets each of those given is."""
    places: dict[int, int] = {}
    parents = np.array([places.setdefault(id(each), len(places)) for each in opens], np.int64)
    sets = [opens[int(np.argmax(parents == place))] for place in range(len(places))]
    row_ends = np.cumsum([0, *(len(each.rows) for each in sets)])
    list_ends = np.cumsum([0, *(len(each.lists) for each in sets)])
    starts = [each.starts[:-1] + first for each, first in zip(sets, row_ends[:-1], strict=True)]
    bundle = Bundle(
        np.concatenate([each.rows for each in sets]),
        np.concatenate([*starts, row_ends[-1:]]),
        np.concatenate([each.lists for each in sets]),
        list_ends.astype(np.int64),
        np.stack([each.fixed for each in sets]),
    )
    return bundle, parents


def open_of(bundle: Bundle, box: int) -> Open:
    """Return the open rows of one box, not copied."""
    first, last = int(bundle.ends[box]), int(bundle.ends[box + 1])
    row, end = int(bundle.starts[first]), int(bundle.starts[last])
    starts = bundle.starts[first : last + 1] - row
    return Open(bundle.rows[row:end], starts, bundle.lists[first:last], bundle.fixed[box])


MOST_COMPARED = 60  # rows of a list that are compared pair by pair; of more, only with the winner at the centre

CLEAR = 2.0**16  # a lead of so many times the slack is certain, also with weights rounded to ten digits


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Rows that can win somewhere in a space; of those with equal features the lowest, which a re-rank selects.

    Attributes
    ----------
    heights : (R, P)
        The score of each row by each vector of the space's matrix.
    stats : (R, S) float64
    offsets : (N+1,)
    slack : (N,)
        A row that is lower than another by more than this is never selected instead of it, by exact scores or by
        computed ones.
    spread : (P,)
        How much heights differ within lists, by coordinate.
    kept : (R,) int64
        Which rows of the problem they are.
    """

    heights: Float64
    stats: Float64
    offsets: Int64
    slack: Float64
    spread: Float64
    kept: Int64

    @classmethod
    def of(cls, problem: ListProblem, space: Space) -> Rows:
        """Return the rows of a problem that some root box leaves."""
        features = problem.pool.features
        heights = np.ascontiguousarray(features.scores(space.matrix).T)
        slack = _slack(problem, space)
        if not (np.all(np.isfinite(heights)) and np.all(np.isfinite(slack))):
            raise LuthierError("expected finite scores in the window, found others. hint: scale the features")
        stats = np.ascontiguousarray(problem.stats, dtype=np.float64)
        spread = flat(np.ones(len(space.matrix)))
        everything = cls(flat(heights), flat(stats), problem.offsets, flat(slack), spread, np.arange(len(heights)))
        can_win = np.zeros(len(heights), np.bool_)
        given, first = bundled([everything.all_open()])
        for low, high in zip(space.lows, space.highs, strict=True):
            found, _ = everything.survivors(given, first, *middle_of(low[None], high[None]), decide=False)
            can_win[found.rows] = True
        kept = np.flatnonzero(can_win)
        lists = np.searchsorted(problem.offsets, kept, side="right") - 1
        offsets = np.searchsorted(lists, np.arange(problem.pool.n_sentences + 1))
        few = features.take(kept)
        first = np.empty(len(kept), np.int64)
        kernels.first_of_equals(few.dense, few.indptr, few.indices, few.values, offsets, first)
        alone = first == np.arange(len(kept))
        kept, lists = kept[alone], lists[alone]
        offsets = np.searchsorted(lists, np.arange(problem.pool.n_sentences + 1))
        means = np.add.reduceat(heights[kept], offsets[:-1], axis=0) / np.diff(offsets)[:, None]
        spread = np.abs(heights[kept] - means[lists]).mean(axis=0)
        return cls(flat(heights[kept]), flat(stats[kept]), offsets, flat(slack), flat(spread), kept)

    @property
    def n_lists(self) -> int:
        """How many lists there are, N."""
        return len(self.offsets) - 1

    @property
    def table(self) -> Table:
        """All of it that kernels ask for."""
        return Table(self.heights, self.stats, self.slack)

    def all_open(self) -> Open:
        """Return all rows as candidates."""
        return Open(
            np.arange(len(self.heights), dtype=np.int32),
            self.offsets.copy(),
            np.arange(self.n_lists, dtype=np.int32),
            np.zeros(self.stats.shape[1]),
        )

    def survivors(
        self, given: Bundle, parents: Int64, centres: Float64, radii: Float64, *, decide: bool = True
    ) -> tuple[Bundle, Sums]:
        """Return the rows that can win in boxes, and sums of statistics: at the centre, lowest and highest.

        Box b, one of B, is cut from box parents[b] of those given; centres and radii are (B, P).
        """
        n_boxes, n_stats = len(parents), self.stats.shape[1]
        rows, lists = np.diff(given.starts[given.ends])[parents].sum(), np.diff(given.ends)[parents].sum()
        out = Bundle(
            np.empty(rows, np.int32),
            np.empty(lists + 1, np.int64),
            np.empty(lists, np.int32),
            np.empty(n_boxes + 1, np.int64),
            np.empty((n_boxes, n_stats)),
        )
        sums = Sums(*(np.empty((n_boxes, n_stats)) for _ in range(3)))
        n, n_lists = kernels.find_survivors(
            self.table, given, parents, centres, radii, MOST_COMPARED, decide, out, sums
        )
        found = Bundle(out.rows[:n], out.starts[: n_lists + 1], out.lists[:n_lists], out.ends, out.fixed)
        kernels.find_ranges(self.stats, found, sums)
        return found, sums

    def is_clear(self, point: Float64) -> bool:
        """Return whether the winners at a point, (P,), lead by enough to win also with weights of ten digits."""
        return self.margin(point) > CLEAR

    def margin(self, point: Float64) -> float:
        """Return the least lead of any list's winner at a point, (P,), in multiples of the list's slack."""
        return float(kernels.clear_margin(self.heights, self.offsets, self.slack, point))


def middle_of(low: Float64, high: Float64) -> tuple[Float64, Float64]:
    """Return centres and radii of boxes, rounded so that these lie within them; (…, P) each."""
    centre = low + (high - low) / 2
    radius = np.maximum(high - centre, centre - low)
    return centre, np.where(high > low, np.nextafter(radius, np.inf), 0.0)


def _slack(problem: ListProblem, space: Space) -> Float64:
    """Return what two computed heights may be wrong by, and two scores of a re-rank, all together, (N,).

    With D features and P coordinates, each of two heights is a sum of D products, wrong by γ(D) of their sizes; a
    re-rank has weights that are sums of P products, and its scores are wrong by γ(D + P + 1) each; comparing two rows
    over a box takes three sums of differences, each of at most 2P + 3 operations. All this is less than
    8·γ(D + 2P + 8) of the largest sizes in the space [higham2002].
    """
    features = problem.pool.features
    n, p = features.n_features, len(space.matrix)
    sizes = height_noise(features, problem.offsets, space.matrix) / (2 * gamma(n + 2))
    return np.asarray(8 * gamma(n + 2 * p + 8) * (sizes @ space.reach))
