"""Exact multipliers of a few vectors that cancel, where floats have found which they are.

A linear programme in rationals spends its time on exchanges. Where floats already ended at the right basis, one
elimination without fractions (Bareiss) gives the same proof; where they did not, its answer has a wrong sign, and is
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd


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
