"""The largest margin of many rows over many unknowns, by interior points; rows join as it goes.

The program is max t subject to a_i·w + c_i ≥ t for all rows, |w_k| ≤ 1. Its dual bounds every answer: for all λ ≥ 0,
Σλ = 1 no w has a margin above ‖Σ λ_i a_i‖₁ + Σ λ_i c_i. Without leads c_i a margin of 0 is always possible, and the
largest one where some λ make that sum 0: the rows contradict each other.

A step is one of Mehrotra's [mehrotra1992]: Newton's on the optimality conditions, predicted and corrected. It takes one
Cholesky factor, of as many unknowns as there are columns or rows, whichever are fewer. A simplex over a thousand
columns exchanges thousands of rows; this takes some dozen steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse

from luthier.core.arrays import Float64, Int64
from luthier.core.rng import make_rng
from luthier.geometry.lp._interior_kernels import weighed_gram

NEAR_THE_WALL = 0.99  # how far a step goes towards the first constraint that it would break
INSIDE = 0.9  # of the box, where steps begin anew
DAMPING = 1e-5  # of steps of w and λ, as if they cost something
RIDGE = 1e-14  # of the largest diagonal entry, where rounding leaves a matrix indefinite
CLOSED = 1e-10  # a gap between margin and bound, of rows of entries up to 1, that rounding leaves open
MOST_STEPS = 100
LEADS = 1e-3, 1e-5, 1e-7  # largest one of the program whose optimum is a corner
LARGE = 1e-6  # of the largest multiplier: so much is never what steps leave of 0
MOST_REPAIRS = 8
REFINEMENTS = 2
Solver = Callable[[Float64], Float64]


class MarginProgram:
    """The largest margin of rows, (m, n), to which rows are added.

    Attributes
    ----------
    rows : (m, n)
    leads : (m,)
    weights : (n,), inside the box
    margin : the least a_i·w + c_i of the rows so far
    bound : no w in the box has a larger margin
    multipliers : (m,), positive
    """

    def __init__(self, n_columns: int) -> None:
        self.rows = sparse.csr_array((0, n_columns))
        self.leads, self.multipliers = np.zeros(0), np.zeros(0)
        self.weights = np.zeros(n_columns)
        self.margin, self.bound = np.inf, np.inf

    def add(self, rows: sparse.csr_array | Float64, leads: Float64 | None = None) -> None:
        """Add rows; steps begin anew, from the weights that were found so far."""
        self.rows = sparse.csr_array(sparse.vstack([self.rows, sparse.csr_array(rows)], format="csr"))
        self.rows.sort_indices()
        self.leads = np.concatenate([self.leads, np.zeros(rows.shape[0]) if leads is None else leads])
        self.weights *= INSIDE / max(INSIDE, float(np.abs(self.weights).max(initial=0.0)))
        ahead = self.rows @ self.weights + self.leads
        self._t = float(ahead.min()) - (0.1 * float(np.abs(ahead).mean()) or 1.0)
        self._slacks = self._room()
        mu = 1.0 / float(np.sum(1.0 / self._slacks[0]))
        self.multipliers, *self._walls = (mu / slack for slack in self._slacks)
        self._judge()

    def _room(self) -> list[Float64]:
        """Return by how much w and t keep to each row and to both sides of the box."""
        return [self.rows @ self.weights + self.leads - self._t, 1.0 - self.weights, 1.0 + self.weights]

    def solve(self, enough: float) -> None:
        """Go on until the margin is this share of its bound, or the bound 0 but for rounding."""
        for _ in range(MOST_STEPS):
            if self.bound <= CLOSED or self.margin >= enough * self.bound:
                break
            self.step()

    def step(self) -> None:
        """Go one step towards the optimum.

        Slacks are kept beside w and t, since what rounding leaves of a difference can be 0; steps make up for that.
        """
        slacks, forces = self._slacks, [self.multipliers, *self._walls]
        missing = [room - slack for room, slack in zip(self._room(), slacks, strict=True)]
        soft = [x + give * y for x, y, give in zip(slacks, forces, (DAMPING, 0.0, 0.0), strict=True)]
        ratios = [y / x for x, y in zip(soft, forces, strict=True)]
        solve = self._factor(ratios[0], ratios[1] + ratios[2] + DAMPING)
        pull = self.rows.T @ ratios[0]
        along = solve(pull)
        sum_left = max(float(ratios[0].sum() - pull @ along), 1e-12 * float(ratios[0].sum()))

        def towards(aims: list[Float64]) -> tuple[list[Float64], list[Float64], Float64, float]:
            """Return the steps of slacks, multipliers, w and t; `aims` are products of slack and multiplier."""
            ends = [
                (aim + y * (x_soft - x - rest)) / x_soft
                for aim, x, x_soft, y, rest in zip(aims, slacks, soft, forces, missing, strict=True)
            ]
            alone = solve(self.rows.T @ ends[0] - ends[1] + ends[2])
            dt = float(1.0 - ends[0].sum() + pull @ alone) / sum_left
            dw = alone + dt * along
            moves = [self.rows @ dw - dt, -dw, dw]
            turns = [end - k * dx - y for end, k, dx, y in zip(ends, ratios, moves, forces, strict=True)]
            moves = [dx + rest for dx, rest in zip(moves, missing, strict=True)]
            moves[0] += DAMPING * turns[0]
            return moves, turns, dw, dt

        moves, turns, dw, dt = towards([np.zeros(len(x)) for x in slacks])
        products = math.fsum(float(x @ y) for x, y in zip(slacks, forces, strict=True))
        size = sum(map(len, slacks))
        far, near = _length(slacks, moves), _length(forces, turns)
        pairs = zip(slacks, moves, forces, turns, strict=True)
        left = math.fsum(float((x + far * dx) @ (y + near * dy)) for x, dx, y, dy in pairs)
        aim = products / size * min(1.0, max(left / products, 0.0)) ** 3
        moves, turns, dw, dt = towards([aim - dx * dy for dx, dy in zip(moves, turns, strict=True)])
        far, near = _length(slacks, moves), _length(forces, turns)
        self.weights, self._t = self.weights + far * dw, self._t + far * dt
        self._slacks = [x + far * dx for x, dx in zip(slacks, moves, strict=True)]
        self.multipliers, *self._walls = (y + near * dy for y, dy in zip(forces, turns, strict=True))
        self._judge()

    def _judge(self) -> None:
        total = float(self.multipliers.sum())
        self.margin = float((self.rows @ self.weights + self.leads).min())
        self.bound = float(np.abs(self.rows.T @ self.multipliers).sum() + self.leads @ self.multipliers) / total

    def _factor(self, stiff: Float64, box: Float64) -> Solver:
        """Return what solves (Aᵀ diag(stiff) A + diag(box)) x = y."""
        m, n = self.rows.shape
        if n <= m:
            return _solver(_gram(self.rows, stiff, box))
        inner = _solver(_gram(sparse.csr_array(self.rows.T), 1.0 / box, 1.0 / stiff))

        def solve(y: Float64) -> Float64:
            x = y / box
            return np.asarray(x - (self.rows.T @ inner(self.rows @ x)) / box)

        def refined(y: Float64) -> Float64:
            x = solve(y)
            for _ in range(REFINEMENTS):
                x = x + solve(y - self.rows.T @ (stiff * (self.rows @ x)) - box * x)
            return x

        return refined


def contradicting(program: MarginProgram) -> tuple[Int64, Float64]:
    """Return few rows of a program without a margin, and λ > 0, Σλ = 1, with a Σλa that is 0 but for rounding.

    Where rows have leads drawn at random, the best λ are a corner: of at most n + 1 rows, and with no other dependence.
    Leads must be so small that the box is not in the way; where none are, the program's own λ are taken, of all rows.
    """
    rows, shares = program.rows, program.multipliers
    drawn = make_rng(0).random(len(shares))
    for size in LEADS:
        other = MarginProgram(rows.shape[1])
        other.add(rows, size * drawn)
        for _ in range(MOST_STEPS):
            if other.bound - other.margin <= CLOSED * size:
                break
            other.step()
        if np.abs(rows.T @ other.multipliers).sum() <= CLOSED:
            shares = other.multipliers
            break
    used = _support(shares)
    return used, repaired(rows[used], shares[used])


def _support(shares: Float64) -> Int64:
    """Return which multipliers are more than what steps leave of 0: of small ones those before the deepest fall."""
    order = np.argsort(-shares, kind="stable")
    falling = shares[order]
    large = np.count_nonzero(falling > LARGE * falling[0])
    falls = falling[large - 1 : -1] / falling[large:]
    return np.sort(order[: large + int(np.argmax(falls))] if len(falls) else order)


def repaired(rows: sparse.csr_array, shares: Float64) -> Float64:
    """Return multipliers near to those given, positive and of sum 1, whose Σλa is as near to 0 as floats have it.

    Each repair is the least relative change that would make the sum 0.
    """
    scaled = sparse.csr_array(sparse.diags_array(shares) @ rows)
    m, n = rows.shape
    thin = scaled if n <= m else sparse.csr_array(scaled.T)
    ridge = 1e-12 * float(np.max((thin * thin).sum(axis=0)))
    solve = _solver(_gram(thin, np.ones(thin.shape[0]), np.full(thin.shape[1], ridge)))
    factors, least = np.ones(m), np.inf
    best = factors
    for _ in range(MOST_REPAIRS):
        rest = scaled.T @ factors
        size = float(np.abs(rest).sum() / (shares @ factors))
        if size >= least or factors.min() <= 0:
            break
        best, least = factors, size
        factors = factors - (scaled @ solve(rest) if n <= m else solve(scaled @ rest))
    return np.asarray(shares * best / (shares @ best))


def _gram(rows: sparse.csr_array, x: Float64, diagonal: Float64) -> Float64:
    """Return Σ x_i a_i a_iᵀ + diag(diagonal), its lower triangle."""
    if not rows.has_sorted_indices:
        rows.sort_indices()
    out = np.diag(diagonal)
    weighed_gram(rows.indptr, rows.indices, rows.data, x, out)
    return out


def _solver(matrix: Float64) -> Solver:
    diagonal, ridge = np.diagonal(matrix).copy(), 0.0
    while True:
        try:
            factor = linalg.cho_factor(matrix, lower=True, check_finite=False)
            return lambda y: np.asarray(linalg.cho_solve(factor, y, check_finite=False))
        except linalg.LinAlgError:
            ridge = max(100 * ridge, RIDGE)
            np.fill_diagonal(matrix, diagonal + ridge * diagonal.max())


def _length(values: list[Float64], steps: list[Float64]) -> float:
    """Return how much of the steps leaves all values positive, at most 1."""
    least = 1.0
    for value, step in zip(values, steps, strict=True):
        falling = step < 0
        if falling.any():
            least = min(least, NEAR_THE_WALL * float((value[falling] / -step[falling]).min()))
    return least
