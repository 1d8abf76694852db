"""Envelopes against all crossings in rational arithmetic, and the fast way against the sorting one."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.geometry.lines import envelope as module
from luthier.geometry.lines.envelope import Envelopes, envelopes_of_lines

PARTS = ("first", "breakpoints", "before", "after", "bends")


def oracle(a, b):
    """Return the highest row as t → −∞ and all changes (t, row before, row after), from all K² crossings."""
    lines = [(Fraction(int(x)), Fraction(int(y))) for x, y in zip(a, b, strict=True)]

    def highest(t):
        return max(range(len(lines)), key=lambda k: (lines[k][0] + t * lines[k][1], -k))

    crossings = sorted({(x - u) / (v - y) for x, y in lines for u, v in lines if v != y})
    ends = [crossings[0] - 1, *crossings, crossings[-1] + 1] if crossings else [Fraction(0), Fraction(1)]
    rows = [highest((low + high) / 2) for low, high in itertools.pairwise(ends)]
    changes = [(float(t), old, new) for t, old, new in zip(crossings, rows[:-1], rows[1:], strict=True) if old != new]
    return rows[0], changes


def changes_of(found, offsets, segment):
    """Return what `oracle` returns, of one segment of an envelope, rows counted from its first."""
    here = (found.before >= offsets[segment]) & (found.before < offsets[segment + 1])
    start = int(offsets[segment])
    triples = zip(found.breakpoints[here], found.before[here] - start, found.after[here] - start, strict=True)
    return int(found.first[segment]) - start, [(float(t), int(x), int(y)) for t, x, y in triples]


def assert_same(one, other):
    for x, y in zip(one, other, strict=True):
        for part in PARTS:
            np.testing.assert_array_equal(getattr(x, part), getattr(y, part))


@pytest.fixture(params=[1, 64])
def fewest(monkeypatch, request):
    """Segments with less rows are sorted whole: none, or some."""
    monkeypatch.setattr(module, "FEW_ROWS", request.param)


def test_a_hand_worked_envelope():
    # heights −t, 1, t and a copy of 1: the copy never shows; at t = −1 and t = 1 the row changes
    found, = envelopes_of_lines(np.array([0, 4]), np.array([0.0, 1, 0, 1]), np.array([[-1.0, 0, 1, 0]]))  # fmt: skip
    assert changes_of(found, [0, 4], 0) == (0, [(-1.0, 0, 1), (1.0, 1, 2)])
    assert found.bends.tolist() == [1.0, 1.0]


def test_three_lines_through_a_point_leave_two():
    found, = envelopes_of_lines(np.array([0, 3]), np.zeros(3), np.array([[0.0, 1.0, -1.0]]))  # fmt: skip
    assert changes_of(found, [0, 3], 0) == (2, [(0.0, 2, 1)])


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=9), min_size=1, max_size=3))
def test_envelopes_are_exact_on_integers_with_ties(segments):
    features = np.array([row for rows in segments for row in rows], dtype=float)
    offsets = np.cumsum([0, *map(len, segments)])
    start, directions = np.array([1.0, -2.0, 1.0]), np.array([[1.0, 0, 0], [0, 0, 1], [1, 1, -2], [0, 0, 0]])
    ready = Envelopes(offsets, features)
    ready._fits, fast = True, []
    for ready._few in (1, 4, 10):  # none is sorted whole, some, all
        fast.append(ready.along(start, directions))
    for found in (*fast, ready.along_sorted(start, directions)):
        for envelope, direction in zip(found, directions, strict=True):
            a, b = features @ start, features @ direction
            for s in range(len(segments)):
                rows = slice(offsets[s], offsets[s + 1])
                assert changes_of(envelope, offsets, s) == oracle(a[rows], b[rows])


def make(kind, rng, n_rows):
    features = rng.normal(size=(n_rows, 5))
    if kind == "integers":
        features = rng.integers(-2, 3, (n_rows, 5)).astype(float)
    elif kind == "far":
        features += 1e7  # float32 alone would see nothing here
    elif kind == "uneven":
        features *= [1e-9, 1e6, 1.0, 1e-3, 0.0]
    elif kind == "tiny":
        features *= 1e-25
    elif kind == "copies":
        features = features[rng.integers(0, 1 + n_rows // 4, n_rows)]
    elif kind == "rounded":
        features = np.round(features, 1)
    elif kind == "lonely":
        features[:, 2] = 0.0
        features[rng.integers(0, n_rows, 2), 2] = 1.0
    return features


@pytest.mark.parametrize("kind", ["normal", "integers", "far", "uneven", "tiny", "copies", "rounded", "lonely"])
def test_the_fast_way_finds_what_sorting_finds(kind, fewest):
    rng = np.random.default_rng(3)
    lengths = [1, 2, 200, 63, 64, 65, 7]
    features = make(kind, rng, sum(lengths))
    ready = Envelopes(np.cumsum([0, *lengths]), features)
    directions = np.concatenate([np.eye(5), -np.eye(5)[:1], rng.normal(size=(4, 5)), np.zeros((1, 5))])
    for start in (rng.normal(size=5), np.zeros(5), np.array([1.0, 0, 0, 1e-20, -3])):
        assert_same(ready.along(start, directions), ready.along_sorted(start, directions))


def test_numbers_too_large_for_the_filter_are_sorted():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 2)) * 2.0**60
    ready = Envelopes(np.array([0, 80]), features)
    start, directions = np.ones(2), np.eye(2)
    assert_same(ready.along(start, directions), ready.along_sorted(start, directions))


def test_room_grows_where_an_envelope_has_many_lines(monkeypatch):
    monkeypatch.setattr(module, "EVENTS_PER_SEGMENT", 0)
    angles = np.linspace(0.1, 3.0, 40)
    features = np.tile(np.column_stack([np.sin(angles), np.cos(angles)]), (6, 1))
    ready = Envelopes(np.arange(7) * 40, features)
    found = ready.along(np.array([1.0, 0]), np.array([[0.0, 1.0]]))
    assert len(found[0].breakpoints) == 6 * 39
    assert_same(found, ready.along_sorted(np.array([1.0, 0]), np.array([[0.0, 1.0]])))


def test_the_margin_holds_for_every_row():
    """Float32 heights, formed as the kernel forms them, are never further off than the bound says."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, 12)) * 10.0 ** rng.integers(-3, 4, 12) + 1000 * rng.normal(size=12)
    w, d = rng.normal(size=12), rng.normal(size=12)
    ready = Envelopes(np.array([0, 300]), features)
    x = (features - features[0]).astype(np.float32)
    unit = (12 + 8) * module.UNIT32
    for t in (0.0, -3.5, 100.0):
        height = x @ w.astype(np.float32) + np.float32(t) * (x @ d.astype(np.float32))
        true = (features - features[0]) @ w + t * ((features - features[0]) @ d)
        bound = unit * (np.abs(w) @ ready._rows.radius[0] + abs(t) * (np.abs(d) @ ready._rows.radius[0]))
        assert np.abs(height - true).max() <= bound


