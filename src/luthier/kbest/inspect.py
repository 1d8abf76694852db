"""What is in a pool: ranges, constants and redundancies of features, lengths and repeats of lists."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.html import Shown
from luthier.core.segments import segment_blocks, segment_of_rows
from luthier.kbest.features import Features
from luthier.kbest.merge import first_of_equals
from luthier.kbest.pool import Pool

ROWS_AT_ONCE = 1 << 16
# Beyond so many features the search for linear relations looks at the first ones only.
RELATION_LIMIT = 256
BLOCK_ROWS = 1 << 12
# A column is a combination of others if what remains of it is this small beside its own spread.
RELATION_TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True)
class FeatureSummary:
    """One feature over all M hypotheses.

    `constant` means the same value everywhere; `constant_in_lists` the same within each list, so that
    it can never change which hypothesis wins. `relation` names the features it is a combination of.
    """

    name: str
    storage: str
    kind: str
    low: float
    high: float
    mean: float
    zeros: float
    constant: bool
    constant_in_lists: bool
    relation: str


@dataclasses.dataclass(frozen=True)
class PoolSummary(Shown):
    """What `luthier inspect` shows; `groups` are the features that were cut into bins, and how many each has."""

    n_sentences: int
    n_hypotheses: int
    n_features: int
    n_empty: int
    list_lengths: dict[str, float]
    words: dict[str, float]
    repeated_hypotheses: int
    repeated_texts: int
    n_references: dict[str, int]
    vocabulary: int
    columns: tuple[str, ...]
    stats: tuple[str, ...]
    groups: dict[str, int]
    megabytes: float
    features: tuple[FeatureSummary, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)


def inspect(pool: Pool) -> PoolSummary:
    """Return a summary of a pool."""
    lengths, references = pool.list_lengths, pool.references
    per_sentence = np.zeros(0, np.int64) if references is None else np.diff(references.offsets)
    return PoolSummary(
        n_sentences=pool.n_sentences,
        n_hypotheses=pool.n_hypotheses,
        n_features=pool.n_features,
        n_empty=int(np.count_nonzero(lengths == 0)),
        list_lengths=_spread(lengths),
        words=_spread(pool.tokens.lengths),
        repeated_hypotheses=int(np.count_nonzero(~first_of_equals(pool))),
        repeated_texts=int(np.count_nonzero(~first_of_equals(pool, by_features=False))),
        n_references={"min": int(per_sentence.min()), "max": int(per_sentence.max())}
        if len(per_sentence)
        else {"min": 0, "max": 0},
        vocabulary=len(pool.vocab),
        columns=tuple(pool.columns),
        stats=tuple(pool.stats),
        groups={group.name: len(group.columns) for group in pool.features.groups},
        megabytes=pool.nbytes / 1e6,
        features=summarize_features(pool),
    )


def _spread(values: Int64) -> dict[str, float]:
    if not len(values):
        return {"min": 0, "median": 0, "mean": 0.0, "max": 0}
    return {
        "min": int(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "max": int(values.max()),
    }


def summarize_features(pool: Pool) -> tuple[FeatureSummary, ...]:
    """Return the summary of every feature."""
    f, m = pool.features, pool.n_hypotheses
    ranges = _dense_ranges(pool)
    low, high, mean, nonzero = _column_extremes(f, ranges)
    fixed = _fixed_in_lists(pool, ranges)
    relations = _relations(pool, ranges)
    return tuple(
        FeatureSummary(
            name=name,
            storage="dense" if d < f.n_dense else "sparse",
            kind="cost" if name in f.costs else "score",
            low=float(low[d]),
            high=float(high[d]),
            mean=float(mean[d]),
            zeros=1.0 - float(nonzero[d]) / m if m else 0.0,
            constant=bool(low[d] == high[d]),
            constant_in_lists=bool(fixed[d]),
            relation=relations.get(name, ""),
        )
        for d, name in enumerate(f.names)
    )


def _dense_ranges(pool: Pool) -> tuple[Float64, Float64]:
    """Return the lowest and the highest value of each dense feature in each list that is not empty."""
    dense, starts = pool.features.dense, pool.offsets[:-1][pool.list_lengths > 0]
    if not len(starts):
        return np.zeros((0, dense.shape[1])), np.zeros((0, dense.shape[1]))
    return np.minimum.reduceat(dense, starts, axis=0), np.maximum.reduceat(dense, starts, axis=0)


def _column_extremes(f: Features, ranges: tuple[Float64, Float64]) -> tuple[Float64, Float64, Float64, Int64]:
    """Return lowest, highest, mean value and count of non-zeros of each feature; absent counts 0."""
    m, n_sparse = len(f), f.n_features - f.n_dense
    if not m:
        zero = np.zeros(f.n_features)
        return zero, zero, zero, zero.astype(np.int64)
    units = _units(f, ranges)  # the sum of values near the largest number there is has no number
    present = np.bincount(f.indices, minlength=n_sparse)
    low, high = np.where(present < m, 0.0, np.inf), np.where(present < m, 0.0, -np.inf)
    np.minimum.at(low, f.indices, f.values)
    np.maximum.at(high, f.indices, f.values)
    values = f.values / units[f.n_dense :][f.indices]
    total = np.bincount(f.indices, weights=values, minlength=n_sparse)
    dense, sums = f.dense, np.zeros(f.n_dense)
    for first in range(0, m, ROWS_AT_ONCE):  # scaled copies of some rows only
        sums = np.vstack([sums, dense[first : first + ROWS_AT_ONCE] / units[: f.n_dense]]).sum(axis=0)
    mean = np.concatenate([sums / m, total / m]) * units
    return (
        np.concatenate([ranges[0].min(axis=0), low]),
        np.concatenate([ranges[1].max(axis=0), high]),
        mean,
        np.concatenate([np.count_nonzero(dense, axis=0), present]),
    )


def _units(f: Features, ranges: tuple[Float64, Float64]) -> Float64:
    """Return for each feature a power of two at its largest value, (D,): dividing by it rounds nothing."""
    largest = np.zeros(f.n_features)
    largest[: f.n_dense] = np.maximum(ranges[1].max(axis=0, initial=0.0), -ranges[0].min(axis=0, initial=0.0))
    np.maximum.at(largest[f.n_dense :], f.indices, np.abs(f.values))
    exponents = np.frexp(largest)[1].clip(-900, 1023)
    return np.where(largest > 0, np.ldexp(1.0, exponents), 1.0)


def _fixed_in_lists(pool: Pool, ranges: tuple[Float64, Float64]) -> Bool:
    """Return which features never differ between two hypotheses of one sentence."""
    f = pool.features
    fixed = np.ones(f.n_features, dtype=np.bool_)
    fixed[: f.n_dense] = (ranges[0] == ranges[1]).all(axis=0)
    if len(f.indices):
        fixed[f.n_dense :] = _fixed_sparse(pool)
    return fixed


def _fixed_sparse(pool: Pool) -> Bool:
    """As `_fixed_in_lists`, for the sparse part: (sentence, feature) groups, all rows with one value."""
    f = pool.features
    n_sparse = f.n_features - f.n_dense
    entry_rows = np.repeat(np.arange(len(f)), np.diff(f.indptr))
    segments = segment_of_rows(pool.offsets)[entry_rows]
    keys = segments * n_sparse + f.indices
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    values = f.values[order]
    counts = np.diff(np.append(starts, len(values)))
    full = counts == pool.list_lengths[segments[order[starts]]]
    alike = np.maximum.reduceat(values, starts) == np.minimum.reduceat(values, starts)
    fixed = np.ones(n_sparse, dtype=np.bool_)
    fixed[f.indices[order[starts]][~(full & alike)]] = False
    return fixed


def linear_relations(pool: Pool) -> dict[str, str]:
    """Return the features that are, up to a constant per sentence, combinations of others before them.

    Within each list the mean is taken off first: a constant per sentence cannot change a winner. The
    Gram matrix of what remains is reduced column by column (modified Gram–Schmidt, in the order of
    the features), so that the first of a redundant set counts as given and later ones as derived.
    """
    return _relations(pool, _dense_ranges(pool))


def _relations(pool: Pool, ranges: tuple[Float64, Float64]) -> dict[str, str]:
    f = pool.features
    if not len(f):
        return {}
    units = _units(f, ranges)
    gram = _centred_gram(pool, units)
    scale = np.sqrt(np.diag(gram))
    fixed = _fixed_in_lists(pool, ranges)  # what rounding leaves of them is no direction
    basis: list[int] = []
    found: dict[str, str] = {}
    for d in range(len(gram)):
        if fixed[d] or scale[d] == 0:
            continue
        if basis:
            correlations = gram / np.outer(scale, scale).clip(min=np.finfo(float).tiny)
            target = correlations[:, d][basis]
            coefficients = np.linalg.lstsq(correlations[np.ix_(basis, basis)], target, rcond=None)[0]
            if 1.0 - coefficients @ target < RELATION_TOLERANCE:
                terms = coefficients * (scale[d] / scale[basis]) * (units[d] / units[basis])
                found[f.names[d]] = _formula(terms, coefficients, [f.names[b] for b in basis])
                continue
        basis.append(d)
    return found


def _centred_gram(pool: Pool, units: Float64) -> Float64:
    """Return Σ (h − mean of its list)(h − mean)ᵀ, (d, d), of the first d ≤ RELATION_LIMIT features in their units."""
    f = pool.features
    if f.n_features > RELATION_LIMIT:
        f = f.select(f.names[:RELATION_LIMIT])
    gram = np.zeros((f.n_features, f.n_features))
    for first, last in segment_blocks(pool.offsets, BLOCK_ROWS):
        start, stop = pool.offsets[first], pool.offsets[last]
        block = np.zeros((stop - start, f.n_features))
        block[:, : f.n_dense] = f.dense[start:stop]
        entries = slice(f.indptr[start], f.indptr[stop])
        rows = np.repeat(np.arange(stop - start), np.diff(f.indptr[start : stop + 1]))
        block[rows, f.n_dense + f.indices[entries]] = f.values[entries]
        block /= units[: f.n_features]
        counts = np.diff(pool.offsets[first : last + 1])
        counts = counts[counts > 0]
        means = np.add.reduceat(block, np.cumsum(counts) - counts) / counts[:, None]
        block -= np.repeat(means, counts, axis=0)
        gram += block.T @ block
    return gram


def _formula(terms: Float64, shares: Float64, names: list[str]) -> str:
    """Return the sum of the terms that matter: `shares` are the same in units in which all features vary alike."""
    matter = np.abs(shares) > 1e-6 * np.abs(shares).max(initial=0.0)
    parts = [f"{terms[i]:+.4g}·{names[i]}" for i in np.flatnonzero(matter)]
    return " ".join(parts[:4]) + (" …" if len(parts) > 4 else "")
