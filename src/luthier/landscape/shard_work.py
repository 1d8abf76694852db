"""What a part sends back: numbers of the sentences it has, packed, and how those of all parts become one."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.errors import InputError
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.segments import segment_of_rows
from luthier.core.tasks import Engine, Shared, run_units
from luthier.geometry.lines.envelope import Envelope
from luthier.kbest.shards.manifest import Manifest, read_manifest
from luthier.kbest.shards.shard import check_files, open_shard
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.oracle import MOST_PASSES, Selection, best_rows, greedy_pass

NARROW = (np.int8, np.int16, np.int32)


def packed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return whole numbers in the fewest bytes that hold all of them; other numbers as they are.

    >>> packed(np.array([-3, 200])).dtype.name, packed(np.array([0.5])).dtype.name
    ('int16', 'float64')
    """
    if not np.issubdtype(values.dtype, np.integer):
        return values
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    fitting = [kind for kind in NARROW if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max]
    return values.astype(fitting[0] if fitting else np.int64)


def joined(parts: Sequence[npt.NDArray[Any]], axis: int = 0) -> npt.NDArray[Any]:
    """Return what parts sent, one after another, as wide as it was before it was packed."""
    whole = np.concatenate(list(parts), axis=axis)
    return whole.astype(np.int64) if np.issubdtype(whole.dtype, np.integer) else whole


@dataclasses.dataclass(frozen=True, eq=False)
class ShardLine:
    """Which selections a part makes along a line, and what they count.

    Attributes
    ----------
    counts : (n,)
        How many breakpoints each of its lists has.
    breakpoints, bends : (P,) float64
        As in `Envelope`, lists one after another.
    values : (n + P, S)
        Statistics: of each list those of its first row, then those of the row after each breakpoint.
    """

    counts: npt.NDArray[Any]
    breakpoints: Float64
    bends: Float64
    values: npt.NDArray[Any]

    @property
    def nbytes(self) -> int:
        """How much travels."""
        return sum(array.nbytes for array in (self.counts, self.breakpoints, self.bends, self.values))

    @classmethod
    def of(cls, envelope: Envelope, offsets: Int64, stats: npt.NDArray[Any]) -> ShardLine:
        """Return what is sent of an envelope over lists with these offsets, (n+1,), and statistics, (M, S)."""
        lists = np.searchsorted(offsets, envelope.after, side="right") - 1
        rows = np.empty(len(envelope.first) + len(envelope.after), dtype=np.int64)
        after = np.arange(len(lists)) + lists + 1
        rows[after] = envelope.after
        counts = np.bincount(lists, minlength=len(envelope.first))
        rows[_firsts(counts)] = envelope.first
        return cls(packed(counts), envelope.breakpoints, envelope.bends, packed(stats[rows]))


def whole_envelope(parts: Sequence[ShardLine]) -> tuple[Envelope, npt.NDArray[Any]]:
    """Return the envelope of all lists, in the order of the parts, and the statistics that its rows are numbers of."""
    counts = joined([part.counts for part in parts])
    lists = segment_of_rows(np.concatenate([[0], np.cumsum(counts)]))
    after = np.arange(len(lists)) + lists + 1
    envelope = Envelope(  # read-only, as kernels are compiled for it
        first=frozen(_firsts(counts)),
        breakpoints=frozen(np.concatenate([part.breakpoints for part in parts])),
        before=frozen(after - 1),
        after=frozen(after),
        bends=frozen(np.concatenate([part.bends for part in parts])),
    )
    return envelope, joined([part.values for part in parts])


def _firsts(counts: Int64) -> Int64:
    """Return where the first row of each list stands, when each is followed by a row for each breakpoint."""
    return np.arange(len(counts)) + np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)


# What is done with one part of a pool, by whichever process: functions of a part and a question.

KEPT_PARTS = 2  # with the copies that line searches make of them


class ShardSource:
    """The parts as problems of their own, of which this process keeps the last two ready; threads may share it."""

    def __init__(self, manifest: Manifest, metric: Metric) -> None:
        self.manifest, self.metric = manifest, metric
        self.whole_numbers = manifest.statistics(metric.signature).whole_numbers
        self._ready: OrderedDict[int, ListProblem] = OrderedDict()
        self._lock = threading.Lock()

    def problem(self, number: int) -> ListProblem:
        """Return the problem of a part that has lists which are not empty."""
        with self._lock:
            if number not in self._ready:
                self._ready[number] = ListProblem.of(open_shard(self.manifest, number), self.metric)
            self._ready.move_to_end(number)
            while len(self._ready) > KEPT_PARTS:
                self._ready.popitem(last=False)
            return self._ready[number]

    @property
    def filled(self) -> list[int]:
        """The numbers of the parts that have lists which are not empty."""
        return [number for number, part in enumerate(self.manifest.parts) if part.filled]


@dataclasses.dataclass(frozen=True)
class ShardsRecipe:
    """How another process gets the parts: the manifest by path and seal, the metric as it is."""

    path: str
    seal: str
    metric: bytes
    url: str = ""

    @classmethod
    def of(cls, source: ShardSource) -> ShardsRecipe:
        """Return the recipe of shards under a metric."""
        manifest = source.manifest
        path = str(Path(manifest.path).absolute())
        return cls(path, manifest.seal, pickle.dumps(source.metric), manifest.url)

    def open(self) -> ShardSource:
        """Return the parts; all files must be there, and each is hashed when it is first worked on."""
        path = self.path
        if self.url:
            from luthier.core.files.remote import fetch

            path = str(fetch(self.url))
        manifest = read_manifest(path, self.url)
        if manifest.seal != self.seal:
            raise InputError(expected=f"the manifest {self.seal}", found=f"another, {manifest.seal}", path=self.path)
        check_files(manifest)
        return ShardSource(manifest, pickle.loads(self.metric))


