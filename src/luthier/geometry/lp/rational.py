"""Exact arithmetic for small systems of strict inequalities: every float64 is a rational number.

Given rational vectors g_1 … g_k, exactly one of two things is true (Gordan's alternative [gordan1873]): some w has
g_j·w < 0 for all j, or some λ ≥ 0 with Σλ = 1 has Σ λ_j g_j = 0. `ExactMargin` decides which, without rounding, by
the same dual simplex as `_lp_kernels` on

    max t  subject to  g_j·w + t ≤ 0,  |w_k| ≤ 1.

The inverse of the basis is kept as whole numbers over their common denominator, the determinant; a pivot
divides exactly, so numbers stay as short as determinants are [bareiss1968]. It is meant for some dozens of
rows, or hundreds: it settles what floats cannot.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from luthier.core.arrays import Float64

# Exact multipliers of a few vectors that cancel, where floats have found which they are.
#
# A linear program in rationals spends its time on exchanges. Where floats already ended at the right basis, one
# elimination without fractions (Bareiss) gives the same proof; where they did not, its answer has a wrong sign, and is
# none.


def cancelling(vectors: Sequence[Sequence[int]]) -> tuple[Fraction, ...] | None:
    """Return λ > 0, Σλ = 1, with Σ λ_i v_i = 0, if the vectors have exactly one dependence and it is such; else None.

    >>> cancelling([[2, 0], [-1, 1], [-1, -1]])
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    >>> cancelling([[1, 0], [0, 1]]) is None
    True
    """
    rows = [list(coordinate) for coordinate in zip(*vectors, strict=True)]  # an equation for each coordinate
    n, columns = len(vectors), _triangular(rows)
    if len(columns) != n - 1:
        return None
    free = next(column for column in range(n) if column not in set(columns))
    # by Cramer's rule all shares are whole numbers if that of the free column is the last pivot
    shares = [0] * n
    shares[free] = rows[n - 2][columns[-1]] if columns else 1
    for r in range(n - 2, -1, -1):
        column, row = columns[r], rows[r]
        shares[column] = -sum(row[k] * shares[k] for k in range(column + 1, n)) // row[column]
    if shares[free] < 0:
        shares = [-share for share in shares]
    if min(shares) <= 0:
        return None
    total, common = sum(shares), gcd(*shares)
    return tuple(Fraction(share // common, total // common) for share in shares)


def _triangular(rows: list[list[int]]) -> list[int]:
    """Bring equations to a staircase, in place; return the column of each step. Every division is exact."""
    columns: list[int] = []
    previous = 1
    for column in range(len(rows[0])):
        done = len(columns)
        filled = [r for r in range(done, len(rows)) if rows[r][column]]
        if not filled:
            continue
        at = min(filled, key=lambda r: abs(rows[r][column]))
        rows[done], rows[at] = rows[at], rows[done]
        top, pivot = rows[done], rows[done][column]
        for r in range(done + 1, len(rows)):
            row, factor = rows[r], rows[r][column]
            rest = (
                (pivot * x - factor * y) // previous for x, y in zip(row[column + 1 :], top[column + 1 :], strict=True)
            )
            rows[r] = [*row[:column], 0, *rest]
        previous = pivot
        columns.append(column)
    return columns


MOST_GREEDY = 300  # pivots by the largest violation; then by the lowest index, which cannot cycle


@dataclasses.dataclass(frozen=True)
class Separated:
    """Some w has g_j·w < 0 for all j: this one, which has g_j·w ≤ −margin, the largest there is for |w_k| ≤ 1."""

    weights: tuple[Fraction, ...]
    margin: Fraction


@dataclasses.dataclass(frozen=True)
class Cancelled:
    """The vectors with these indices, times these positive multipliers of sum 1, add up to 0."""

    indices: tuple[int, ...]
    multipliers: tuple[Fraction, ...]


def exact_difference(row: Float64, other: Float64) -> tuple[list[int], Fraction]:
    """Return ``row − other`` without rounding, as whole numbers without a common divisor times a scale > 0.

    >>> exact_difference(np.array([0.5, 2.0]), np.array([0.25, 2.5]))
    ([1, -2], Fraction(1, 4))
    """
    ratios = [(a.as_integer_ratio(), b.as_integer_ratio()) for a, b in zip(row.tolist(), other.tolist(), strict=True)]
    common = max((max(p[1], q[1]) for p, q in ratios), default=1)  # denominators are powers of two
    whole = [p[0] * (common // p[1]) - q[0] * (common // q[1]) for p, q in ratios]
    divisor = math.gcd(*whole) or 1
    return [number // divisor for number in whole], Fraction(divisor, common)


def settle(vectors: Sequence[Sequence[int]]) -> Separated | Cancelled:
    """Decide Gordan's alternative for integer vectors, at least one, all of the same length.

    >>> settle([[1, 1], [-2, -2]])
    Cancelled(indices=(0, 1), multipliers=(Fraction(2, 3), Fraction(1, 3)))
    """
    problem = ExactMargin(len(vectors[0]))
    problem.add([(list(vector), Fraction(1)) for vector in vectors])
    return problem.solve()


def dot(weights: Sequence[Fraction | int], vector: Sequence[int]) -> Fraction:
    """Return w·g without rounding."""
    return sum((Fraction(w) * g for w, g in zip(weights, vector, strict=True)), Fraction(0))


class ExactMargin:
    """A largest-margin problem without rounding, to which vectors are added; answers start from the last one.

    A basis is d = D + 1 constraints: vector j ≥ 0, or −1 − 2k and −2 − 2k for the sides of unknown k. The rows
    (p·g, q), for a vector g·p/q, are whole numbers; `inverse` / `scale` is the inverse of the basis. The objective
    is the last unknown, so the last row of `inverse` are the multipliers, in units of 1 / `scale`.
    """

    def __init__(self, n_columns: int) -> None:
        d = n_columns + 1
        self.rows: Any = np.zeros((0, d), dtype=object)
        self.sides = [1] * d
        self.basis = [-1 - 2 * k for k in range(d)]
        self.limits = list(self.sides)
        self.inverse: Any = np.array([[int(k == r) for r in range(d)] for k in range(d)], dtype=object)
        self.scale = 1

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, vectors: Sequence[tuple[Sequence[int], Fraction]]) -> None:
        """Add vectors, each as whole numbers times a positive scale."""
        rows = [[*(int(g) * size.numerator for g in vector), size.denominator] for vector, size in vectors]
        if not len(self.rows) and rows:  # the margin's own bound: one vector alone allows less
            self.sides[-1] = self.limits[-1] = 1 + sum(map(abs, rows[0][:-1])) // rows[0][-1]
        self.rows = np.concatenate([self.rows, np.array(rows, dtype=object).reshape(-1, self.rows.shape[1])])

    def solve(self) -> Separated | Cancelled:
        """Decide for the vectors so far, at least one."""
        pivots = 0
        while True:
            x = self.inverse.dot(np.array(self.limits, dtype=object))  # in units of 1 / scale
            if x[-1] <= 0:  # the bound on the margin: these multipliers prove that it is 0
                used = sorted((j, y) for j, y in zip(self.basis, self.inverse[-1].tolist(), strict=True) if y > 0)
                shares = (Fraction(y * self.rows[j, -1], self.scale) for j, y in used)
                return Cancelled(tuple(j for j, _ in used), tuple(shares))
            entering = self._violated(x, greedy=pivots < MOST_GREEDY)
            if entering is None:
                return Separated(tuple(Fraction(v, self.scale) for v in x[:-1].tolist()), Fraction(x[-1], self.scale))
            self._exchange(entering)
            pivots += 1

    def _violated(self, x: Any, *, greedy: bool) -> int | None:
        for k in range(len(x) - 1, -1, -1):
            if abs(x[k]) > self.sides[k] * self.scale:
                return -1 - 2 * k if x[k] > 0 else -2 - 2 * k
        excess = self.rows.dot(x)
        if greedy:
            worst = max(range(len(excess)), key=lambda j: Fraction(excess[j], self.rows[j, -1]))
            return worst if excess[worst] > 0 else None
        return next((j for j, v in enumerate(excess) if v > 0), None)

    def _exchange(self, entering: int) -> None:
        if entering >= 0:
            alpha, limit = self.rows[entering].dot(self.inverse), 0
        else:
            k, odd = divmod(-1 - entering, 2)
            alpha, limit = self.inverse[k] * (-1 if odd else 1), self.sides[k]
        y = self.inverse[-1]
        rising = [r for r in range(len(alpha)) if alpha[r] > 0]  # never empty: w = 0, t = 0 fits all rows
        out = min(rising, key=lambda r: (Fraction(y[r], alpha[r]), self.basis[r]))
        column = self.inverse[:, out].copy()
        self.inverse = (self.inverse * alpha[out] - np.outer(column, alpha)) // self.scale
        self.inverse[:, out] = column
        self.scale = alpha[out]
        self.basis[out], self.limits[out] = entering, limit
