"""The questions of a reverse search in exact arithmetic, for the few cases where rounding leaves them open.

All functions take rows of whole numbers: the directions d_j of the edges at a vertex, in one common unit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.geometry.equilibration import balanced
from luthier.geometry.lp.lp import largest_margin
from luthier.geometry.lp.rational import exact_difference
from luthier.geometry.polytopes.counting import exact_rank

Row = Sequence[int]
Point = list[Fraction]

PERTURBATION = 1 << 20  # size of the whole numbers a perturbation is drawn from


def exact_rows(numbers: Int64) -> list[list[int]]:
    """Return an array as Python's whole numbers, which do not overflow."""
    return [[int(value) for value in row] for row in numbers]


def nearest_to_origin(rows: Sequence[Row]) -> Point | None:
    """Return the point of conv(rows) nearest to the origin; None if that is the origin.

    Wolfe's method [wolfe1976]; in exact arithmetic every step goes down, so that it ends. For the result x the
    vector −x has a product below 0 with every row; None means that no vector has.
    """
    held = [min(range(len(rows)), key=lambda j: dot(rows[j], rows[j]))]
    weights = [Fraction(1)]
    while True:
        x = _combined(rows, held, weights)
        square = dot(x, x)
        if not square:
            return None
        lowest = min(range(len(rows)), key=lambda j: dot(x, rows[j]))
        if dot(x, rows[lowest]) >= square:
            return x
        held.append(lowest)
        weights.append(Fraction(0))
        while True:
            shares = _flat_nearest([rows[j] for j in held])
            if all(share > 0 for share in shares):
                weights = shares
                break
            step = min(w / (w - share) for w, share in zip(weights, shares, strict=True) if share <= 0 and w > share)
            moved = [w + step * (share - w) for w, share in zip(weights, shares, strict=True)]
            held = [j for j, value in zip(held, moved, strict=True) if value > 0]
            weights = [value for value in moved if value > 0]


def dot(one: Sequence[Fraction | int], other: Sequence[Fraction | int]) -> Fraction:
    """Return the product of two vectors."""
    return Fraction(sum(a * b for a, b in zip(one, other, strict=True)))


def first_wall(
    rows: Sequence[Row], classes: Sequence[int], x: Point, goal: Sequence[Fraction], seed: bytes
) -> int | None:
    """Return the class of the wall that a walk from −x to `goal` meets first; None if it meets none.

    Where it meets several at one point, −x is moved by an infinitely small amount in a direction drawn from
    `seed`, then in a second, and so on: walls that are not parallel are told apart by one of them.
    """
    towards = [dot(goal, row) for row in rows]
    ahead = [j for j in range(len(rows)) if towards[j] > 0]
    if not ahead:
        return None
    ahead = _least(ahead, [dot(x, row) / t if t > 0 else Fraction(0) for row, t in zip(rows, towards, strict=True)])
    for direction in _directions(len(goal), seed):
        if len({classes[j] for j in ahead}) == 1:
            break
        slopes = {j: dot(direction, rows[j]) / towards[j] for j in ahead}
        ahead = _least(ahead, slopes)
    return classes[ahead[0]]


def _least(among: list[int], values: Sequence[Fraction] | dict[int, Fraction]) -> list[int]:
    least = min(values[j] for j in among)
    return [j for j in among if values[j] == least]


def _directions(n_dims: int, seed: bytes) -> list[list[int]]:
    """Return perturbations that depend on a vertex alone; enough of them to span the space, surely."""
    drawn = np.random.default_rng(int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest()))
    return exact_rows(drawn.integers(-PERTURBATION, PERTURBATION, size=(n_dims + 8, n_dims)))


def _combined(rows: Sequence[Row], held: Sequence[int], weights: Sequence[Fraction]) -> Point:
    return [Fraction(sum(w * rows[j][i] for j, w in zip(held, weights, strict=True))) for i in range(len(rows[0]))]


