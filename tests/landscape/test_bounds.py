"""Limits on weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds, parse_range

INF = np.inf


def test_by_names():
    bounds = Bounds.from_names(["a", "b", "c"], {"b": (0.0, INF), "c": (2.0, 2.0)})
    assert (bounds.low.tolist(), bounds.high.tolist()) == ([-INF, 0.0, 2.0], [INF, INF, 2.0])
    assert bounds.fixed.tolist() == [False, False, True]
    assert not bounds.is_free
    assert Bounds.none(3).is_free
    with pytest.raises(LuthierError, match="'d'"):
        Bounds.from_names(["a", "b", "c"], {"d": (0.0, 1.0)})


def test_clip_and_allow():
    bounds = Bounds(np.array([0.0, -INF]), np.array([1.0, 2.0]))
    assert bounds.clip(np.array([[-1.0, 3.0], [0.5, -9.0]])).tolist() == [[0.0, 2.0], [0.5, -9.0]]
    assert bounds.allow(np.array([1.0, 2.0]))
    assert not bounds.allow(np.array([1.0, 2.1]))


def test_they_cannot_be_changed_or_be_nonsense():
    with pytest.raises(ValueError, match="read-only"):
        Bounds.none(2).low[0] = 1.0
    with pytest.raises(LuthierError, match="above its upper"):
        Bounds(np.ones(2), np.zeros(2))
    with pytest.raises(LuthierError, match="same length"):
        Bounds(np.ones(2), np.ones(3))
    with pytest.raises(LuthierError, match="vectors of numbers"):
        Bounds(np.array([np.nan]), np.ones(1))


def test_steps_along_by_hand():
    bounds = Bounds(np.array([0.0, -INF, 1.0]), np.array([4.0, INF, 1.0]))
    start = np.array([1.0, 5.0, 1.0])
    assert bounds.steps_along(start, np.array([1.0, 1.0, 0.0])) == (-1.0, 3.0)
    assert bounds.steps_along(start, np.array([-2.0, 1.0, 0.0])) == (-1.5, 0.5)
    assert bounds.steps_along(start, np.array([0.0, 1.0, 0.0])) == (-INF, INF)
    assert bounds.steps_along(start, np.array([1.0, 1.0, 1.0])) == (0.0, 0.0)  # a fixed weight cannot move
    assert bounds.steps_along(start, np.zeros(3)) == (-INF, INF)


NUMBERS = st.integers(-4, 4).map(float)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4))
def test_steps_along_stay_inside_and_go_as_far_as_they_can(rows):
    low, high, at, direction = (np.array(column) for column in zip(*rows, strict=True))
    bounds = Bounds(np.minimum(low, high), np.maximum(low, high))
    start = bounds.clip(at)
    left, right = bounds.steps_along(start, direction)
    assert left <= 0 <= right
    for step in (left, right):
        if np.isfinite(step):
            end = start + step * direction
            assert np.all(end >= bounds.low - 1e-9)
            assert np.all(end <= bounds.high + 1e-9)
            beyond = start + (step + np.sign(step or (1 if step is right else -1)) * 1e-3) * direction
            assert not bounds.allow(beyond) or step == 0
        else:
            assert not direction.any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0:1", (0.0, 1.0)), ("0:", (0.0, INF)), (":-1", (-INF, -1.0)), (":", (-INF, INF)), ("2", (2.0, 2.0)),
     ("-1e-3:1e3", (-1e-3, 1e3)), (" 0 : 1 ", (0.0, 1.0))],
)  # fmt: skip
def test_ranges_as_text(text, expected):
    assert parse_range(text) == expected


@pytest.mark.parametrize("text", ["", "x", "1:x", "2:1", "nan", "nan:", "inf", "1:2:3"])
def test_ranges_that_are_none(text):
    with pytest.raises(LuthierError, match="expected a range lo:hi"):
        parse_range(text)
