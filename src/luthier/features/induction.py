"""What an induction is: a file in `methods/`, a class `Method` that says which columns a value fires, and how much."""

from __future__ import annotations

import abc
import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from luthier.core.arrays import Float64, Int64
from luthier.core.plugins import load
from luthier.features.bins import Bins, FeatureBins
from luthier.features.counts import Present

PACKAGE = "luthier.features.methods"
NONE = -1


class Fired(NamedTuple):
    """For V values up to W columns each: numbers of bins that ascend in a row (`NONE`: none), and values of these."""

    bins: Int64
    values: Float64


@dataclasses.dataclass(frozen=True)
class Induction(abc.ABC):
    """Base of all inductions.

    Attributes
    ----------
    by_bin
        Whether what a value fires depends on nothing but its bin.
    """

    by_bin: ClassVar[bool] = False

    @abc.abstractmethod
    def fire(self, values: Float64, bins: FeatureBins) -> Fired:
        """Return which of a feature's bins each value fires, (V, W); columns of a row ascend."""


def load_induction(name: str) -> Induction:
    """Return the induction of the given name."""
    method: Induction = load(PACKAGE, name)()
    return method


def fired_columns(bins: Bins, present: list[Present], n_rows: int) -> sparse.csr_array:
    """Return the (rows, bins) matrix of what fires, where each feature of `bins` is present in some rows."""
    induction = load_induction(bins.induction)
    parts: list[tuple[Int64, Fired, int]] = []  # rows, what they fire, of how many columns
    for feature, (has, seen) in zip(bins.features, present, strict=True):
        parts.append((has, induction.fire(seen, feature), len(feature)))
    number = {feature.feature: k for k, feature in enumerate(bins.features)}
    for pair in bins.pairs:
        has, both = both_present(*(present[number[feature.feature]] for feature in pair))
        parts.append((has, fire_both(induction, both, pair), len(pair[0]) * len(pair[1])))
    rows, columns, values, shift = [], [], [], 0
    for has, fired, width in parts:
        where, _ = kept = np.nonzero(fired.bins != NONE)
        rows.append(has[where])
        columns.append(fired.bins[kept] + shift)
        values.append(fired.values[kept])
        shift += width
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = sparse.csr_array(entries, shape=(n_rows, shift))
    matrix.sum_duplicates()
    return matrix


def both_present(first: Present, second: Present) -> tuple[Int64, tuple[Float64, Float64]]:
    """Return the rows that have two features, and the values of both; a feature that a row has twice has its first."""
    rows, a, b = np.intersect1d(first[0], second[0], return_indices=True)
    return rows, (first[1][a], second[1][b])


def fire_both(induction: Induction, values: tuple[Float64, Float64], bins: tuple[FeatureBins, FeatureBins]) -> Fired:
    """Return what the conjunction of two features fires: every bin of one with every bin of the other, as a product."""
    first, second = (induction.fire(seen, feature) for seen, feature in zip(values, bins, strict=True))
    n, width = len(values[0]), first.bins.shape[1] * second.bins.shape[1]
    columns = first.bins[:, :, None] * len(bins[1]) + second.bins[:, None, :]
    columns[(first.bins == NONE)[:, :, None] | (second.bins == NONE)[:, None, :]] = NONE
    return Fired(columns.reshape(n, width), (first.values[:, :, None] * second.values[:, None, :]).reshape(n, width))
