"""Rows left out in place against rows taken into new arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.building.feature_rows import compact_features, compact_texts, compact_tokens
from luthier.kbest.features import Features

# Many rows are empty, and rows are left out in runs: then a span may stay where it is, or move by less than its length.
ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=40)


@settings(max_examples=60)
@given(ROWS, st.integers(0, 3))
def test_what_is_kept_is_what_take_would_have_taken(rows, width):
    keep = np.array([kept for _, _, kept in rows], np.bool_)
    kept = np.flatnonzero(keep)
    words = np.cumsum([0, *(n for n, _, _ in rows)])
    entries = np.cumsum([0, *(n for _, n, _ in rows)])

    def texts():
        return Texts(words.copy(), np.arange(words[-1]).astype(np.uint8))

    def tokens():
        return Tokens(words.copy(), np.arange(words[-1]).astype(np.int32))

    def features():
        dense = np.arange(float(len(rows) * width)).reshape(len(rows), width)
        columns = np.concatenate([np.zeros(0, np.int32), *(np.arange(n, dtype=np.int32) for _, n, _ in rows)])
        return Features(tuple("abcdef"[: width + 3]), dense, entries.copy(), columns, np.arange(float(entries[-1])))

    assert compact_texts(texts(), keep) == texts().take(kept)
    left, taken = compact_tokens(tokens(), keep), tokens().take(kept)
    assert (left.offsets.tolist(), left.ids.tolist()) == (taken.offsets.tolist(), taken.ids.tolist())
    rest, wanted = compact_features(features(), keep), features().take(kept)
    for name in ("dense", "indptr", "indices", "values"):
        assert np.array_equal(getattr(rest, name), getattr(wanted, name))
