"""All cells of a plane passed by once, in bounded memory: how many, how good, the best, and a fair sample."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.threads import stopping_gently
from luthier.geometry.plane.overlay import CellBlock, Overlay
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.scored_cells import ScoredCells

# So many of the best are kept at least: among equally good cells the roomiest is wanted, and there may be many.
KEPT_AT_LEAST = 256


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
        bins, counts = np.unique(np.floor(scores / width).astype(np.int64), return_counts=True)
        return cls(width, bins, counts.astype(np.int64))

    def plus(self, other: Histogram) -> Histogram:
        """Return the counts of both, which have one width."""
        bins, where = np.unique(np.concatenate([self.bins, other.bins]), return_inverse=True)
        counts = np.zeros(len(bins), np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return Histogram(self.width, bins, counts)

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
    """What passing by all cells leaves.

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
class _Passed:
    """What a worker found in a block."""

    last_edge: int
    without_area: int
    histogram: Histogram
    extremes: Float64
    best: ScoredCells
    every: ScoredCells | None
    n: int


class _Sample:
    """A fair sample of all that passes by: each cell draws a number, those with the lowest stay."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.rng = size, make_rng(seed)
        self.cells, self.lots, self.limit = ScoredCells.none(), np.zeros(0), 1.0

    def offer(self, cells: ScoredCells) -> None:
        lots = self.rng.random(len(cells))
        chosen = np.flatnonzero(lots < self.limit)
        if not len(chosen):
            return
        self.cells = ScoredCells.join(self.cells, cells.take(chosen))
        self.lots = np.concatenate([self.lots, lots[chosen]])
        if len(self.lots) > 2 * self.size + 1000:
            self.trim()

    def trim(self) -> ScoredCells:
        """Return the sample, in the order in which it passed by."""
        if len(self.lots) > self.size:
            lowest = np.sort(np.argsort(self.lots, kind="stable")[: self.size])
            self.cells, self.lots = self.cells.take(lowest), self.lots[lowest]
            self.limit = float(self.lots.max(initial=0.0))
        return self.cells


def survey(overlay: Overlay, problem: ListProblem, options: SurveyOptions) -> Survey:
    """Pass by every cell once; Ctrl-C ends it early, and it says how far it came.

    The same for any number of threads: blocks come in a fixed order.
    """
    metric, n_best = problem.metric, max(options.keep, KEPT_AT_LEAST)

    def visit(block: CellBlock) -> _Passed:
        sized = block.with_area
        scores = metric.score(sized.sums)
        cells = ScoredCells(sized.keys, metric.gain(scores))
        return _Passed(
            last_edge=int(block.keys[-1, 0]),
            without_area=len(block) - len(sized),
            histogram=Histogram.of(scores, options.width),
            extremes=np.array([scores.min(initial=np.inf), scores.max(initial=-np.inf)]),
            best=cells.best(n_best),
            every=cells if options.sample else None,
            n=len(cells),
        )

    stop, n_edges, edges, n_cells, n_without = threading.Event(), len(overlay.edges), 0, 0, 0
    histogram, best, sample = (
        Histogram.of(np.zeros(0), options.width),
        ScoredCells.none(),
        _Sample(options.sample, options.seed),
    )
    extremes = np.array([np.inf, -np.inf])
    with stopping_gently(stop), progress("edges walked", n_edges) as advance:
        for part in overlay.stream(problem.stats, visit, threads=options.threads):
            advance(part.last_edge + 1 - edges)
            edges, n_cells = part.last_edge + 1, n_cells + part.n
            n_without += part.without_area
            if options.most is not None and n_cells + n_without > options.most:
                raise LuthierError(
                    f"there are more than {options.most:,} cells, too many to keep every one. "
                    "hint: stream them, which keeps the best and a picture; or take a smaller window; or allow more"
                )
            histogram = histogram.plus(part.histogram)
            extremes = np.array([min(extremes[0], part.extremes[0]), max(extremes[1], part.extremes[1])])
            if len(part.best) and (len(best) < n_best or part.best.gains[0] >= best.gains[-1]):
                best = ScoredCells.join(best, part.best).best(n_best)
            if part.every is not None:
                sample.offer(part.every)
            if stop.is_set():
                break
    share = edges / n_edges if stop.is_set() and n_edges else 1.0
    return Survey(n_cells, n_without, share, histogram, extremes, best, sample.trim())
