"""How many combinations of rows one vector can select together, at most: counted, not enumerated.

Each of N lists gives one row; Π K_i combinations (index vectors) can be named, K_i the rows of list i. Those
that some w selects in all lists at once are the vertices of the Minkowski sum of the lists' polytopes in D
dimensions [waite2015]. Bounds on their number V:

- Theorem 1, with 1 for the constant its O() leaves open: V ≤ (Σ K_i²)^(D−1), which is N^(D−1) K^(2(D−1)) for
  lists of one length.
- The cells of an arrangement of hyperplanes: two rows of a list change places across a hyperplane through
  the origin, there are m = Σ K_i (K_i − 1) / 2 of them, and they cut the space into at most
  2 Σ_{j<D} C(m − 1, j) cells. No constant is left open.
- The most vertices that a sum can have, for polytopes of K_i vertices in any position [weibel2012] [sanyal2009]: Π K_i
  for N < D lists, and else α + Σ_{j=1}^{D−1} (−1)^{D−1−j} C(N−1−j, D−1−j) Σ_{|I|=j} (Π_{i∈I} K_i − α), where α is 2
  for odd D and 0 for even D. If a list has three rows or more, it binds for every D up to the number of lists that
  have more than one row.
- Theorem 2: the sum has at most V (V − 1) / 2 edges.

All of it in whole numbers of any size. A bound *binds* while it is smaller than the number of index vectors;
where it does not, it says nothing: a selection may still be impossible.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError

# The rank of a list's differences, without a tolerance: the dimension of its affine hull.
#
# Every float64 is a whole number times a power of two, so that differences have a value modulo a prime. Rows that are
# independent modulo a prime are independent; the reverse fails for a prime only that divides a determinant. Two primes
# near 2³¹ are asked, and the higher rank is the answer: never too high, and too low by an accident of about 2⁻⁶².

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


LOG10_PERCENT = 2.0


@dataclasses.dataclass(frozen=True)
class Bound:
    """A bound on the vertices of a sum of N polytopes in D dimensions.

    Attributes
    ----------
    log10_vertices, log10_edges : float
        How many there are at most; the edges by Theorem 2 (−inf for none).
    log10_percent : float
        The share of index vectors that are vertices, at most; never more than 2.
    binds : bool
        Whether it is smaller than the number of index vectors.
    least_dimensions : int
        The least D at which it is not.
    """

    log10_vertices: float
    log10_edges: float
    log10_percent: float
    binds: bool
    least_dimensions: int


@dataclasses.dataclass(frozen=True)
class Counts:
    """What can be said of a set of lists from its sizes alone."""

    n_lists: int
    n_dimensions: int
    log10_index_vectors: float
    theorem: Bound
    arrangement: Bound
    tight: Bound


def count_bounds(lengths: Sequence[int], n_dimensions: int) -> Counts:
    """Return all bounds for lists of given lengths, each at least 1, in D dimensions, at least 1.

    >>> paper = count_bounds([1000] * 1502, 12)
    >>> round(paper.theorem.log10_percent, 1), paper.theorem.least_dimensions
    (-4403.1, 493)
    >>> round(paper.arrangement.log10_percent, 1), paper.arrangement.least_dimensions
    (-4413.7, 699)
    >>> round(paper.tight.log10_percent, 1), paper.tight.least_dimensions
    (-4443.7, 1503)
    """
    if n_dimensions < 1 or min(lengths, default=1) < 1:
        raise LuthierError(
            f"expected one dimension or more and lists of one row or more, found {n_dimensions} dimensions"
            f" and a list of {min(lengths, default=1)} rows"
        )
    sizes = [int(length) for length in lengths]
    vectors, base, planes = math.prod(sizes), theorem_base(sizes), n_hyperplanes(sizes)
    theorem = _bound(base ** (n_dimensions - 1), vectors, _least_power(base, vectors))
    arrangement = _bound(arrangement_cells(planes, n_dimensions), vectors, _least_arrangement(planes, vectors))
    tight = _bound(most_vertices(sizes, n_dimensions), vectors, _least_tight(sizes))
    return Counts(len(sizes), n_dimensions, math.log10(vectors), theorem, arrangement, tight)


def vertices_by_subsets(sums: Mapping[int, int], n_lists: int, n_dimensions: int) -> int:
    """Return the vertices of a sum of N ≥ D polytopes in general position, from those of sums of fewer than D of them.

    `sums` has for j = 1, …, D − 1 the vertices of all partial sums of j polytopes together. [weibel2012]

    >>> vertices_by_subsets({1: 3 + 4 + 5}, 3, 2)  # polygons: as many vertices as they have together
    12
    """
    alpha = 2 if n_dimensions % 2 else 0
    total = alpha
    for j in range(1, n_dimensions):
        sign = -1 if (n_dimensions - 1 - j) % 2 else 1
        times = math.comb(n_lists - 1 - j, n_dimensions - 1 - j)
        total += sign * times * (sums[j] - alpha * math.comb(n_lists, j))
    return total


def most_vertices(lengths: Sequence[int], n_dimensions: int) -> int:
    """Return the most vertices that a sum of polytopes with K_i vertices can have in D dimensions, exactly.

    >>> most_vertices([4, 5, 4], 3), most_vertices([4, 5], 3)
    (45, 20)
    """
    sizes = [length for length in lengths if length > 1]  # one row moves the sum, and changes nothing
    if len(sizes) < n_dimensions:
        return math.prod(sizes)
    products = [1] + [0] * (n_dimensions - 1)  # Σ over subsets of j lists of the product of their lengths
    for length in sizes:
        for j in range(n_dimensions - 1, 0, -1):
            products[j] += length * products[j - 1]
    return vertices_by_subsets(dict(enumerate(products)), len(sizes), n_dimensions)


def theorem_base(lengths: Sequence[int]) -> int:
    """Return Σ K_i², which Theorem 1 raises to the power D − 1."""
    return max(1, sum(length * length for length in lengths))


def n_hyperplanes(lengths: Sequence[int]) -> int:
    """Return m, the pairs of rows that can change places."""
    return sum(length * (length - 1) // 2 for length in lengths)


def arrangement_cells(planes: int, n_dimensions: int) -> int:
    """Return the most cells that m hyperplanes through the origin make in D dimensions, exactly.

    >>> arrangement_cells(3, 2), arrangement_cells(3, 3), arrangement_cells(0, 5)
    (6, 8, 1)
    """
    if not planes:
        return 1
    total, term = 0, 1
    for j in range(min(n_dimensions, planes)):  # C(m − 1, j) is 0 from j = m on
        total += term
        term = term * (planes - 1 - j) // (j + 1)
    return 2 * total


def _least_power(base: int, vectors: int) -> int:
    """Return the least D with base^(D−1) ≥ the index vectors; by bisection."""
    low, high = 0, 1  # exponents
    while base**high < vectors:  # base ≥ every K_i, and is 1 only where all of them are
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if base**middle >= vectors else (middle + 1, high)
    return low + 1


def _least_arrangement(planes: int, vectors: int) -> int:
    """Return the least D at which the arrangement's cells are as many as the index vectors.

    Each D adds one term to the sum, so one pass is cheaper than bisection. It ends: 2^(K(K−1)/2) ≥ K.
    """
    total, term, j = 0, 1, 0
    while 2 * total < vectors and j < planes:
        total += term
        term = term * (planes - 1 - j) // (j + 1)
        j += 1
    return max(1, j)


def _least_tight(lengths: Sequence[int]) -> int:
    """Return the least D at which the tight bound is the number of index vectors.

    For D = N it is Π K_i − Π (K_i − 1) + 1, which is less unless all lists have two rows; for D > N it is not.
    """
    sizes = [length for length in lengths if length > 1]
    return max(1, len(sizes) + (max(sizes, default=2) > 2))


def _bound(vertices: int, vectors: int, least: int) -> Bound:
    log10 = math.log10(vertices)
    edges = vertices * (vertices - 1) // 2
    return Bound(
        log10_vertices=log10,
        log10_edges=math.log10(edges) if edges else -math.inf,
        log10_percent=min(0.0, log10 - math.log10(vectors)) + LOG10_PERCENT,
        binds=vertices < vectors,
        least_dimensions=least,
    )
