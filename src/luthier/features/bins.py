"""The bins of some features: what an induction, a penalty, a picture and a file look at."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from luthier.core.arrays import Float64, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.segments import offsets_from_counts
from luthier.features import _bin_kernels as kernels
from luthier.features.counts import ValueCounts, first_printed
from luthier.kbest.groups import FeatureGroup, Groups

# Uniform-population binning: distinct values with frequencies → contiguous bins of like population [clark2014].

MOST_BINS = 1 << 16
MOST_MASS = 1 << 58  # sums of masses, and what a cut costs, stay far below the end of int64
# The exact program keeps a number for each value and bin: so many are half a gigabyte.
MOST_CELLS = 1 << 27


@dataclasses.dataclass(frozen=True, eq=False)
class Partition:
    """How n values, in their order, are cut into K bins.

    Attributes
    ----------
    starts : (K+1,) int64
        Bin j has the values ``starts[j]:starts[j+1]``.
    populations : (K,) int64
        Its instances.
    capped : (K,) float64
        The same where no value counts more than one bin's worth.
    ideal : float
        One bin's worth.
    """

    starts: Int64
    populations: Int64
    capped: Float64
    ideal: float

    def __post_init__(self) -> None:
        for name in ("starts", "populations", "capped"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def error(self) -> float:
        """The mean difference of a bin's capped population from the ideal, as a share of the ideal."""
        return float(np.abs(self.capped - self.ideal).mean() / self.ideal)


def cap(frequencies: Int64, n_bins: int) -> tuple[Int64, int, int]:
    """Return whole masses, one bin's worth of them, and by how much both are too large: masses / scale are f̄.

    f̄_i = min(f_i, u) with u = Σ f̄ / N: of the k largest frequencies nothing but u counts, so u = R_k / (N − k), where
    R_k sums the others, for the least k at which none of the others exceeds u. Masses are f̄·(N − k).

    >>> cap(np.array([1, 1, 98]), 2)
    (array([1, 1, 2]), 2, 1)
    """
    largest = np.sort(frequencies)[::-1]
    left = int(frequencies.sum()) - np.concatenate([[0], np.cumsum(largest[: n_bins - 1])])  # R_0 … R_{N−1}
    k = int(np.argmax(largest[:n_bins] * (n_bins - np.arange(n_bins)) <= left))
    scale, ideal = n_bins - k, int(left[k])
    return np.minimum(frequencies * scale, ideal), ideal, scale


def cut_values(frequencies: Int64, n_bins: int, *, exact: bool = False) -> Partition:
    """Cut values with the given frequencies, (n,) above 0 in the order of the values, into min(N, n) bins.

    The greedy fill of the paper, or, if `exact`, the cut whose mean |b̄_j − u| is the least. Nothing but the frequencies
    is looked at, so any strictly increasing transform of a feature has the same bins.
    """
    frequencies = flat(np.asarray(frequencies, dtype=np.int64))
    if frequencies.ndim != 1 or not len(frequencies) or frequencies.min() < 1:
        raise LuthierError("expected at least one value, each with a frequency above 0")
    if not 1 <= n_bins <= MOST_BINS:
        raise LuthierError(f"expected from 1 to {MOST_BINS} bins, found {n_bins}")
    n_bins = min(n_bins, len(frequencies))
    if float(frequencies.sum()) * n_bins**2 > MOST_MASS:
        raise LuthierError(f"expected fewer than {MOST_MASS // n_bins**2} instances in {n_bins} bins, found more")
    masses, ideal, scale = cap(frequencies, n_bins)
    ends = np.empty(n_bins, dtype=np.int64)
    if exact:
        _cut_exactly(masses, ideal, ends)
    else:
        kernels.fill_bins(flat(masses), ideal, ends)
    starts = np.concatenate([[0], ends])
    return Partition(
        starts,
        np.add.reduceat(frequencies, starts[:-1]),
        np.add.reduceat(masses, starts[:-1]) / scale,
        float(Fraction(ideal, scale)),
    )


def _cut_exactly(masses: Int64, ideal: int, ends: Int64) -> None:
    n, n_bins = len(masses), len(ends)
    if n * n_bins > MOST_CELLS:
        raise LuthierError(
            f"expected at most {MOST_CELLS:,} pairs of a value and a bin for the exact cut, found {n:,} values and "
            f"{n_bins:,} bins. hint: fill them from the left, or ask for at most {MOST_CELLS // n:,} bins"
        )
    choices = np.empty((n_bins, n + 1), dtype=np.int32)
    kernels.best_bins(flat(offsets_from_counts(masses)), ideal, choices, ends)


