"""Segments of rows, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.segments import counts_in_segments, offsets_from_counts, rows_of_segments, segment_of_rows

counts = st.lists(st.integers(0, 4), max_size=8)


@given(counts)
def test_offsets_and_segments_of_rows(counts):
    offsets = offsets_from_counts(counts)
    assert offsets.tolist() == [sum(counts[:i]) for i in range(len(counts) + 1)]
    assert segment_of_rows(offsets).tolist() == [i for i, count in enumerate(counts) for _ in range(count)]


@given(counts.filter(len), st.data())
def test_rows_of_chosen_segments(counts, data):
    chosen = data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=6))
    offsets = offsets_from_counts(counts)
    expected = [row for s in chosen for row in range(offsets[s], offsets[s + 1])]
    assert rows_of_segments(offsets, chosen).tolist() == expected


@given(counts.filter(sum), st.data())
def test_counts_in_segments(counts, data):
    rows = sorted(data.draw(st.sets(st.integers(0, sum(counts) - 1))))
    offsets = offsets_from_counts(counts)
    expected = [sum(offsets[s] <= row < offsets[s + 1] for row in rows) for s in range(len(counts))]
    assert counts_in_segments(offsets, np.array(rows, dtype=np.int64)).tolist() == expected
