"""Hypotheses of one sentence that are the same: same words and (unless told otherwise) same numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.corpus.texts import Tokens
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool


def first_of_equals(pool: Pool, *, by_features: bool = True) -> Bool:
    """Return which rows are the first of their kind in their list, (M,).

    With `by_features` two rows are equal if words, features and columns are; without, if the words are.
    """
    return first_rows(pool.offsets, pool.features, pool.tokens, pool.columns, by_features=by_features)


def first_rows(
    offsets: Int64, f: Features, tokens: Tokens, columns: Mapping[str, Float64], *, by_features: bool = True
) -> Bool:
    """Return the same of the parts of a pool, before they are one."""
    given = np.column_stack(list(columns.values())) if by_features and columns else np.empty((len(f), 0))
    given = flat(np.where(np.isnan(given), np.nan, given))  # NaN has many bit patterns
    hashes = np.empty(len(f), dtype=np.uint64)
    bits = f.arrays._replace(dense=f.dense.view(np.uint64), values=f.values.view(np.uint64))
    kernels.hash_rows(tokens.offsets, tokens.ids, bits, given.view(np.uint64), by_features, hashes)
    longest = int(np.diff(offsets).max(initial=1))
    table = np.empty(1 << (2 * longest).bit_length(), dtype=np.int64)
    keep = np.empty(len(f), dtype=np.bool_)
    kernels.first_of_equals(
        flat(offsets), hashes, tokens.offsets, tokens.ids, f.arrays, given, by_features, table, keep
    )
    return keep


def drop_duplicates(pool: Pool, *, by_features: bool = True) -> Pool:
    """Return the pool without repeated hypotheses; the first of each kind stays."""
    keep = first_of_equals(pool, by_features=by_features)
    if keep.all():
        return pool
    what = "words, features and columns" if by_features else "words"
    dropped = int(np.count_nonzero(~keep))
    return pool.take(np.flatnonzero(keep)).noting("drop duplicates", equal=what, dropped=dropped)