Scope = Literal["local", "global"]
SCOPES: tuple[Scope, ...] = ("local", "global")
NAME_DIGITS = (6, 9, 12)
MOST_CONJOINED = 1 << 20


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureBins:
    """K bins of one feature, lowest first.

    Attributes
    ----------
    feature : str
    names : K names of the columns that the bins become
    lows, highs : (K,) float64
        The lowest and the highest value that was seen in each.
    means : (K,) float64
        The mean over its instances.
    populations, capped : (K,) int64, (K,) float64
        Instances; and the same where no value counts more than one bin's worth.
    n_values : int
        Distinct values that were seen.
    wanted : int
        Bins asked for.
    error : float
        Mean difference of the capped populations from the ideal, as a share of the ideal.
    keep : bool
        Whether the feature itself stays beside its bins.
    """

    feature: str
    names: tuple[str, ...]
    lows: Float64
    highs: Float64
    means: Float64
    populations: Int64
    capped: Float64
    n_values: int
    wanted: int
    error: float
    keep: bool = False

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) != len(self.names):
            raise LuthierError(f"expected different names of the bins of {self.feature!r}, found {self.names[:5]}")
        for field in ("lows", "highs", "means", "capped", "populations"):
            kind = np.int64 if field == "populations" else np.float64
            array = frozen(np.ascontiguousarray(getattr(self, field), dtype=kind))
            if array.shape != (len(self.names),) or not np.isfinite(array).all():
                raise LuthierError(f"expected a finite number for each bin of {self.feature!r} as its {field}")
            object.__setattr__(self, field, array)
        if (self.lows > self.highs).any() or (self.highs[:-1] >= self.lows[1:]).any():
            j = int(np.argmax(np.append(self.highs[:-1] >= self.lows[1:], True) | (self.lows > self.highs)))
            raise LuthierError(
                f"expected bins of {self.feature!r} that ascend and do not overlap, found {self.names[j]!r} from "
                f"{self.lows[j]:g} to {self.highs[j]:g}"
                + (f" before {self.lows[j + 1]:g}" if j + 1 < len(self.names) else "")
            )

    def __len__(self) -> int:
        return len(self.names)

    @functools.cached_property
    def edges(self) -> Float64:
        """Where the second bin and each later one begins, (K−1,): a value is in the bin of the next lower seen one."""
        return np.array([first_printed(low) for low in self.lows[1:].tolist()])

    def place(self, values: Float64) -> Int64:
        """Return the bin of each value, unseen ones included; what lies below all is in the lowest."""
        return np.searchsorted(self.edges, values, side="right")

    @property
    def group(self) -> FeatureGroup:
        """The columns of the bins, in their order."""
        return FeatureGroup(self.feature, self.names)


