"""Arrays that grow, and arrays that nobody can change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.arrays import GrowingArray, flat, frozen


@given(st.lists(st.lists(st.integers(-9, 9), max_size=700), max_size=8))
def test_a_growing_array_is_the_concatenation(parts):
    growing = GrowingArray(np.int32)
    for part in parts:
        growing.append(np.array(part, dtype=np.int32))
    assert len(growing) == sum(map(len, parts))
    done = growing.finish()
    assert done.dtype == np.int32
    assert done.tolist() == [value for part in parts for value in part]
    assert len(growing) == 0


def test_a_finished_array_does_not_change_when_the_next_one_grows():
    growing = GrowingArray(np.float64)
    growing.append(np.ones(3))
    first = growing.finish()
    growing.append(np.zeros(2000))
    assert first.tolist() == [1, 1, 1]
    assert len(growing.finish()) == 2000


def test_an_array_that_was_told_its_length_is_moved_once():
    growing = GrowingArray(np.int64)
    growing.append(np.arange(2000))  # beyond the first room
    growing.expect(90_000)
    before = growing.peek().ctypes.data
    places = set()
    for start in range(2000, 90_000, 1000):
        growing.place(1000)[:] = np.arange(start, start + 1000)
        places.add(growing.peek().ctypes.data)
    assert len(places - {before}) == 1
    assert np.array_equal(growing.finish(), np.arange(90_000))


def test_room_that_cannot_be_had_at_once_is_taken_by_and_by():
    growing = GrowingArray(np.int64)
    growing.append(np.arange(1000))
    growing.expect(2**60)
    growing.append(np.arange(1000, 5000))
    assert np.array_equal(growing.finish(), np.arange(5000))


def test_frozen_views_cannot_be_written_to():
    original = np.arange(6)
    for view in (frozen(original), flat(original[::2])):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1
    original[0] = 7
    assert frozen(original)[0] == 7
    assert flat(original[::2]).flags.c_contiguous
