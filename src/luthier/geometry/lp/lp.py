"""Linear programs in few unknowns, many at a time: our own dual simplex, HiGHS where it gives up.

Maximise c·x subject to A x ≤ b and |x_k| ≤ box_k. General solvers are made for thousands of unknowns and
spend most of a small problem on its set-up; here d is 2 to some dozens, m hundreds to thousands, and an
optimum costs a few microseconds (`_lp_kernels` explains the method). Rows are scaled to length 1 before,
so that tolerances mean the same for all; answers and multipliers are in the caller's units.

Optima are basic: as many constraints as there are unknowns are met as equations, and their multipliers
y ≥ 0 prove the optimum, c = Σ y_i a_i. If no x meets the rows, the multipliers prove that instead
(Farkas): Σ y_i a_i = 0 but Σ y_i b_i < 0, the sides of the box counted among the rows.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import LuthierError
from luthier.geometry.lp import _facet_kernels as facet_kernels
from luthier.geometry.lp import _lp_kernels as kernels
from luthier.geometry.lp.scales import column_scales, is_beyond, is_broken, is_proven, small_unit

OPTIMAL, INFEASIBLE, GAVE_UP = kernels.OPTIMAL, kernels.INFEASIBLE, kernels.GAVE_UP
FACET_WIDTH = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class Optima:
    """The answers to n objectives over the same rows.

    Attributes
    ----------
    values : (n,) float64
        Each optimum; NaN where no x meets the rows.
    points : (n, d) float64
        Where it is attained; NaN likewise. Where several points attain it, one of them.
    status : (n,) int64
        OPTIMAL or INFEASIBLE.
    active : (n, d + 1) int64
        The rows met as equations; −1 − 2k represents x_k ≤ box, −2 − 2k for −x_k ≤ box.
    multipliers : (n, d + 1) float64
        How much each counts in the proof; entries that do not count are 0 (all, where HiGHS found no point).
    pivots : (n,) int64
        How many exchanges it took; −1 where HiGHS had to help.
    """

    values: Float64
    points: Float64
    status: Int64
    active: Int64
    multipliers: Float64
    pivots: Int64


@dataclasses.dataclass(frozen=True, eq=False)
class Margin:
    """The point of a cone farthest from its sides, by the largest margin.

    Attributes
    ----------
    weights : (d,) float64
        w with rows·w ≤ −margin and |w_k| ≤ 1.
    margin : float
        Positive iff the cone has an interior, up to rounding (about 1e-9 of the rows' length).
    active : (a,) int64
        Rows with rows·w = −margin that prove that no w does better.
    multipliers : (a,) float64
        λ > 0, Σλ = 1: ‖Σ λ_i rows_i‖₁ = margin, so they cancel where the margin is 0.
    """

    weights: Float64
    margin: float
    active: Int64
    multipliers: Float64


def maximize(
    rows: npt.ArrayLike, limits: npt.ArrayLike, objectives: npt.ArrayLike, *, box: npt.ArrayLike = 1.0
) -> Optima:
    """Maximise each objective, (n, d), over {x : rows·x ≤ limits, |x_k| ≤ box}.

    Parameters
    ----------
    rows, limits : (m, d) and (m,)
        The constraints; m may be 0, rows may repeat or be 0.
    objectives : (n, d) or (d,)
    box : number or (d,)
        How far each unknown may be from 0; positive and finite.

    >>> maximize([[1.0, 1.0]], [1.0], [1.0, 0.5], box=2.0).points
    array([[ 2., -1.]])
    """
    a, b, c, sides = _checked(rows, limits, objectives, box)
    scales = column_scales(a)
    if scales is not None:
        return _maximize_scaled(a, b, c, sides, scales)
    found, scales = _maximize(a, b, c, sides), small_unit(a, b, sides)
    if scales is not None and any(is_beyond(a, b, point) for point in found.points):
        found = _maximize_scaled(a, b, c, sides, scales)
        if any(is_beyond(a, b, point) for point in found.points) or not is_proven(
            a, c, found.active, found.multipliers, found.status == OPTIMAL
        ):
            raise LuthierError(
                f"a linear program of {len(a)} rows cannot be solved: its limits are {scales[0]:.0e} of its unknowns' "
                "bounds. hint: scale the features to like sizes"
            )
    return found


def _maximize(a: Float64, b: Float64, c: Float64, sides: Float64) -> Optima:
    """Maximise over columns of like sizes, and limits that rounding does not hide."""
    n, d = c.shape
    problem = Rows(d, sides)
    problem.add(a, b)
    sizes = np.abs(c).max(axis=1, initial=0.0)
    sizes[sizes == 0.0] = 1.0
    answers = _make_answers(n, d)
    kernels.maximize_many(problem.arrays(), c / sizes[:, None], _make_state(d), True, *_make_room(d), answers)
    points, status, active, multipliers, pivots = answers
    multipliers *= sizes[:, None] / problem.lengths_of(active)
    multipliers[status == INFEASIBLE] /= sizes[status == INFEASIBLE, None]
    optima = Optima(np.empty(n), points, status, active, multipliers, pivots)
    for q in np.flatnonzero(status == GAVE_UP):
        _ask_highs(a, b, c[q], sides, optima, int(q))
    points[status == INFEASIBLE] = np.nan
    optima.values[:] = (c * points).sum(axis=1)
    return optima


def _maximize_scaled(a: Float64, b: Float64, c: Float64, sides: Float64, scales: Float64) -> Optima:
    """Maximise over unknowns of other units, x = scales · u; what then breaks a row is left to HiGHS."""
    rows = a * scales
    found = _maximize(rows, b, c * scales, sides / scales)
    for q in np.flatnonzero(found.status == OPTIMAL):
        if is_broken(rows, b, found.points[q]):
            _ask_highs(a, b, c[q], sides, found, int(q), normalized=False)  # in the caller's units, which may be better
            found.points[q] = found.points[q] / scales if found.status[q] == OPTIMAL else np.nan
            found.values[q] = (c[q] * scales * found.points[q]).sum()
            if found.status[q] == OPTIMAL and is_broken(rows, b, found.points[q]):
                raise LuthierError(
                    f"a linear program of {len(a)} rows cannot be solved: its columns differ by a factor of "
                    f"{scales.max() / scales.min():.0e}. hint: scale the features to like sizes"
                )
    at_sides = found.active < 0
    found.multipliers[at_sides] /= scales[(-1 - found.active[at_sides]) // 2]
    points = found.points * scales
    return dataclasses.replace(found, points=points)


def largest_margin(rows: npt.ArrayLike, *, normalize: bool = False) -> Margin:
    """Maximise t subject to rows·w ≤ −t and |w_k| ≤ 1: the best separated point of the cone {rows·w < 0}.

    With `normalize` every row counts by its direction alone, and the margin is a distance; rows of zeros
    then stay zeros. A row of zeros makes the margin 0: no w has 0·w < 0.
    """
    a = _matrix(rows, "rows")
    if normalize:
        lengths = np.sqrt((a * a).sum(axis=1, keepdims=True))
        a = a / np.where(lengths > 0.0, lengths, 1.0)
    problem = MarginProblem(a.shape[1])
    problem.add(a)
    return problem.solve()


def parallel_groups(rows: npt.ArrayLike, *, tolerance: float = 1e-12) -> Int64:
    """Return for each row the lowest row of the same direction, (m,); −1 for a row of zeros.

    Directions are the same if, at length 1, no entry differs by more than the tolerance.
    """
    return _grouped(_matrix(rows, "rows"), tolerance)[1]


def irredundant(rows: npt.ArrayLike, interior: npt.ArrayLike) -> Bool:
    """Return which rows are facets of the cone {w : rows·w ≤ 0}, (m,): the others may be left out.

    Of parallel rows the first counts. `interior` (d,) is any w with rows·w < 0 for every row that is not
    all zeros, for instance the weights of `largest_margin`. Clarkson's method [clarkson1994]: each row is
    tested against the facets known so far, not against all rows. A facet is seen if some w of it, |w_k| ≤ 1,
    could move by 1e-9 across it (rows at length 1) without leaving the cone of the others.
    """
    a, w = _matrix(rows, "rows"), np.asarray(interior, np.float64).reshape(-1)
    if w.shape != a.shape[1:]:
        raise LuthierError(f"expected an interior point of {a.shape[1]} numbers, found {len(w)}")
    unit, leaders = _grouped(a, 1e-12)
    candidates = np.flatnonzero(leaders == np.arange(len(a)))
    slack = -(unit[candidates] @ w)
    if not (slack > 0.0).all():
        row = candidates[int(np.argmin(slack))]
        raise LuthierError(f"expected a point with rows·w < 0 in every row, found {-slack.min():.3g} in row {row}")
    # A point in general position meets no two rows at once; a random one is, and stays inside.
    shifts = np.random.default_rng(len(a)).standard_normal((1 + 2 * len(w), len(w)))
    shifts /= np.sqrt((shifts * shifts).sum(axis=1, keepdims=True))
    w = w + 0.25 * slack.min(initial=1.0) * shifts[0]
    flags = np.zeros(len(a), np.int8)
    cone = facet_kernels.Cone(unit, candidates, flags)
    facet_kernels.find_facets(cone, w, shifts[1:].copy(), FACET_WIDTH, _make_state(len(w)), *_make_room(len(w)))
    for i in candidates[flags[candidates] == facet_kernels.OPEN]:  # the arithmetic gave up: ask with all other rows
        others = candidates[candidates != i]
        value = maximize(unit[others], np.zeros(len(others)), unit[i]).values[0]
        flags[i] = facet_kernels.FACET if value > FACET_WIDTH else facet_kernels.REDUNDANT
    return np.asarray(flags == facet_kernels.FACET)


def _grouped(a: Float64, tolerance: float) -> tuple[Float64, Int64]:
    """Return the rows at length 1 (or 0) and the lowest row of each one's direction."""
    lengths = np.sqrt((a * a).sum(axis=1, keepdims=True))
    unit = a / np.where(lengths > 0.0, lengths, 1.0)
    keys = unit @ np.cos(np.arange(a.shape[1]))  # any fixed projection: entries are at most 1
    leaders = np.empty(len(a), np.int64)
    facet_kernels.parallel_groups(unit, np.argsort(keys, kind="stable"), keys, tolerance, leaders)
    return unit, leaders


class MarginProblem:
    """A largest-margin problem to which rows are added; every answer starts from the last one."""

    def __init__(self, n_columns: int) -> None:
        self._rows = Rows(n_columns + 1, np.ones(n_columns + 1))
        self._state = _make_state(n_columns + 1)
        self._cold = True
        self._objective = np.zeros(n_columns + 1)
        self._objective[-1] = 1.0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: Float64) -> None:
        """Add rows, (r, d)."""
        reach = np.abs(rows).sum(axis=1).max(initial=1.0)
        if reach > self._rows.box[-1]:  # the margin's own bound must never decide
            self._rows.box[-1] = 2.0 * reach
            self._cold = True
        self._rows.add(np.column_stack([rows, np.ones(len(rows))]), np.zeros(len(rows)))

    def solve(self) -> Margin:
        """Return the largest margin over the rows so far."""
        d = len(self._objective)
        answers = _make_answers(1, d)
        kernels.maximize_many(
            self._rows.arrays(), self._objective[None], self._state, self._cold, *_make_room(d), answers
        )
        points, status, active, multipliers, pivots = answers
        self._cold = bool(status[0] != OPTIMAL)
        if self._cold:  # w = 0, t = 0 always fits: the arithmetic gave up
            a, b = self._rows.original()
            optima = Optima(np.empty(1), points, status, active, multipliers, pivots)
            _ask_highs(a, b, self._objective, self._rows.box, optima, 0)
        else:
            multipliers /= self._rows.lengths_of(active)
        point = points[0]
        chosen = (active[0] >= 0) & (multipliers[0] > 0.0)
        order = np.argsort(active[0][chosen], kind="stable")
        kept, shares = active[0][chosen][order], multipliers[0][chosen][order]
        return Margin(point[:-1].copy(), float(point[-1]), kept, shares / max(shares.sum(), 1e-300))