@dataclasses.dataclass(frozen=True, eq=False)
class Bins(Shown):
    """The bins of some features, and how columns are made of them.

    Attributes
    ----------
    features : tuple of FeatureBins
    scope : "local" or "global"
        Whether each rule of a derivation is looked at, or the whole hypothesis.
    induction : str
        A method of `luthier.features.methods`: which columns a value fires.
    exact : bool
        Whether bins are of the least error, or filled from the left.
    origin : JSON-able mapping
        Where the values came from.
    conjunctions : tuple of pairs of features
        What has both fires a column for the two bins together, besides those of each.
    """

    features: tuple[FeatureBins, ...]
    scope: Scope = "local"
    induction: str = "indicator"
    exact: bool = False
    origin: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    conjunctions: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", MappingProxyType(dict(self.origin)))
        if not self.features:
            raise LuthierError("expected the bins of at least one feature, found none")
        if self.scope not in SCOPES:
            raise LuthierError(f"expected bins of the scope local or global, found {self.scope!r}")
        owner: dict[str, str] = {}
        for feature in self.features:
            if feature.feature in owner.values():
                raise LuthierError(f"expected the bins of each feature once, found those of {feature.feature!r} twice")
            for name in feature.names:
                if name in owner:
                    raise LuthierError(
                        f"expected names that differ, found {name!r} of {owner[name]!r} and of {feature.feature!r}"
                    )
                owner[name] = feature.feature
        self._check_conjunctions(owner)

    def _check_conjunctions(self, owner: Mapping[str, str]) -> None:
        known = set(owner.values())
        for pair in self.conjunctions:
            if len(set(pair)) != 2 or not set(pair) <= known:
                raise LuthierError(
                    f"expected pairs of different features that have bins, found {pair[0]!r} and {pair[1]!r}"
                )
        if len({frozenset(pair) for pair in self.conjunctions}) != len(self.conjunctions):
            raise LuthierError("expected each conjunction of two features once, found one twice")
        pairs = [conjoined_names(*pair) for pair in self.pairs]
        if sum(map(len, pairs)) > MOST_CONJOINED:
            raise LuthierError(f"expected at most {MOST_CONJOINED:,} columns of conjunctions, found more")
        if len({*owner, *(name for names in pairs for name in names)}) != len(self.names):
            raise LuthierError("expected names that differ, found a conjunction that has the name of another column")

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON in short: where values came from, and how each feature is cut."""
        cut = [{"feature": f.feature, "bins": len(f), "values": f.n_values, "error": f.error} for f in self.features]
        return {"origin": dict(self.origin), "features": cut}

    @property
    def pairs(self) -> tuple[tuple[FeatureBins, FeatureBins], ...]:
        """The bins of the features of each conjunction."""
        by_name = {feature.feature: feature for feature in self.features}
        return tuple((by_name[first], by_name[second]) for first, second in self.conjunctions)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of all bins, feature by feature, and then those of conjunctions."""
        single = tuple(name for feature in self.features for name in feature.names)
        return single + tuple(name for pair in self.pairs for name in conjoined_names(*pair))

    @property
    def groups(self) -> Groups:
        """Which columns are the ordered bins of one feature."""
        return tuple(feature.group for feature in self.features)

    @property
    def dropped(self) -> frozenset[str]:
        """The features that their bins replace."""
        return frozenset(feature.feature for feature in self.features if not feature.keep)


def conjoined_names(first: FeatureBins, second: FeatureBins) -> tuple[str, ...]:
    """Return the columns of a conjunction: all bins of the second with the first bin of the first, and so on."""
    return tuple(f"{a}&{b}" for a in first.names for b in second.names)


def bin_feature(
    feature: str,
    seen: ValueCounts,
    n_bins: int,
    *,
    exact: bool = False,
    keep: bool = False,
    taken: Collection[str] = (),
) -> FeatureBins:
    """Cut a feature into bins; `taken` are names that no bin may have."""
    if not len(seen.values):
        raise LuthierError(f"expected a feature that some rule has, found none with {feature!r}")
    partition = cut_values(seen.counts, n_bins, exact=exact)
    starts = partition.starts
    lows, highs = seen.values[starts[:-1]], seen.values[starts[1:] - 1]
    sums = np.add.reduceat(seen.values * seen.counts, starts[:-1])
    means = np.clip(sums / partition.populations, lows, highs)
    return FeatureBins(
        feature,
        bin_names(feature, lows, highs, taken),
        lows,
        highs,
        means,
        partition.populations,
        partition.capped,
        len(seen.values),
        n_bins,
        partition.error,
        keep,
    )


def bin_names(feature: str, lows: Float64, highs: Float64, taken: Collection[str] = ()) -> tuple[str, ...]:
    """Return ``Feature_low_high`` for each bin, ``Feature_value`` where both are one value.

    Numbers have six digits, more where two names would be one; a name that is taken gets ~2, ~3, … behind it.

    >>> bin_names("C_F", np.array([1.0, 2.0]), np.array([1.0, 9.0]))
    ('C_F_1', 'C_F_2_9')
    """
    ends = list(zip(lows.tolist(), highs.tolist(), strict=True))
    names: list[str] = []
    for digits in NAME_DIGITS:
        texts = [[f"%.{digits}g" % value for value in dict.fromkeys(pair)] for pair in ends]
        names = ["_".join([feature, *dict.fromkeys(text)]) for text in texts]
        if len(set(names)) == len(names):
            break
    known, unlike = set(taken), []
    for name in names:
        free, number = name, 2
        while free in known:
            free, number = f"{name}~{number}", number + 1
        known.add(free)
        unlike.append(free)
    return tuple(unlike)
