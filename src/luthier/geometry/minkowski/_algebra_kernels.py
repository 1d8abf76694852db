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

# Kernels that tell by how much weights select the corners of lists, and whether rounding could change that.

# mypy: ignore-errors


class Rows(NamedTuple):
    """All rows of all lists, (M, D), in the features' own units; the first and last row of each active list, (S, 2)."""

    features: np.ndarray
    ends: np.ndarray


class Corners(NamedTuple):
    """Of corners: their edges, and how near the nearest other row is, in units of the longest edge; of lists: units."""

    edge_first: np.ndarray
    directions: np.ndarray
    nearest: np.ndarray
    rows: np.ndarray
    units: np.ndarray  # (S, D): the features' units of each list's grid


@kernel
def lead_over_all(rows, row, low, high, weights):
    """Return by how much a row's score is above that of any row of its list that is not equal to it."""
    least = math.inf
    for j in range(low, high):
        gap, same = 0.0, True
        for i in range(len(weights)):
            step = rows[row, i] - rows[j, i]
            same &= step == 0.0
            gap += step * weights[i]
        if not same:
            least = min(least, gap)
    return least


@kernel
def judge(weights, selections, corners, rows, rounding, margins, certain):
    """Write for V vertices the least lead of a selected corner along an edge, and whether all leads are certain.

    A lead is certain if it is above Σ |w_i| rounding[s, i]. A row at the distance r from its corner is a combination of
    edges whose shares sum to r over the longest edge or more, so that its lead is at least that part of the
    edges' least; where this leaves the question open, all rows of the list are looked at.
    """
    n_dims = weights.shape[1]
    for v in range(len(weights)):
        margins[v], certain[v] = math.inf, True
        for s in range(selections.shape[1]):
            c, least, bound = selections[v, s], math.inf, 0.0
            for e in range(corners.edge_first[c], corners.edge_first[c + 1]):
                lead = 0.0
                for i in range(n_dims):
                    lead -= weights[v, i] * corners.units[s, i] * corners.directions[e, i]
                least = min(least, lead)
            margins[v] = min(margins[v], least)
            for i in range(n_dims):
                bound += abs(weights[v, i]) * rounding[s, i]
            if certain[v] and not least * corners.nearest[c] > bound:
                low, high = rows.ends[s, 0], rows.ends[s, 1]
                certain[v] = lead_over_all(rows.features, corners.rows[c], low, high, weights[v]) > bound


# mypy: ignore-errors


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
    """The constraints of a vertex: columns (D, most), lengths, products, classes, edges (−2 − r: limit r)."""

    rows: np.ndarray
    norms: np.ndarray
    products: np.ndarray
    classes: np.ndarray
    edges: np.ndarray


class Workspace(NamedTuple):
    """Arrays for projections onto a few columns: which are held, their weights and shares, vectors, Q and R."""

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
def make_workspace(n_dims):
    """Return room for projections."""
    return Workspace(
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
