"""How far the optimum of a line moves with its sentences: the best interval of every resample, exactly.

A resample is as many sentences, drawn with replacement. The breakpoints of a line are those of its lists, whatever the
sentences count: they are found once. Each resample sweeps those of the lists that it has, with statistics times their
counts, so that its best interval is that of a pool in which sentences stand as often.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.rng import resample_counts
from luthier.geometry.subspace import Subspace
from luthier.landscape.curve import reach_of
from luthier.landscape.list_problem import ListProblem

SHARE = 0.9  # of the resamples whose optimum the region holds, at least


@dataclasses.dataclass(frozen=True, eq=False)
class LineStability:
    """Where the optimum of a line is on B resamples of its sentences, as offsets from w0.

    Attributes
    ----------
    low, high : (B,)
        The best interval of each resample, cut to the window; of equal ones the widest, then the nearest to w0.
    position : (B,)
        A place inside it: the middle, or a length of w0 beyond its one end.
    scores : (B,)
        There, on the resample.
    """

    low: Float64
    high: Float64
    position: Float64
    scores: Float64

    @property
    def region(self) -> tuple[float, float]:
        """From the 5th to the 95th percentile of the places, both of them places themselves: it holds 90 % or more."""
        tail = (1 - SHARE) / 2
        low = np.quantile(self.position, tail, method="lower")
        return float(low), float(np.quantile(self.position, 1 - tail, method="higher"))

    def holds(self, position: float) -> bool:
        """Return whether the region holds a place."""
        return self.region[0] <= position <= self.region[1]

    def as_dict(self, origin: float = 0.0) -> dict[str, Any]:
        """Return it for JSON, places as `origin` has them; what is infinite is None."""
        ends = (np.where(np.isfinite(part), part + origin, np.nan) for part in (self.low, self.high))
        low, high = ([None if np.isnan(x) else x for x in part.tolist()] for part in ends)
        return {
            "resamples": len(self.position),
            "share": SHARE,
            "region": [end + origin for end in self.region],
            "positions": (self.position + origin).tolist(),
            "low": low,
            "high": high,
            "scores": self.scores.tolist(),
        }


def line_stability(
    problem: ListProblem,
    line: Subspace,
    window: tuple[float, float] = (-np.inf, np.inf),
    *,
    resamples: int,
    seed: int = 0,
) -> LineStability:
    """Return where the optimum of a line, within a window, is on resamples of the sentences."""
    if resamples < 2:
        raise LuthierError(f"expected at least 2 resamples, found {resamples}")
    if problem.n_sentences < 2:
        raise LuthierError("expected at least 2 sentences to resample, found 1")
    sweep = _Sweep.of(problem, line, window)
    reach = reach_of(line.start, line.directions[0])
    found = np.empty((resamples, 4))
    with progress("resamples", resamples) as advance:
        for number in range(resamples):
            found[number] = sweep.best(resample_counts(seed, number, problem.n_sentences), reach)
            advance(1)
    return LineStability(*(np.ascontiguousarray(column) for column in found.T))


@dataclasses.dataclass(frozen=True, eq=False)
class _Sweep:
    """The breakpoints of a line inside a window, by position: of which list, and what changes there.

    Attributes
    ----------
    first : (N, S)
        Statistics of what each list chooses where the window begins.
    positions : (P,)
    lists : (P,)
    changes : (P, S)
    """

    problem: ListProblem
    window: tuple[float, float]
    first: npt.NDArray[Any]
    positions: Float64
    lists: Int64
    changes: npt.NDArray[Any]

    @classmethod
    def of(cls, problem: ListProblem, line: Subspace, window: tuple[float, float]) -> _Sweep:
        (envelope,) = problem.lines.envelopes(line.start, line.directions)
        order = np.argsort(envelope.breakpoints, kind="stable")
        positions = envelope.breakpoints[order]
        lists = np.searchsorted(problem.offsets, envelope.after[order], side="right") - 1
        changes = problem.stats[envelope.after[order]] - problem.stats[envelope.before[order]]
        first = problem.stats[envelope.first].copy()
        begin = int(np.searchsorted(positions, window[0], side="right"))
        np.add.at(first, lists[:begin], changes[:begin])
        inside = slice(begin, int(np.searchsorted(positions, window[1], side="left")))
        return cls(problem, window, first, positions[inside], lists[inside], changes[inside])

    def best(self, counts: Int64, reach: float) -> tuple[float, float, float, float]:
        """Return the best interval of sentences that count so often: its ends, a place inside, and the score."""
        times = counts[self.lists]
        there = np.flatnonzero(times)
        sums = np.empty((len(there) + 1, self.first.shape[1]), self.first.dtype)
        sums[0] = counts @ self.first
        np.multiply(self.changes[there], times[there, None], out=sums[1:])
        np.cumsum(sums, axis=0, out=sums)
        ends = np.concatenate([[self.window[0]], self.positions[there], [self.window[1]]])
        low, high = ends[:-1], ends[1:]
        gains = np.where(low < high, self.problem.gain_of_sums(sums), -np.inf)
        equal = np.flatnonzero(gains == gains.max())
        low, high = low[equal], high[equal]
        position = np.array([_inside(*pair, reach) for pair in zip(low.tolist(), high.tolist(), strict=True)])
        chosen = np.lexsort((np.abs(position), low - high))[0]
        score = float(self.problem.metric.gain(gains[equal[chosen]]))  # a gain's gain is the score
        return float(low[chosen]), float(high[chosen]), float(position[chosen]), score


def _inside(low: float, high: float, reach: float) -> float:
    """Return the middle of an interval, `reach` beyond its one end, or 0 where it has none."""
    if np.isinf(low):
        return 0.0 if np.isinf(high) else high - reach
    return low + reach if np.isinf(high) else low / 2 + high / 2
