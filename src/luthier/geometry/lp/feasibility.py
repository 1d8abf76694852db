"""Whether one weight vector can select a given row of every list, with a proof either way.

The question is one linear program over all rows of all lists,

    max t  subject to  w·(h_j − h_i) ≤ −t  for every list, its selected row i, and h_j ≠ h_i;  |w_k| ≤ 1,

feasible iff its optimum is positive [waite2015]. Few rows matter, so they join as they are needed: solve over
those at hand, look through all rows for the worst one of each list, add these, go on from the last basis.
The rows are never subtracted from each other beyond those that joined.

Floats decide where the margin is clear. Where it is not, the small set of rows that seem to contradict
each other is settled in rational arithmetic (`rational`), which either proves the contradiction or gives
weights; rows these violate join, until nothing is left open. No answer depends on a tolerance.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.geometry.lp import _feasibility_kernels as kernels
from luthier.geometry.lp.certificates import Feasible, Infeasible, sorted_proof
from luthier.geometry.lp.lp import Margin, MarginProblem
from luthier.geometry.lp.rational import Cancelled, ExactMargin, dot, exact_difference

CLEAR = 1e-8  # a margin above this share of the longest difference at hand is beyond the simplex's rounding
CLOSE = 1e-9  # rows that fall short of the margin by less than this share of it do not join
UNIT = 2.0**-53
ROOM = 1 << 12
AT_ONCE = 64  # rows that join in rational arithmetic
MEAN_STEP = 16  # a guess needs no more than some rows of each list


def feasibility(
    offsets: Int64, features: Float64, selection: Int64, *, start: Float64 | None = None
) -> Feasible | Infeasible:
    """Decide whether some w selects row ``selection[s]`` of every list s, above every other vector of it.

    Parameters
    ----------
    offsets : (N+1,)
        List s has the rows ``offsets[s]:offsets[s+1]``; it may be empty.
    features : (M, D)
    selection : (N,)
        A row of each list; −1 where the list shall not count.
    start : (D,), optional
        Weights to begin with; they change the work, not the answer.

    >>> corners = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    >>> feasibility(np.array([0, 3]), corners, np.array([1])).margin
    1.0
    >>> feasibility(np.array([0, 3]), corners, np.array([2])).multipliers
    array([0.5, 0.5])
    """
    search = _Search(offsets, features, selection)
    found = search.look(search.guess() if start is None else np.asarray(start, np.float64))
    return search.settled(found) if isinstance(found, Margin) else found


def clear_weights(offsets: Int64, features: Float64, selection: Int64) -> Float64 | None:
    """Return weights of the largest margin that select row ``selection[s]`` of every list s, (D,).

    None if there are none, or only such as floats cannot tell from none: `feasibility` proves which, at any price.
    """
    features = np.asarray(features, np.float64)
    size = int(np.frexp(np.abs(features).max(initial=0.0))[1])  # floats decide most where the largest is about 1
    search = _Search(offsets, np.ldexp(features, -size), selection)
    found = search.look(search.guess())
    return None if isinstance(found, Margin) else found.weights


def closest_rivals(offsets: Int64, features: Float64, selection: Int64, weights: Float64) -> tuple[Float64, Int64]:
    """Return for each list the largest w·(h_j − h_i) over h_j ≠ h_i, and that row j; −inf and −1 if there is none."""
    search = _Search(offsets, features, selection)
    return search.worst(np.asarray(weights, np.float64))


class _Search:
    """The rows at hand, and what is known about them."""

    def __init__(self, offsets: Int64, features: Float64, selection: Int64) -> None:
        self.offsets, self.features = flat(np.asarray(offsets, np.int64)), flat(np.asarray(features, np.float64))
        chosen = flat(np.asarray(selection, np.int64))
        _check(self.offsets, self.features, chosen)
        lowest = np.empty_like(chosen)
        kernels.first_equal(self.offsets, self.features, chosen, lowest)
        self.selection = flat(lowest)
        self.problem = MarginProblem(self.features.shape[1])
        self.lists, self.rows = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.longest = 0.0

    def guess(self) -> Float64:
        """Return a direction that likes the selected rows better than their lists' means."""
        direction = np.zeros(self.features.shape[1])
        kernels.lean(self.offsets, self.features, self.selection, MEAN_STEP, direction)
        return np.asarray(direction / max(np.abs(direction).max(), 1e-300))

    def look(self, weights: Float64) -> Feasible | Margin:
        """Return weights that nothing violates, or the margin of floats where these do not decide."""
        margin: Margin | None = None
        while True:
            gaps, rows = self.worst(weights)
            if gaps.max(initial=-np.inf) == -np.inf:  # nothing to beat
                return self.accepted(np.asarray(weights, np.float64))
            wanted = -np.inf if margin is None else -margin.margin * (1.0 - CLOSE)
            new = np.flatnonzero((gaps > wanted) & ~self.known(rows))
            if not len(new):
                break
            self.join(new, rows[new])
            margin = self.problem.solve()
            if margin.margin <= CLEAR * self.longest:
                return margin
            weights = margin.weights
        if margin is not None and not self.violated(tuple(map(Fraction, weights.tolist())), weights)[1].size:
            return self.accepted(weights)
        return self.problem.solve()

    def worst(self, weights: Float64) -> tuple[Float64, Int64]:
        """Return each list's largest gap and its row."""
        gaps, rows = np.empty(len(self.selection)), np.empty(len(self.selection), np.int64)
        kernels.worst_rows(self.offsets, self.features, self.selection, flat(weights), gaps, rows)
        return gaps, rows

    def known(self, rows: Int64) -> Bool:
        return np.isin(rows, self.rows)

    def join(self, lists: Int64, rows: Int64) -> None:
        """Add rows to the program."""
        differences = self.features[rows] - self.features[self.selection[lists]]
        self.longest = max(self.longest, float(np.sqrt((differences * differences).sum(axis=1)).max()))
        self.problem.add(differences)
        self.lists, self.rows = np.concatenate([self.lists, lists]), np.concatenate([self.rows, rows])

    def violated(self, exact: tuple[Fraction, ...], rounded: Float64) -> tuple[Int64, Int64]:
        """Return lists and rows, of all, that the exact weights do not put below the selected ones.

        Floats pass over the rows first; those they cannot judge are compared exactly.
        """
        lists, rows = self.doubtful(rounded)
        wrong = [dot(exact, self.difference(s, j)[0]) >= 0 for s, j in zip(lists.tolist(), rows.tolist(), strict=True)]
        return lists[np.array(wrong, bool)], rows[np.array(wrong, bool)]

    def doubtful(self, weights: Float64) -> tuple[Int64, Int64]:
        """Return lists and rows that floats, in whatever order they are summed, may not put below the selected ones."""
        unit = 2.0 * (self.features.shape[1] + 3) * UNIT  # twice γ(D + 2): sums, rounded weights, the bound itself
        lists, rows, n = np.empty(0, np.int64), np.empty(0, np.int64), ROOM
        while n > len(rows):
            lists, rows = np.empty(n, np.int64), np.empty(n, np.int64)
            n = kernels.doubtful_rows(
                self.offsets, self.features, self.selection, flat(weights), unit, unit * 2.0**-1000, lists, rows
            )
        return lists[:n], rows[:n]

    def difference(self, s: int, row: int) -> tuple[list[int], Fraction]:
        return exact_difference(self.features[row], self.features[self.selection[s]])

    def accepted(self, weights: Float64) -> Feasible:
        """Return the proof of weights that nothing violates."""
        top = float(self.worst(weights)[0].max(initial=-np.inf))
        certain = not len(self.doubtful(weights)[1])
        return Feasible(weights, max(-top, 0.0), self.selection, certain, tuple(map(Fraction, weights.tolist())))

    def rounded(self, exact: tuple[Fraction, ...]) -> Feasible:
        """Return the proof of exact weights, as floats that do the same if such are found.

        The floats next to a multiple of the weights lie in other directions for each multiple.
        """
        for sixteenths in range(16, 0, -1):
            weights = np.array([float(value * sixteenths / 16) for value in exact])
            if not self.violated(tuple(map(Fraction, weights.tolist())), weights)[1].size:
                proof = self.accepted(weights)
                if proof.representable:
                    return proof
        return Feasible(np.array([float(value) for value in exact]), 0.0, self.selection, False, exact)

    def settled(self, margin: Margin) -> Feasible | Infeasible:
        """Decide in rational arithmetic, starting with the rows that decide in floats.

        Rows join, the worst first, until none has less than half of the margin that those at hand allow.
        """
        problem = ExactMargin(self.features.shape[1])
        chosen = margin.active if len(margin.active) else np.zeros(1, np.int64)
        lists, rows = self.lists[chosen], self.rows[chosen]
        more = lists, rows
        while True:
            problem.add([self.difference(s, j) for s, j in zip(more[0].tolist(), more[1].tolist(), strict=True)])
            outcome = problem.solve()
            if isinstance(outcome, Cancelled):
                used = list(outcome.indices)
                return sorted_proof(lists[used], rows[used], outcome.multipliers)
            rounded = np.array([float(value) for value in outcome.weights])
            gaps, worst = self.worst(rounded)
            new = np.flatnonzero((gaps > -0.5 * float(outcome.margin)) & ~np.isin(worst, rows))
            new = new[np.argsort(-gaps[new], kind="stable")][:AT_ONCE]
            more = new, worst[new]
            if not len(new):
                more = self.violated(outcome.weights, rounded)
            if not len(more[1]):
                return self.rounded(outcome.weights)
            lists, rows = np.concatenate([lists, more[0]]), np.concatenate([rows, more[1]])


def _check(offsets: Int64, features: Float64, selection: Int64) -> None:
    if features.ndim != 2 or not features.shape[1] or selection.shape != (len(offsets) - 1,):
        raise LuthierError(
            f"expected features (M, D) and one row for each of {len(offsets) - 1} lists, "
            f"found features {features.shape} and a selection of shape {selection.shape}"
        )
    used = selection >= 0
    inside = (selection >= offsets[:-1]) & (selection < offsets[1:])
    if not inside[used].all() or (len(offsets) and offsets[-1] > len(features)):
        s = int(np.flatnonzero(used & ~inside)[0]) if (used & ~inside).any() else len(selection) - 1
        raise LuthierError(
            f"expected a row from {offsets[s]} to {offsets[s + 1] - 1} for list {s}, found {selection[s]}"
        )
