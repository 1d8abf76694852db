"""The rank of a list's differences, without a tolerance: the dimension of its affine hull.

Every float64 is a whole number times a power of two, so that differences have a value modulo a prime. Rows that are
independent modulo a prime are independent; the reverse fails for a prime only that divides a determinant. Two
primes near 2³¹ are asked, and the higher rank is the answer: never too high, and too low by an accident of about 2⁻⁶².
"""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64

PRIMES = (2**31 - 1, 2**31 - 19)
AT_ONCE = 1 << 12


def exact_rank(points: Float64, offsets: Int64 | None = None) -> int:
    """Return the rank of all differences ``h_j − h_i`` within lists, (M, D); of one list if there are no offsets.

    >>> exact_rank(np.array([[0.5, 1.5, 1.0], [2.0, 3.0, 1.0], [0.1, 1.1, 1.0]]))
    2
    """
    offsets = np.array([0, len(points)]) if offsets is None else offsets
    return max(_rank(points, offsets, prime) for prime in PRIMES)


def _rank(points: Float64, offsets: Int64, prime: int) -> int:
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    basis: list[tuple[int, Int64]] = []  # pivot column, row with 1 there and 0 at the pivots before
    low, step = 0, 2 * points.shape[1]
    while low < len(points) and len(basis) < points.shape[1]:
        high = min(low + step, len(points))
        firsts, of = np.unique(starts[low:high], return_inverse=True)
        rest = (_residues(points[low:high], prime) - _residues(points[firsts], prime)[of]) % prime
        for column, row in basis:
            rest = _without(rest, column, row, prime)
        while True:
            some = np.flatnonzero(rest.any(axis=1))
            if not len(some):
                break
            new = rest[some[0]]
            column = int(np.flatnonzero(new)[0])
            row = new * pow(int(new[column]), -1, prime) % prime
            basis.append((column, row))
            rest = _without(rest[some], column, row, prime)
        low, step = high, AT_ONCE
    return len(basis)


def _without(rows: Int64, column: int, row: Int64, prime: int) -> Int64:
    return np.asarray((rows - rows[:, column, None] * row % prime) % prime, np.int64)


def _residues(values: Float64, prime: int) -> Int64:
    """Return floats modulo a prime: the mantissa as a whole number, times a power of 2, which has an inverse."""
    mantissas, exponents = np.frexp(values)
    whole = np.ldexp(mantissas, 53).astype(np.int64) % prime
    kinds, of = np.unique(exponents, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, prime) for e in kinds], np.int64)
    return np.asarray(whole * powers[of].reshape(values.shape) % prime, np.int64)
