"""The questions of a reverse search in exact arithmetic, for the few cases where rounding leaves them open.

All functions take rows of whole numbers: the directions d_j of the edges at a vertex, in one common unit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from luthier.core.arrays import Int64

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