class Rows:
    """Constraints in the kernels' layout, of length 1 each; more can be added."""

    def __init__(self, d: int, box: Float64) -> None:
        self.box = box
        self._blocks = np.zeros((1, d, kernels.LANES))
        self._limits = np.full((1, kernels.LANES), np.inf)
        self._lengths = np.ones(0)

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, rows: Float64, limits: Float64) -> None:
        """Append rows, (r, d), and their limits, (r,). A row of zeros keeps its limit as it is."""
        first, last = len(self), len(self) + len(rows)
        self._make_room(-(-max(last, 1) // kernels.LANES))
        lengths = np.sqrt((rows * rows).sum(axis=1))
        lengths[lengths == 0.0] = 1.0
        at = np.arange(first, last)
        self._blocks[at // kernels.LANES, :, at % kernels.LANES] = rows / lengths[:, None]
        self._limits[at // kernels.LANES, at % kernels.LANES] = limits / lengths
        self._lengths = np.concatenate([self._lengths, lengths])

    def arrays(self) -> kernels.Problem:
        """Return the blocks in use, their limits, and the box."""
        n_blocks = max(-(-len(self) // kernels.LANES), 1)
        return kernels.Problem(self._blocks[:n_blocks], self._limits[:n_blocks], self.box)

    def original(self) -> tuple[Float64, Float64]:
        """Return rows and limits as they were, up to rounding."""
        blocks, limits, _ = self.arrays()
        rows = blocks.transpose(0, 2, 1).reshape(-1, blocks.shape[1])[: len(self)]
        return rows * self._lengths[:, None], limits.reshape(-1)[: len(self)] * self._lengths

    def lengths_of(self, constraints: Int64) -> Float64:
        """Return the length each constraint had; 1 for sides of the box."""
        if not len(self):
            return np.ones(constraints.shape)
        return np.where(constraints >= 0, self._lengths[np.maximum(constraints, 0)], 1.0)

    def _make_room(self, n_blocks: int) -> None:
        have = len(self._blocks)
        if n_blocks > have:
            larger = max(n_blocks, 2 * have)
            blocks = np.zeros((larger, *self._blocks.shape[1:]))
            limits = np.full((larger, kernels.LANES), np.inf)
            blocks[:have], limits[:have] = self._blocks, self._limits
            self._blocks, self._limits = blocks, limits


def _make_state(d: int) -> kernels.State:
    """Return the place of a basis."""
    return kernels.State(np.zeros(d, np.int64), np.zeros((d, d)), np.zeros(d), np.zeros(d), np.zeros(d))


def _make_room(d: int) -> tuple[kernels.Hot, kernels.Scratch]:
    """Return an empty hot store, and scratch."""
    lanes, most = kernels.LANES, kernels.HOT_BLOCKS
    hot = kernels.Hot(
        np.zeros((most, d, lanes)),
        np.full((most, lanes), np.inf),
        np.zeros(most * lanes, np.int64),
        np.zeros(1, np.int64),
    )
    return hot, kernels.Scratch(
        np.zeros(d), np.zeros(d), np.zeros(lanes), np.zeros(lanes), np.zeros(lanes, np.int64), np.zeros((d, d))
    )


def _make_answers(n: int, d: int) -> kernels.Answers:
    """Return room for the answers to n objectives."""
    return kernels.Answers(
        np.empty((n, d)),
        np.empty(n, np.int64),
        np.full((n, d + 1), -1, np.int64),
        np.zeros((n, d + 1)),
        np.empty(n, np.int64),
    )


def _ask_highs(
    a: Float64, b: Float64, c: Float64, box: Float64, optima: Optima, q: int, *, normalized: bool = True
) -> None:
    """Put HiGHS's answer to objective q where the kernel could not give one; rows are `normalized`, or as they are."""
    from scipy.optimize import linprog

    size = np.abs(c).max(initial=0.0) or 1.0
    lengths = np.sqrt((a * a).sum(axis=1))
    lengths[(lengths == 0.0) | (not normalized)] = (
        1.0  # HiGHS's tolerances are absolute, so it gets rows of length 1 too
    )
    result = linprog(
        -c / size, A_ub=a / lengths[:, None], b_ub=b / lengths, bounds=np.column_stack([-box, box]), method="highs"
    )
    optima.pivots[q] = -1
    optima.active[q], optima.multipliers[q] = -1, 0.0
    if result.status == 2:
        optima.status[q] = INFEASIBLE
        return
    if result.status != 0:
        raise LuthierError(
            f"neither our simplex nor HiGHS could solve a linear program of {len(a)} rows in {len(c)} unknowns: "
            f"{result.message}. hint: scale the features to like sizes"
        )
    optima.status[q], optima.points[q] = OPTIMAL, result.x
    shares = -np.asarray(result.ineqlin.marginals) * size / lengths
    largest = np.argsort(-shares, kind="stable")[: len(c) + 1]
    optima.active[q, : len(largest)] = np.where(shares[largest] > 0.0, largest, -1)
    optima.multipliers[q, : len(largest)] = np.maximum(shares[largest], 0.0)


def _matrix(values: npt.ArrayLike, name: str) -> Float64:
    array = np.asarray(values, np.float64)
    if array.ndim != 2 or not array.shape[1]:
        raise LuthierError(f"expected {name} as a table with at least one column, found the shape {array.shape}")
    if not np.isfinite(array).all():
        raise LuthierError(f"expected finite numbers in {name}, found {array[~np.isfinite(array)][0]}")
    return array


def _checked(rows: Any, limits: Any, objectives: Any, box: Any) -> tuple[Float64, Float64, Float64, Float64]:
    c = _matrix(np.atleast_2d(np.asarray(objectives, np.float64)), "objectives")
    d = c.shape[1]
    a = _matrix(np.asarray(rows, np.float64).reshape(-1, d) if np.size(rows) == 0 else rows, "rows")
    b = np.asarray(limits, np.float64).reshape(-1)
    sides = np.broadcast_to(np.asarray(box, np.float64), (d,)).copy()
    if a.shape != (len(b), d):
        raise LuthierError(f"expected rows of shape ({len(b)}, {d}) for {len(b)} limits, found {a.shape}")
    if np.isnan(b).any() or not (np.isfinite(sides) & (sides > 0.0)).all():
        raise LuthierError("expected limits that are numbers and a box that is positive and finite")
    return a, b, c, sides