@pytest.mark.parametrize("offsets", [[0, 2, 2, 3], [0, 2], [1, 3], []])
def test_segments_must_cover_the_rows(offsets):
    with pytest.raises(LuthierError, match="expected segments"):
        Envelopes(np.array(offsets, dtype=np.int64), np.ones((3, 2)))


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["real", "whole", "far", "unlike"]))
def test_the_highest_rows_are_those_of_plain_sums_wherever_rows_were_sighted(seed, kind):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    offsets = np.concatenate([[0], np.cumsum([40, *rng.integers(1, 80, 3)])])
    m = offsets[-1]
    features = rng.integers(-2, 3, (m, d)).astype(float) if kind == "whole" else rng.normal(size=(m, d))
    features += 1e6 if kind == "far" else 0.0
    features *= 10.0 ** rng.integers(-12, 10, d) if kind == "unlike" else 1.0
    features[rng.integers(0, m, m // 3)] = features[rng.integers(0, m, m // 3)]
    ready, start = Envelopes(offsets, features), rng.normal(size=d) * 10.0 ** rng.integers(-6, 6)
    sighting = ready.projections_at(start)
    axes = np.eye(d)
    assert_same(ready.along(start, axes, sighting), ready.along(start, axes))
    for size in (0.0, 1e-15, 1e-3, 1.0, 1e3):
        weights = start + size * rng.normal(size=d) * (rng.random(d) < 0.5)
        scores = np.zeros(m)
        for j in range(d):
            scores = scores + weights[j] * features[:, j]
        expected = [low + int(np.argmax(scores[low:high])) for low, high in itertools.pairwise(offsets)]
        assert ready.highest(weights, sighting).tolist() == expected


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["real", "whole", "far", "unlike"]))
def test_heights_moved_from_place_to_place_hide_no_row(seed, kind):
    """Weights that swell to a thousand times their size and shrink again leave rounding behind: it is counted."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    offsets = np.concatenate([[0], np.cumsum([40, *rng.integers(1, 80, 3)])])
    features = (
        rng.integers(-2, 3, (offsets[-1], d)).astype(float) if kind == "whole" else rng.normal(size=(offsets[-1], d))
    )
    features += 1e6 if kind == "far" else 0.0
    features *= 10.0 ** rng.integers(-12, 10, d) if kind == "unlike" else 1.0
    ready, weights = Envelopes(offsets, features), rng.normal(size=d)
    seen = ready.projections_at(weights)
    for turn in range(12):
        weights = weights.copy()
        weights[rng.integers(0, d)] = np.round(rng.normal() * (1e3 if turn % 3 == 0 else 1.0), int(rng.integers(0, 9)))
        rows, seen = ready.highest_and_moved(weights, seen)
        scores = np.zeros(offsets[-1])
        for j in range(d):
            scores = scores + weights[j] * features[:, j]
        assert rows.tolist() == [low + int(np.argmax(scores[low:high])) for low, high in itertools.pairwise(offsets)]
        heights = (features - np.repeat(features[offsets[:-1]], np.diff(offsets), axis=0)) @ weights
        bounds = np.repeat(ready._units(seen.moves)[0] * ready._rows.radius @ seen.sizes, np.diff(offsets))
        assert np.all(np.abs(seen.heights - heights) <= bounds + 1e-9 * np.abs(features) @ np.abs(weights))
    directions = np.concatenate([np.eye(d), rng.normal(size=(2, d))])
    assert_same(ready.along(weights, directions, seen), ready.along_sorted(weights, directions))


def test_what_float32_cannot_hold_is_not_sighted():
    ready = Envelopes(np.array([0, 40]), np.arange(40.0)[:, None])
    assert ready.projections_at(np.array([1e30])) is None
    assert ready.highest(np.array([1e30]), ready.projections_at(np.ones(1))) is None
    assert Envelopes(np.array([0, 2]), np.ones((2, 1))).projections_at(np.ones(1)) is None  # so few are sorted
