# mypy: ignore-errors
"""Kernels of small dense algebra for cones: the edges at a vertex, nearest points, projections onto a few columns.

Symbols: a vertex is a corner for each of S lists. Its cone is ``{w : w·d_j < 0}`` over the m edges d_j that
leave those corners; the columns of `rows` (D, m) are the d_j, of lengths `norms`. Edges of one direction
share a *class*, a number; limits of the search, which are no edges, have that of edges with their direction,
or a number below 0. A point inside a cone is kept as x = −w, so that all ``x·d_j`` are positive.
Coordinates of edges are whole multiples of one power of two, so small that differences of them are exact.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

EPS = 2.0**-52


class Lists(NamedTuple):
    """Edges of all lists: where those of a corner begin, their classes, directions (E, D) and lengths."""

    edge_first: np.ndarray
    edge_class: np.ndarray
    directions: np.ndarray
    lengths: np.ndarray


class Limits(NamedTuple):
    """Limits of a search, (R, D), and the class of each."""

    rows: np.ndarray
    classes: np.ndarray


class Edges(NamedTuple):
    """Room for the constraints of a vertex: columns (D, most), lengths, products, classes, edges (limit r: −2 − r)."""

    rows: np.ndarray
    norms: np.ndarray
    products: np.ndarray
    classes: np.ndarray
    edges: np.ndarray


class Room(NamedTuple):
    """Room for projections onto a few columns: which are held, their weights and shares, vectors, Q and R."""

    held: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    vectors: np.ndarray
    basis: np.ndarray
    triangle: np.ndarray


@kernel
def make_edges(n_dims, most):
    """Return room for the constraints of a vertex."""
    return Edges(
        np.empty((n_dims, most)), np.empty(most), np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64)
    )


@kernel
def make_room(n_dims):
    """Return room for projections."""
    return Room(
        np.empty(n_dims + 2, np.int64), np.empty(n_dims + 2), np.empty(n_dims + 2), np.empty((4, n_dims)),
        np.empty((n_dims + 2, n_dims)), np.empty((n_dims + 2, n_dims + 2)),
    )  # fmt: skip


@kernel
def gather(selection, lists, limits, at):
    """Write the constraints of a vertex, and of the limits; return how many there are."""
    n_dims, n = lists.directions.shape[1], 0
    for s in range(len(selection)):
        for e in range(lists.edge_first[selection[s]], lists.edge_first[selection[s] + 1]):
            for i in range(n_dims):
                at.rows[i, n] = lists.directions[e, i]
            at.norms[n], at.classes[n], at.edges[n] = lists.lengths[e], lists.edge_class[e], e
            n += 1
    for r in range(len(limits.rows)):
        total = 0.0
        for i in range(n_dims):
            at.rows[i, n] = limits.rows[r, i]
            total += limits.rows[r, i] * limits.rows[r, i]
        at.norms[n], at.classes[n], at.edges[n] = math.sqrt(total), limits.classes[r], -2 - r
        n += 1
    return n


@kernel
def multiply(rows, m, x, out):
    """Write x·d_j for all j."""
    if rows.shape[0] == 3:  # in one pass
        a, b, c = x[0], x[1], x[2]
        for j in range(m):
            out[j] = a * rows[0, j] + b * rows[1, j] + c * rows[2, j]
        return
    first = x[0]
    for j in range(m):
        out[j] = first * rows[0, j]
    for i in range(1, rows.shape[0]):
        factor = x[i]
        for j in range(m):
            out[j] += factor * rows[i, j]


@inner_kernel
def length(x):
    """Return ‖x‖."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return math.sqrt(total)


@kernel
def orthogonalize(basis, triangle, q, vector):
    """Add a column to a QR decomposition of q columns, orthogonalised twice; return its share that is new."""
    size = length(vector)
    for k in range(len(vector)):
        basis[q, k] = vector[k]
    for i in range(q):
        triangle[i, q] = 0.0
    for _ in range(2):
        for i in range(q):
            product = 0.0
            for k in range(len(vector)):
                product += basis[i, k] * basis[q, k]
            triangle[i, q] += product
            for k in range(len(vector)):
                basis[q, k] -= product * basis[i, k]
    rest = length(basis[q])
    triangle[q, q] = rest
    if rest > 0.0:
        for k in range(len(vector)):
            basis[q, k] /= rest
    return rest / size if size > 0.0 else 0.0


@kernel
def back_solve(basis, triangle, q, target, solution):
    """Write the least-squares solution of ``Q R y = target`` for q columns."""
    for i in range(q - 1, -1, -1):
        total = 0.0
        for k in range(len(target)):
            total += basis[i, k] * target[k]
        for j in range(i + 1, q):
            total -= triangle[i, j] * solution[j]
        solution[i] = total / triangle[i, i]


@kernel
def drop_behind(held, weights, shares, q):
    """Move from `weights` towards `shares` until the first is 0, drop what is 0; return how many stay."""
    step = 1.0
    for c in range(q):
        if shares[c] <= 0.0 and weights[c] - shares[c] > 0.0:
            step = min(step, weights[c] / (weights[c] - shares[c]))
    kept = 0
    for c in range(q):
        value = weights[c] + step * (shares[c] - weights[c])
        if shares[c] > 0.0 or value > 1e-14:
            held[kept], weights[kept] = held[c], max(value, 0.0)
            kept += 1
    return kept if kept < q else q - 1