def _flat_nearest(points: Sequence[Row]) -> list[Fraction]:
    """Return the affine shares of the point nearest to the origin in the plane of independent points."""
    base, n = points[0], len(points) - 1
    spans = [[a - b for a, b in zip(point, base, strict=True)] for point in points[1:]]
    system = [[dot(one, other) for other in spans] + [-dot(one, base)] for one in spans]
    for i in range(n):
        pivot = next(k for k in range(i, n) if system[k][i])
        system[i], system[pivot] = system[pivot], system[i]
        for k in range(n):
            if k != i and system[k][i]:
                factor = system[k][i] / system[i][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    shares = [system[i][n] / system[i][i] for i in range(n)]
    return [1 - sum(shares, Fraction(0)), *shares]


def is_positive_combination(target: Row, rows: Sequence[Row]) -> bool:
    """Return whether a vector is a sum of independent others with factors of 0 or more.

    Elimination without fractions [bareiss1968] on one equation for each coordinate.
    """
    n, system = len(rows), [[*column] for column in zip(*rows, target, strict=True)]
    before = 1
    for i in range(n):
        pivot = next((k for k in range(i, len(system)) if system[k][i]), None)
        if pivot is None:
            return False
        system[i], system[pivot] = system[pivot], system[i]
        top = system[i]
        for k in range(len(system)):
            if k != i:
                row = system[k]
                system[k] = [(top[i] * a - row[i] * b) // before for a, b in zip(row, top, strict=True)]
        before = top[i]
    # now factor i is system[i][n] / system[i][i], and nothing may be left in the other equations
    return not any(row[n] for row in system[n:]) and all(row[n] * row[i] >= 0 for i, row in enumerate(system[:n]))


def rank_columns(points: Int64) -> list[int]:
    """Return columns in which differences of whole-numbered points, (K, D), are as independent as in all."""
    basis: list[tuple[int, list[Fraction]]] = []
    for row in exact_rows(points[1:] - points[0]):
        rest: list[Fraction] = [Fraction(value) for value in row]
        for column, member in basis:
            if rest[column]:
                factor = rest[column] / member[column]
                rest = [a - factor * b for a, b in zip(rest, member, strict=True)]
        pivot = next((i for i, value in enumerate(rest) if value), None)
        if pivot is not None:
            basis.append((pivot, rest))
            if len(basis) == points.shape[1]:
                break
    return sorted(column for column, _ in basis)


# Vertices of one list where rounding leaves them open, or one far row makes all others look alike.
#
# A row that is exactly a combination of others is no vertex. Any other is one if its normal cone has a width: if some
# w, |w_k| ≤ 1, has ``w·d ≤ −10⁻⁹ ‖d‖`` for all differences d to other rows, in units in which the columns are of like
# size. Each difference is measured by its own length, so that it does not matter how far away another row is; what a
# rounded sum of other columns adds to a list has no width.

MARGIN = 1e-9
# A list's image is wrong by less than this, in units of its longest vector.
WRONG = 1e-10
CLEARLY = 1e-6  # shares of rows in a combination that rounding cannot make negative


def settle_vertices(points: Float64, image: Float64, found: Bool, supports: Int64) -> Int64:
    """Return which of K distinct points, (K, D), are vertices, ascending.

    Parameters
    ----------
    image : (K, rank)
        The same list in coordinates of its affine hull, rounded.
    found : (K,)
        Those that some direction makes highest by a clear margin.
    supports : (K, rank+1)
        Rows that a point which was not found seems to lie between, −1 for none.
    """
    inside = np.flatnonzero(~found)
    thicker = image.shape[1] < np.count_nonzero(np.ptp(points, axis=0)) and image.shape[1] < exact_rank(points)
    open_ones = inside if thicker else inside[~_clearly_inside(image, inside, supports[inside])]
    candidates = np.sort(np.concatenate([np.flatnonzero(found), open_ones]))
    kept = found.copy()
    units = np.ldexp(1.0, balanced(np.array([0, len(points)]), points)[1]) if len(open_ones) else 1.0
    for i in open_ones.tolist():
        if not _lies_between(points, i, supports[i][supports[i] >= 0]):
            kept[i] = _width(points[candidates[candidates != i]] - points[i], units) > MARGIN
        if not kept[i]:  # nothing lies farther out because of it
            candidates = candidates[candidates != i]
    return np.flatnonzero(kept)


def _width(steps: Float64, units: Float64 | float) -> float:
    """Return how wide the cone ``steps·w < 0`` is, at most 1."""
    rows = steps / units
    return largest_margin(rows / np.linalg.norm(rows, axis=1, keepdims=True)).margin


def _lies_between(points: Float64, i: int, support: Int64) -> bool:
    """Return whether point i is exactly a combination, with shares of 0 or more, of independent others."""
    if len(support) < 2:
        return False
    *steps, last = (exact_difference(points[j], points[i])[0] for j in support.tolist())
    return is_positive_combination([-value for value in last], steps)


def _clearly_inside(image: Float64, rows: Int64, supports: Int64) -> Bool:
    """Return which rows lie inside a simplex of rank + 1 others by more than rounding can move them."""
    inside = np.zeros(len(rows), np.bool_)
    full = np.flatnonzero(np.all(supports >= 0, axis=1))
    if not len(full):
        return inside
    rank = image.shape[1]
    steps = image[supports[full]] - image[rows[full]][:, None]  # (n, rank+1, rank)
    systems = np.ones((len(full), rank + 1, rank + 1))
    systems[:, :rank] = steps.transpose(0, 2, 1)
    solvable = np.linalg.cond(systems) < CLEARLY / WRONG / 100
    goal = np.zeros((rank + 1, 1))
    goal[-1] = 1.0
    shares = np.linalg.solve(systems[solvable], np.broadcast_to(goal, (int(solvable.sum()), rank + 1, 1)))[..., 0]
    inside[full[solvable]] = np.all(shares > CLEARLY * 100, axis=1)
    return inside
