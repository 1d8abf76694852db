"""What an induction is: a file in `methods/`, a class `Method` that says which columns a value fires, and how much."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Collection
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.plugins import load
from luthier.core.segments import offsets_from_counts
from luthier.features.bins import Bins, FeatureBins
from luthier.features.counts import TARGET_WORDS, Present, grammar_values, present_values, with_target_words
from luthier.grammar.grammar import Grammar
from luthier.kbest.features import Features, unknown_names
from luthier.kbest.groups import restrict_groups
from luthier.kbest.pool import Pool

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


# Bins → more columns: of a table of rules, of a pool with derivations, of a grammar; one arithmetic for all.

NO_DERIVATIONS = (
    "expected a pool that carries derivations, for bins of rules, found one without. "
    "hint: decode with derivations, or make bins of whole hypotheses"
)


def induce_features(features: Features, bins: Bins) -> Features:
    """Return a table with the columns of the bins behind its own, as groups; a row without a feature fires none.

    Features that their bins replace are left out. This is the way of a rule table, row by row; what whole hypotheses
    fire is the sum over their rules (`induce_pool`).
    """
    _check_names(bins, features.names)
    present = [present_values(features, feature.feature) for feature in bins.features]
    return append_columns(features, bins, fired_columns(bins, present, len(features)))


def induce_pool(pool: Pool, bins: Bins) -> Pool:
    """Return the pool whose hypotheses have the columns of the bins.

    Local bins look at each rule of a derivation, and a hypothesis sums what its rules fire; the rules keep their own
    features. Global bins look at the hypothesis' own value.
    """
    if bins.scope == "global":
        features = induce_features(pool.features, bins)
    else:
        fired = derivation_columns(pool, bins)
        features = append_columns(pool.features, bins, fired)
    return pool.with_features(features).noting(
        "induce",
        features=[feature.feature for feature in bins.features],
        induction=bins.induction,
        scope=bins.scope,
        columns=len(bins.names),
    )


def with_bins(pool: Pool, bins: Bins) -> Pool:
    """Return the pool with the columns of bins as groups: those it has already, or induced ones where it has none."""
    have = set(bins.names) & set(pool.features.names)
    if not have:
        return induce_pool(pool, bins)
    others = tuple(group for group in pool.features.groups if have.isdisjoint(group.columns))
    return pool.with_features(pool.features.group((*others, *restrict_groups(bins.groups, have))))


def derivation_columns(pool: Pool, bins: Bins) -> sparse.csr_array:
    """Return what the rules of each hypothesis fire together, (M, columns)."""
    derivations = pool.derivations
    if derivations is None:
        raise LuthierError(NO_DERIVATIONS)
    local = derivations.features
    if any(feature.feature == TARGET_WORDS for feature in bins.features):
        local = with_target_words(local, derivations.texts)
    _check_names(bins, local.names)
    present = [present_values(local, feature.feature) for feature in bins.features]
    fired = fired_columns(bins, present, len(local))
    uses = sparse.csr_array(
        (np.ones(len(derivations.rules)), derivations.rules, derivations.offsets),
        shape=(pool.n_hypotheses, len(local)),
    )
    summed = uses @ fired
    summed.sort_indices()
    return summed


def append_columns(features: Features, bins: Bins, fired: sparse.csr_array) -> Features:
    """Return a table with the columns of bins, (rows, columns), behind its own, less what the bins replace."""
    kept = [name for name in features.names if name not in bins.dropped]
    taken = sorted(set(kept) & set(bins.names))
    if taken:
        raise LuthierError(
            f"expected a table without the columns of these bins, found {taken[0]!r}. hint: were they induced before?"
        )
    base = features.select(kept)
    before, more = np.diff(base.indptr), np.diff(fired.indptr).astype(np.int64)
    indptr = offsets_from_counts(before + more)
    indices, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    old, new = _places(indptr[:-1], base.indptr), _places(indptr[:-1] + before, fired.indptr)
    indices[old], values[old] = base.indices, base.values
    indices[new], values[new] = fired.indices + (base.n_features - base.n_dense), fired.data
    replaced = {feature.feature for feature in bins.features}
    groups = tuple(group for group in base.groups if group.name not in replaced)
    return Features(
        (*base.names, *bins.names), base.dense, indptr, indices, values, base.costs, (*groups, *bins.groups)
    )


def _places(starts: Int64, offsets: Int64) -> Int64:
    """Return where the items of segments go that begin at `starts` instead of their offsets."""
    return np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], np.diff(offsets))


def _check_names(bins: Bins, names: Collection[str]) -> None:
    missing = [feature.feature for feature in bins.features if feature.feature not in names]
    if missing:
        raise LuthierError(f"the bins are of another table: {unknown_names(missing, tuple(names))}")


def induce_grammar(grammar: Grammar, bins: Bins) -> Grammar:
    """Return the grammar whose rules have the columns of the bins behind their features."""
    check_local(bins)
    _check_names(bins, (*grammar.feature_names, TARGET_WORDS))
    present: list[Present] = [grammar_values(grammar, feature.feature) for feature in bins.features]
    fired = fired_columns(bins, present, grammar.n_rules)
    dropped = np.array([name in bins.dropped for name in grammar.feature_names])
    taken = {name for name in grammar.feature_names if name not in bins.dropped} & set(bins.names)
    if taken:
        raise LuthierError(f"expected a grammar without the columns of these bins, found {min(taken)!r}")
    stays = ~dropped[grammar.feature_ids] if len(dropped) else np.zeros(0, dtype=bool)
    before = np.diff(np.concatenate([[0], np.cumsum(stays)])[grammar.feature_offsets])
    renumber = np.cumsum(~dropped) - 1
    names = tuple(name for name, out in zip(grammar.feature_names, dropped.tolist(), strict=True) if not out)
    offsets = offsets_from_counts(before + np.diff(fired.indptr))
    ids, values = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1])
    old = _places(offsets[:-1], offsets_from_counts(before))
    new = _places(offsets[:-1] + before, fired.indptr)
    ids[old], values[old] = renumber[grammar.feature_ids[stays]], grammar.feature_values[stays]
    ids[new], values[new] = fired.indices + len(names), fired.data
    return dataclasses.replace(
        grammar, feature_names=(*names, *bins.names), feature_offsets=offsets, feature_ids=ids, feature_values=values
    )


def check_local(bins: Bins) -> None:
    """Raise unless bins are of rules: a grammar has no hypotheses."""
    if bins.scope != "local":
        raise LuthierError("expected bins of rules for a grammar, found bins of whole hypotheses")
