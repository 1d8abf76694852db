"""All cells of a plane visited once, in bounded memory: how many, how good, the best, and a fair sample."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.rng import child_rng
from luthier.core.tasks import Engine, Serial, Shared, Threads, run_units
from luthier.core.threads import stopping_gently
from luthier.geometry.plane.overlay import EDGES_AT_ONCE, CellBlock, FaceValues, Overlay, Workspace
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.best_cells import ScoredCells
from luthier.metrics.base import Metric

# So many of the best are kept at least: among equally good cells the roomiest is wanted, and there may be many.
KEPT_AT_LEAST = 256
MOST_RANGES = 256


@dataclasses.dataclass(frozen=True, eq=False)
class Histogram:
    """How many have a score in ``[bin·width, (bin + 1)·width)``, of the bins that are not empty.

    >>> Histogram.of(np.array([0.1, 0.3, 0.2, -0.1]), 0.25).counts.tolist()
    [1, 2, 1]
    """

    width: float
    bins: Int64
    counts: Int64

    @classmethod
    def of(cls, scores: Float64, width: float) -> Histogram:
        """Count scores of any shape."""
        numbers = np.floor(scores / width).astype(np.int64).ravel()
        if len(numbers) and np.ptp(numbers) < len(numbers):  # few bins: no need to sort
            every = np.bincount(numbers - numbers.min())
            bins = np.flatnonzero(every)
            return cls(width, bins + numbers.min(), every[bins])
        bins, counts = np.unique(numbers, return_counts=True)
        return cls(width, bins, counts.astype(np.int64))

    @classmethod
    def sum(cls, parts: Sequence[Histogram], width: float) -> Histogram:
        """Return the counts of several, all of this width."""
        none = np.zeros(0, np.int64)
        bins, where = np.unique(np.concatenate([none, *(part.bins for part in parts)]), return_inverse=True)
        counts = np.zeros(len(bins), np.int64)
        np.add.at(counts, where, np.concatenate([none, *(part.counts for part in parts)]))
        return cls(width, bins, counts)

    @property
    def edges(self) -> Float64:
        """Where the bins begin, (B,)."""
        return np.asarray(self.bins * self.width, np.float64)

    @property
    def shares(self) -> Float64:
        """The counts as shares of all, (B,)."""
        return np.asarray(self.counts / max(1, int(self.counts.sum())), np.float64)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"width": self.width, "from": self.edges.tolist(), "counts": self.counts.tolist()}


@dataclasses.dataclass(frozen=True, eq=False)
class Survey:
    """What a visit of all cells leaves.

    Attributes
    ----------
    cells : int
        With an area.
    without_area : int
        Those that only ties make, or rounding.
    share : float
        Of the edges that were walked; 1 unless the survey was stopped.
    histogram : Histogram
        Of the cells' scores.
    extremes : (2,) float64
        The lowest and the highest score.
    best : ScoredCells
        The best, in order.
    sample : ScoredCells
        Drawn at random, every cell with the same chance.
    """

    cells: int
    without_area: int
    share: float
    histogram: Histogram
    extremes: Float64
    best: ScoredCells
    sample: ScoredCells


@dataclasses.dataclass(frozen=True, eq=False)
class SurveyOptions:
    """How a survey is made.

    Attributes
    ----------
    width : float
        Of the histogram's bins.
    keep : int
        How many of the best cells are wanted.
    sample : int
        How many cells are drawn.
    most : int, optional
        More cells than these are an error.
    """

    width: float
    keep: int = 20
    sample: int = 0
    most: int | None = None
    seed: int = 0
    threads: int = 1


@dataclasses.dataclass(frozen=True, eq=False)
class Walk:
    """What all ranges of a survey share: the plane's edges with the values of their faces, and what is wanted."""

    overlay: Overlay
    values: FaceValues
    metric: Metric
    options: SurveyOptions
    own: threading.local = dataclasses.field(default_factory=threading.local)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process without what belongs to threads of this one."""
        return Walk, (self.overlay, self.values, self.metric, self.options)

    def blocks(self, edges: range) -> Iterator[CellBlock]:
        """Yield the cells of a range of edges; each thread has one workspace to write them in."""
        if not hasattr(self.own, "workspace"):
            self.own.workspace = Workspace(self.overlay, self.values, low=False)
        return self.overlay.blocks(self.values, edges, self.own.workspace)

    @property
    def n_best(self) -> int:
        """How many of the best cells of a range of edges can be among those of all."""
        return max(self.options.keep, KEPT_AT_LEAST)


@dataclasses.dataclass(frozen=True)
class EdgeRange:
    """Edges ``first`` to ``last - 1``, and the number of their generator."""

    number: int
    first: int
    last: int


@dataclasses.dataclass(frozen=True, eq=False)
class CellSummary:
    """What is left of the cells of a range of edges.

    Attributes
    ----------
    drawn : ScoredCells
        As many as the sample of all can hold, those with the lowest `lots`.
    """

    cells: int
    without_area: int
    histogram: Histogram
    extremes: Float64
    best: ScoredCells
    drawn: ScoredCells
    lots: Float64


def visit_cells(walk: Walk, edges: EdgeRange) -> CellSummary:
    """Visit the cells of a range of edges, each once."""
    rng, found = child_rng(walk.options.seed, edges.number), None
    for block in walk.blocks(range(edges.first, edges.last)):
        floor = -np.inf if found is None or len(found.best) < walk.n_best else found.best.gains[-1]
        left = _left_of(walk, block, rng, floor)
        found = left if found is None else _joined([found, left], walk)
    return _joined([], walk) if found is None else found


def _left_of(walk: Walk, block: CellBlock, rng: np.random.Generator, floor: float) -> CellSummary:
    """Return what is left of a block of cells; those below a gain are not among the best."""
    scores, keys = walk.metric.score(block.sums), block.keys
    if not block.sized.all():
        scores, keys = scores[block.sized], keys[block.sized]
    cells = ScoredCells(keys, walk.metric.gain(scores))
    size = walk.options.sample
    # each cell draws a number; those with the lowest are a fair sample
    lots = rng.random(len(cells)) if size else np.zeros(0)
    lowest = np.argpartition(lots, size)[:size] if len(lots) > size else np.arange(len(lots))
    drawn = np.sort(lowest)
    return CellSummary(
        cells=len(cells),
        without_area=len(block) - len(cells),
        histogram=Histogram.of(scores, walk.options.width),
        extremes=np.array([scores.min(initial=np.inf), scores.max(initial=-np.inf)]),
        best=cells.take(np.flatnonzero(cells.gains >= floor)).best(walk.n_best),
        drawn=cells.take(drawn),
        lots=lots[drawn],
    )


def _joined(parts: Sequence[CellSummary], walk: Walk) -> CellSummary:
    """Return what is left of several together, in this order."""
    lots = np.concatenate([np.zeros(0), *(part.lots for part in parts)])
    lowest = np.sort(np.argsort(lots, kind="stable")[: walk.options.sample])
    ends = np.array([[np.inf, -np.inf], *(part.extremes for part in parts)])
    floor = max((part.best.gains[-1] for part in parts if len(part.best) == walk.n_best), default=-np.inf)
    best = [part.best.take(part.best.gains >= floor) for part in parts]  # few of the others are among the best of all
    return CellSummary(
        cells=sum(part.cells for part in parts),
        without_area=sum(part.without_area for part in parts),
        histogram=Histogram.sum([part.histogram for part in parts], walk.options.width),
        extremes=np.array([ends[:, 0].min(), ends[:, 1].max()]),
        best=ScoredCells.join(ScoredCells.none(), *best).best(walk.n_best),
        drawn=ScoredCells.join(ScoredCells.none(), *(part.drawn for part in parts)).take(lowest),
        lots=lots[lowest],
    )


def edge_ranges(overlay: Overlay) -> dict[int, EdgeRange]:
    """Return all edges in ranges, at most `MOST_RANGES`: how they are cut depends on the plane alone."""
    n_edges = overlay.edges.n_owners
    blocks = -(-n_edges // EDGES_AT_ONCE)
    size = EDGES_AT_ONCE * max(1, -(-blocks // MOST_RANGES))
    firsts = range(0, n_edges, size)
    return {i: EdgeRange(i, first, min(first + size, n_edges)) for i, first in enumerate(firsts)}


def survey(overlay: Overlay, problem: ListProblem, options: SurveyOptions, *, engine: Engine | None = None) -> Survey:
    """Visit every cell once; Ctrl-C ends it early, and it says how far it came.

    The same whoever does it: ranges of edges are cut by the plane, have generators of their own and are put
    together in their order. By default it is ``options.threads`` threads.
    """
    walk = Walk(overlay, overlay.face_values(problem.stats), problem.metric, options)
    units, stop, visited = edge_ranges(overlay), threading.Event(), 0
    n_edges = overlay.edges.n_owners
    with stopping_gently(stop), progress("edges walked", n_edges) as advance:

        def keep(number: int, part: CellSummary) -> None:
            nonlocal visited
            advance(units[number].last - units[number].first)
            visited += part.cells + part.without_area
            if options.most is not None and visited > options.most:
                raise LuthierError(
                    f"there are more than {options.most:,} cells, too many to keep every one. "
                    "hint: stream them, which keeps the best and a picture; or take a smaller window; or allow more"
                )

        engine = engine or (Serial() if options.threads == 1 else Threads(options.threads))
        parts = run_units(visit_cells, Shared(walk), units, engine=engine, keep=keep, stop=stop)
    found = _joined(list(parts.values()), walk)
    walked = sum(units[number].last - units[number].first for number in parts)
    share = walked / n_edges if n_edges and len(parts) < len(units) else 1.0
    return Survey(found.cells, found.without_area, share, found.histogram, found.extremes, found.best, found.drawn)