Vectors = tuple[tuple[float, ...], ...]


@dataclasses.dataclass(frozen=True)
class WeightsRequest:
    """A part and weight vectors."""

    part: int
    weights: Vectors


@dataclasses.dataclass(frozen=True)
class LinesRequest:
    """A part, where lines begin, and their directions."""

    part: int
    start: tuple[float, ...]
    directions: Vectors


def vectors(weights: Float64) -> Vectors:
    """Return (W, D) weights as plain values."""
    return tuple(map(tuple, weights.tolist()))


def shard_selected(source: ShardSource, asked: WeightsRequest) -> npt.NDArray[Any]:
    """Return the statistics of what each weight vector selects, (W, n, S), packed."""
    return packed(source.problem(asked.part).selected(np.array(asked.weights)))


def shard_sums(source: ShardSource, asked: WeightsRequest) -> npt.NDArray[Any]:
    """Return sums where they are exact, (W, 1, S), and what is to be summed where they are not, (W, n, S)."""
    selected = source.problem(asked.part).selected(np.array(asked.weights))
    return selected.sum(axis=1, keepdims=True) if source.whole_numbers else selected


def shard_lines(source: ShardSource, asked: LinesRequest) -> list[ShardLine]:
    """Return what a part selects along each direction."""
    problem = source.problem(asked.part)
    envelopes = problem.lines.envelopes(np.array(asked.start), np.array(asked.directions))
    return [ShardLine.of(envelope, problem.offsets, problem.stats) for envelope in envelopes]


@dataclasses.dataclass(frozen=True)
class ColumnsRequest:
    """A part and numbers of features."""

    part: int
    columns: tuple[int, ...]


def shard_moving(source: ShardSource, asked: int) -> npt.NDArray[Any]:
    """Return which features differ within some list of a part, (1, D)."""
    return source.problem(asked).moving[None]


def shard_means(source: ShardSource, asked: int) -> npt.NDArray[Any]:
    """Return the mean statistics of each list, (n, S)."""
    return source.problem(asked).mean_statistics()


def shard_tied(source: ShardSource, asked: WeightsRequest) -> npt.NDArray[Any]:
    """Return the mean statistics of the rows that tie for the best score in each list, (n, S)."""
    return source.problem(asked.part).tied_statistics(np.array(asked.weights[0]))


def shard_agreement(source: ShardSource, asked: ColumnsRequest) -> npt.NDArray[Any]:
    """Return how features go with the gain in each list, (n, Q)."""
    return source.problem(asked.part).agreement(asked.columns)


def shard_best(source: ShardSource, asked: int) -> npt.NDArray[Any]:
    """Return the statistics of the hypothesis with the best sentence score of each list, (n, S), packed."""
    return packed(source.problem(asked).best_statistics())


def shard_alike(source: ShardSource, asked: int) -> Int64:
    """Return in how many lists of a part all hypotheses have the same statistics, (1,)."""
    return np.array([source.problem(asked).lists_alike()])


def shard_ties(source: ShardSource, asked: WeightsRequest) -> Int64:
    """Return in how many lists of a part the winner of each vector ties with others, (W,)."""
    problem = source.problem(asked.part)
    return np.array([problem.lists_tied(np.array(vector)) for vector in asked.weights])


# Oracles of a sharded pool, of which no more than one is in memory.
#
# The oracles of single sentences are looked for by whoever works on the parts. Those of the corpus are a chain: every
# sentence is changed under the total of all others, so one process goes through the parts.


def shard_selections(
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
class BestRequest:
    """A part, and whether the worst are asked for."""

    part: int
    worst: bool


def shard_best_rows(source: ShardSource, asked: BestRequest) -> Int64:
    """Return the row of each list of a part with the best (or worst) sentence score."""
    pool = open_shard(source.manifest, asked.part)
    gains = source.metric.sentence_gains(pool.stats[source.metric.signature].values)
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
        return open_shard(self.manifest, number).offsets

    def _stats(self, number: int) -> npt.NDArray[Any]:
        return open_shard(self.manifest, number).stats[self.metric.signature].values

    def chosen(self, rows: Sequence[Int64]) -> npt.NDArray[Any]:
        """Return the statistics of the rows chosen in each part, (n, S)."""
        return np.concatenate([self._stats(p)[own - self.first_rows[p]] for p, own in enumerate(rows)])

    def selection(self, rows: Sequence[Int64]) -> Selection:
        """Return a selection with its score; sums are made in the order of the sentences."""
        score = float(self.metric.score(self.chosen(rows).sum(axis=0)))
        return Selection(np.concatenate(list(rows)), score, (score,))

    def best(self, *, worst: bool) -> list[Int64]:
        """Return the row of each list with the best (or worst) sentence score."""
        source = ShardSource(self.manifest, self.metric)
        units = {number: BestRequest(number, worst) for number in range(len(self.manifest.parts))}
        found = run_units(shard_best_rows, Shared(source, ShardsRecipe.of(source)), units, engine=self.engine)
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
