"""The exact global optimum of a sum of sentence gains, proven by linear programs (Galley and Quirk 2011)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, frozen
from luthier.core.params import param
from luthier.geometry.joint_selection.corners import Corners
from luthier.geometry.joint_selection.joint_halves import best_by_halves
from luthier.geometry.joint_selection.joint_search import Progress, best_selection
from luthier.landscape.cones.cone_coordinates import ConeCoordinates
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.tuning.base import ListTuner, State
from luthier.tuning.search.line_search import climb_ends

# Gains as sums over sentences: exactly, where the metric is such a sum, else by the gains of single sentences.


@dataclasses.dataclass(frozen=True, eq=False)
class Additive:
    """A value of every hypothesis: the sum over a selection, plus a constant, represents its gain.

    Attributes
    ----------
    values : (M,) float64
    constant : float
    exact : bool
        Whether the sum *is* the gain; otherwise it is the mean of the sentences' own (smoothed) gains.
    """

    values: Float64
    constant: float
    exact: bool

    @classmethod
    def of(cls, problem: ListProblem) -> Additive:
        """Return the gain of a problem as a sum.

        A rate Σa / Σb is one if b is the same for all hypotheses of a list: Σb does not depend on the
        selection then. Error rates against one reference and means of a column are such rates, and so
        are weighted sums of them; BLEU is none.
        """
        totals = _constant_totals(problem)
        if totals is None:
            return cls(frozen(problem.sentence_gains / problem.pool.n_sentences), 0.0, exact=False)
        columns, sums = totals
        stats = np.array(problem.stats, dtype=np.float64)
        stats[:, columns] = sums
        nothing = np.zeros(stats.shape[1])
        nothing[columns] = sums
        constant = float(problem.gain_of_sums(nothing))
        return cls(frozen(problem.gain_of_sums(stats) - constant), constant, exact=True)

    def problem(self, problem: ListProblem) -> ListProblem:
        """Return the problem whose gain is the sum over the selection, without the constant."""
        stats = np.column_stack([problem.pool.n_sentences * self.values, np.ones(len(self.values))])
        return ListProblem(problem.pool, load_metric("column:value"), frozen(stats), problem.bounds)


def _constant_totals(problem: ListProblem) -> tuple[list[int], Float64] | None:
    """Return the columns of denominators and their sums over the corpus; None where selections change them."""
    columns = _denominators(problem.metric)
    if columns is None:
        return None
    below, starts = problem.stats[:, columns], problem.offsets[:-1]
    if np.any(np.maximum.reduceat(below, starts) != np.minimum.reduceat(below, starts)):
        return None
    sums = np.asarray(below[starts].sum(axis=0), np.float64)
    return (columns, sums) if np.all(sums > 0) else None


def _denominators(metric: Metric) -> list[int] | None:
    """Return which statistics a metric divides by, if it is a sum of rates."""
    rates = metric.rates
    return None if rates is None else [metric.stat_names.index(rate.denominator) for rate in rates]


MOST_FEATURES = 100
# Gains nearer than this, relative to the larger, are equal.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """Search all directions of w for the highest Σ over sentences of a gain, and prove that there is none higher.

    The sum is the metric itself where that is a rate with a constant denominator (a column's mean, error
    rates against one reference); for others, as BLEU, it is the mean of the sentences' own smoothed gains.
    The first candidate comes from exact line searches. ``cones`` is a best-first search over cones of
    weights; ``halves`` merges halves of the lists lazily, as published, and is what a `beam` thins out. The
    answer is, in the cell of the optimum, the weights farthest from its sides [galley2011].
    """

    published = {"algorithm": "halves"}  # noqa: RUF012 - never changed

    algorithm: str = param("cones", choices=("cones", "halves"), help="search over cones, or merge halves as published")
    beam: int = param(
        0, low=0, high=1_000_000, help="combinations kept by each set of lists, by halves (0: all, exact)"
    )
    max_lps: int = param(2_000_000, low=0, help="linear programs at most; then it is not proven (0: no limit)")
    climbs: int = param(20, low=0, high=100_000, help="line searches from random weights for the first candidate")

    def refuses(self, problem: Problem) -> str:
        """Return why a problem is too large or has no lists, or ''."""
        free = int(np.count_nonzero(~problem.bounds.fixed))
        if free > MOST_FEATURES:
            return f"it can move at most {MOST_FEATURES} weights, here are {free}"
        return super().refuses(problem)

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the first candidate, better ones as they are found, then the optimum."""
        sums = Additive.of(problem)
        simple = sums.problem(problem)
        first = State(start, problem.gain(start), "start", objective=simple.gain(start) + sums.constant)
        yield first
        coordinates = ConeCoordinates.of(problem, start)
        if not len(coordinates.columns):
            return
        climbed = max(climb_ends(simple, start, self.climbs, rng), key=lambda state: state.gain).weights
        best = _state(problem, simple, sums, climbed, "line searches")
        yield best
        corners = Corners.of(
            problem.offsets, coordinates.points, sums.values, coordinates.walls, given=coordinates.given
        )
        claimed = best
        for progress in self._search(corners, coordinates.directions(climbed)):
            if progress.weights is not None:
                found = _widest(simple, corners, coordinates, progress.weights)
                claimed = _state(problem, simple, sums, found, "search")
                best = claimed if _at_least(_objective(claimed), _objective(best)) else best
            if not progress.finished:
                of = "" if sums.exact else " of sentence gains"
                yield dataclasses.replace(best, did=f"bound {progress.bound + sums.constant:.6g}{of}")
        held = progress.weights is not None and _same(_objective(claimed), progress.value + sums.constant)
        note = self._note(progress, sums, held=held)
        if not _at_least(progress.bound + sums.constant, _objective(best)):
            note += "; the answer gains more, on a tie or in a cone thinner than 1e-9 that the search leaves out"
        last = dataclasses.replace(best, did="answer", note=note)
        if last.gain < first.gain:  # the sum is not the metric
            last = dataclasses.replace(first, note=f"{last.note}; its weights gain less than the start, which is kept")
        yield last

    def _search(self, corners: Corners, direction: Float64) -> Iterator[Progress]:
        if self.algorithm == "cones" and not self.beam:
            return best_selection(corners, direction, most=self.max_lps)
        return iter([best_by_halves(corners, direction, beam=self.beam, most=self.max_lps)])

    def _note(self, progress: Progress, sums: Additive, *, held: bool) -> str:
        """Return what was proven, and by how much work; `held` says that a re-rank has the value found."""
        what = "the gain" if sums.exact else "the mean of sentence gains (the metric itself is no sum)"
        looked_at = "cones" if self.algorithm == "cones" and not self.beam else "combinations"
        work = f"{progress.lps:,} linear programs, {progress.visited:,} {looked_at}"
        gap = progress.bound - progress.value
        if progress.weights is None and progress.bound == -np.inf:
            return f"not proven: no weights within the bounds select one row of every list clearly; {work}"
        if not held:
            return f"not proven: a re-rank with the weights found does not have the value of the search; {work}"
        if gap <= 0:
            return f"optimum of {what}, proven: {work}"
        reason = f"inexact, beam {self.beam}" if self.beam else f"not proven, limit of {self.max_lps:,} linear programs"
        return f"{reason}: at most {gap:.4g} below the optimum of {what}; {work}"


def _at_least(one: float, other: float) -> bool:
    return one >= other - ROUNDING * max(1.0, abs(other))


def _same(one: float, other: float) -> bool:
    return _at_least(one, other) and _at_least(other, one)


def _objective(state: State) -> float:
    assert state.objective is not None
    return state.objective


def _state(problem: ListProblem, simple: ListProblem, sums: Additive, weights: Float64, did: str) -> State:
    return State(weights, problem.gain(weights), did, objective=simple.gain(weights) + sums.constant)


def _widest(simple: ListProblem, corners: Corners, coordinates: ConeCoordinates, direction: Float64) -> Float64:
    """Return the weights farthest from the sides of a direction's cell, if a re-rank confirms them."""
    found = coordinates.weights(direction)
    selection = corners.select(direction)
    wide = coordinates.weights(corners.widest(selection)[0])
    return wide if simple.gain(wide) >= simple.gain(found) else found
