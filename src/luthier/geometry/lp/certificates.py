"""What proves that a selection is feasible, or that it is not, and how such a proof is checked exactly.

A selection names a row i_s of each list s. It is *feasible* if some w has w·(h_j − h_i) < 0 for every other
vector h_j of every list. Either there is such a w, or (Gordan [gordan1873]) some of the differences cancel:
λ ≥ 0, Σλ = 1, Σ λ_j (h_j − h_i) = 0; then w·(h_j − h_i) < 0 for all of them would sum to 0 < 0. Both are checked
in rational arithmetic, on the floats' exact values.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.geometry.lp.rational import dot, exact_difference

UNIT = 2.0**-53


@dataclasses.dataclass(frozen=True, eq=False)
class Feasible:
    """One weight vector selects every wanted vector, strictly.

    Attributes
    ----------
    weights : (D,) float64
        The w of the largest margin, |w_k| ≤ 1. Where that is so small that floats cannot judge it, a w with at
        least half of it, as far as floats can hold such a w.
    margin : float
        The least w·(h_i − h_j) over all rows h_j ≠ h_i; inf if there are none.
    rows : (N,) int64
        The selection with each row replaced by the lowest one that equals it, −1 where nothing is selected.
    representable : bool
        Whether a float64 re-rank with `weights` is certain to select `rows`, in whatever order a decoder adds the
        products up. If not, no rounding to floats of the weights that do was found: the cone is thinner than that.
    exact : tuple of Fraction
        Weights that were proved to select the vectors; the values of `weights` where it is representable.
    """

    weights: Float64
    margin: float
    rows: Int64
    representable: bool
    exact: tuple[Fraction, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Infeasible:
    """No weight vector does: these few constraints contradict each other.

    Attributes
    ----------
    lists, rows : (n,) int64
        Row j of list s, which the selected row of that list would have to beat; n ≤ D + 1.
    multipliers : (n,) float64
        λ > 0, Σλ = 1, with Σ λ_j (h_j − h_i) = 0.
    exact : tuple of Fraction
        The same λ without rounding: the sum is 0 exactly, or `epsilon` says how far it is from 0.
    epsilon : float
        0, or an upper bound of Σ_k |Σ_j λ_j (h_j − h_i)_k| / s_k with s_k the largest difference of feature k. No
        weights with |w_k| s_k ≤ 1 then have a margin above it: the least of the margins is at most their mean by λ.
    """

    lists: Int64
    rows: Int64
    multipliers: Float64
    exact: tuple[Fraction, ...]
    epsilon: float = 0.0


def proves_feasible(weights: tuple[Fraction, ...], offsets: Int64, features: Float64, selection: Int64) -> bool:
    """Return whether the weights select the given rows, by exact comparison with every other row.

    Floats pass over the rows first: a sum of D products of rounded weights is wrong by less than 2 (D + 4) roundings of
    the sum of their sizes, in any order. What they leave open is compared without rounding.
    """
    rounded = np.array([float(value) for value in weights])
    unit, tiny = 2.0 * (len(rounded) + 4) * UNIT, 2.0**-1000
    for s, i in enumerate(selection.tolist()):
        if i < 0:
            continue
        rows = features[offsets[s] : offsets[s + 1]]
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = rows @ rounded - features[i] @ rounded
            sizes = np.abs(rows) @ np.abs(rounded) + np.abs(features[i]) @ np.abs(rounded)
            clear = gaps < -unit * sizes - tiny
        for row in rows[~clear]:
            difference, _ = exact_difference(row, features[i])
            if any(difference) and dot(weights, difference) >= 0:
                return False
    return True


def proves_infeasible(proof: Infeasible, offsets: Int64, features: Float64, selection: Int64) -> bool:
    """Return whether the multipliers are a contradiction among rows of the lists they name, exactly."""
    total = [Fraction(0)] * features.shape[1]
    for s, j, share in zip(proof.lists.tolist(), proof.rows.tolist(), proof.exact, strict=True):
        if not (offsets[s] <= j < offsets[s + 1] and share > 0):
            return False
        difference, scale = exact_difference(features[j], features[selection[s]])
        if not any(difference):
            return False
        total = [t + share * scale * g for t, g in zip(total, difference, strict=True)]
    return sum(proof.exact) == 1 and not any(total)


def sorted_proof(lists: Int64, rows: Int64, exact: tuple[Fraction, ...]) -> Infeasible:
    """Return the proof by ascending row."""
    order = np.argsort(rows, kind="stable")
    shares = tuple(exact[place] for place in order)
    return Infeasible(lists[order], rows[order], np.array([float(share) for share in shares]), shares)
