# mypy: ignore-errors
"""Kernels that tell by how much weights select the corners of lists, and whether rounding could change that."""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel


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
