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
    rows, columns, values, shift = [], [], [], 0
    for feature, (has, seen) in zip(bins.features, present, strict=True):
        fired = induction.fire(seen, feature)
        where, _ = kept = np.nonzero(fired.bins != NONE)
        rows.append(has[where])
        columns.append(fired.bins[kept] + shift)
        values.append(fired.values[kept])
        shift += len(feature)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix = sparse.csr_array(entries, shape=(n_rows, shift))
    matrix.sum_duplicates()
    return matrix
