"""Selections that one weight vector can make, and those that none can, against exact enumeration."""

import itertools

import numpy as np
import pytest

from exact_oracles import cancel_by_enumeration
from luthier.core.errors import LuthierError
from luthier.geometry.lp.certificates import Feasible, Infeasible, proves_feasible, proves_infeasible
from luthier.geometry.lp.feasibility import clear_weights, feasibility
from luthier.geometry.lp.rational import exact_difference


def random_lists(rng, n_lists, longest, d, *, whole=True):
    lengths = rng.integers(1, longest + 1, n_lists)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    draw = rng.integers(-2, 3, (offsets[-1], d)).astype(float) if whole else rng.standard_normal((offsets[-1], d))
    return offsets, draw, rng.integers(offsets[:-1], offsets[1:])


def differences(offsets, features, selection):
    pairs = [
        exact_difference(features[j], features[i])[0]
        for s, i in enumerate(selection.tolist())
        if i >= 0
        for j in range(offsets[s], offsets[s + 1])
    ]
    return [vector for vector in pairs if any(vector)]


def check(offsets, features, selection):
    """Decide, verify the proof exactly, and return the answer."""
    answer = feasibility(offsets, features, selection)
    if isinstance(answer, Infeasible):
        assert proves_infeasible(answer, offsets, features, selection)
        assert len(answer.rows) <= features.shape[1] + 1
        assert answer.multipliers.sum() == pytest.approx(1.0)
        return answer
    assert proves_feasible(answer.exact, offsets, features, selection)
    assert np.abs(answer.weights).max() <= 1.0
    if answer.representable:
        scores = features @ answer.weights
        for s, row in enumerate(answer.rows.tolist()):
            if row >= 0:
                assert offsets[s] + np.argmax(scores[offsets[s] : offsets[s + 1]]) == row
                assert (features[row] == features[selection[s]]).all()
    return answer


@pytest.mark.parametrize("seed", range(60))
def test_whole_numbers_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    offsets, features, selection = random_lists(rng, int(rng.integers(1, 4)), 4, d)
    if seed % 3 == 0:
        features[:, 0] = 2.0  # a constant feature helps nobody
    answer = check(offsets, features, selection)
    assert isinstance(answer, Infeasible) == cancel_by_enumeration(differences(offsets, features, selection))


@pytest.mark.parametrize("seed", range(20))
def test_what_a_vector_selects_is_feasible(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    offsets, features, _ = random_lists(rng, 6, 12, d, whole=False)
    w = rng.standard_normal(d)
    scores = features @ w
    selection = np.array([a + np.argmax(scores[a:b]) for a, b in itertools.pairwise(offsets)])
    answer = check(offsets, features, selection)
    assert isinstance(answer, Feasible)
    own = min(np.diff(np.sort(scores[a:b])[-2:]).min(initial=np.inf) for a, b in itertools.pairwise(offsets))
    assert answer.margin >= own / np.abs(w).max() * (1 - 1e-9)  # the largest margin is not below that of w


@pytest.mark.parametrize("seed", range(10))
def test_the_start_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    offsets, features, selection = random_lists(rng, 4, 4, 3, whole=False)
    plain = feasibility(offsets, features, selection)
    other = feasibility(offsets, features, selection, start=rng.standard_normal(3))
    assert type(plain) is type(other)
    if isinstance(plain, Feasible):
        assert plain.margin == pytest.approx(other.margin, rel=1e-6)


def test_the_largest_margin_is_found():
    """Over |w| ≤ 1 the point (1, 0) beats (0, 0) by w_1 and (0, 1) by w_1 − w_2: w = (1, 0 or less), margin 1."""
    answer = check(np.array([0, 3]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([1]))
    assert answer.margin == pytest.approx(1.0)


def test_equal_vectors_are_one_point():
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    answer = check(np.array([0, 4]), features, np.array([3]))
    assert answer.rows.tolist() == [0]
    middle = np.vstack([features, [[0.5, 0.5]]])
    assert isinstance(check(np.array([0, 5]), middle, np.array([4])), Infeasible)


def test_lists_of_one_vector_and_lists_left_out_ask_for_nothing():
    features = np.array([[1.0], [1.0], [0.0], [0.0], [1.0], [2.0]])
    offsets = np.array([0, 2, 3, 3, 6])
    answer = check(offsets, features, np.array([1, 2, -1, -1]))
    assert isinstance(answer, Feasible)
    assert answer.margin == np.inf
    assert answer.rows.tolist() == [0, 2, -1, -1]
    assert isinstance(check(offsets, features, np.array([1, 2, -1, 4])), Infeasible)
    assert isinstance(check(np.array([0]), np.zeros((0, 2)), np.zeros(0, np.int64)), Feasible)


def test_selections_that_contradict_each_other():
    """Each row is an end of its list; together they ask for w > 0 and w < 0."""
    features = np.array([[0.0], [1.0], [0.0], [3.0]])
    answer = check(np.array([0, 2, 4]), features, np.array([0, 3]))
    assert isinstance(answer, Infeasible)
    assert answer.lists.tolist() == [0, 1]
    assert answer.rows.tolist() == [1, 2]
    np.testing.assert_allclose(answer.multipliers, [0.75, 0.25])  # 0.75·(+1) + 0.25·(−3) = 0


@pytest.mark.parametrize("tiny", [1e-9, 1e-13, 1e-30, 5e-324])
def test_margins_that_floats_cannot_judge(tiny):
    offsets, selection = np.array([0, 3]), np.array([0])
    thin = np.array([[0.0, 0.0], [1.0, -tiny], [-1.0, -tiny]])
    answer = check(offsets, thin, selection)
    assert isinstance(answer, Feasible)
    assert answer.margin >= tiny / 2  # the largest is tiny, at (0, 1)
    shut = np.array([[0.0, 0.0], [1.0, -tiny], [-1.0, tiny]])
    assert isinstance(check(offsets, shut, selection), Infeasible)


def test_a_cone_between_neighbouring_floats():
    """w_1 / w_2 must lie between 1/3 and the next float: a multiple of such a w can be represented, or none is."""
    third, above = 1.0 / 3.0, np.nextafter(1.0 / 3.0, 1.0)
    features = np.array([[0.0, 0.0], [-1.0, third], [1.0, -above]])
    answer = check(np.array([0, 3]), features, np.array([0]))
    assert isinstance(answer, Feasible)
    assert third < answer.exact[0] / answer.exact[1] < above


def test_a_cone_without_any_floats():
    """0 < w_1 < 2⁻¹⁰⁷⁴·w_2 with w_2 ≤ 1: the least positive float is too large."""
    features = np.array([[0.0, 0.0], [-1.0, 0.0], [1.0, -5e-324]])
    answer = check(np.array([0, 3]), features, np.array([0]))
    assert isinstance(answer, Feasible)
    assert not answer.representable
    assert answer.margin == 0.0
    assert 0 < answer.exact[0] < answer.exact[1] / 2**1074


@pytest.mark.parametrize("seed", range(15))
def test_a_row_of_one_list_is_selectable_iff_it_is_a_vertex(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (7, 2)).astype(float)
    for row in range(len(points)):
        vectors = [exact_difference(p, points[row])[0] for p in points]
        inside = cancel_by_enumeration([v for v in vectors if any(v)])
        assert isinstance(feasibility(np.array([0, len(points)]), points, np.array([row])), Infeasible) == inside


def test_large_values_that_nearly_cancel():
    rng = np.random.default_rng(2)
    offsets, features, selection = random_lists(rng, 3, 5, 3, whole=False)
    shifted = features + 1e12  # differences keep few digits: what counts is the values as they are stored
    answer = check(offsets, shifted, selection)
    assert isinstance(answer, Infeasible) == cancel_by_enumeration(differences(offsets, shifted, selection))


def test_what_cannot_be_asked():
    with pytest.raises(LuthierError, match="expected a row from 0 to 1 for list 0, found 2"):
        feasibility(np.array([0, 2, 3]), np.zeros((3, 1)), np.array([2, 2]))
    with pytest.raises(LuthierError, match="one row for each of 2 lists"):
        feasibility(np.array([0, 2, 3]), np.zeros((3, 1)), np.array([0]))


def test_what_is_representable_is_so_in_any_order_of_summation():
    # 1 + 2^-53 + 2^-53 is 1 from left to right, and more from right to left: a lead that some decoders do not see
    tiny = 2.0**-53
    features = np.array([[1.0, tiny, tiny], [1.0, 0.0, 0.0]])
    found = feasibility(np.array([0, 2]), features, np.array([0]), start=np.ones(3))
    assert isinstance(found, Feasible)
    for order in itertools.permutations(range(3)):
        sums = [0.0, 0.0]
        for k in order:
            sums = [total + found.weights[k] * row[k] for total, row in zip(sums, features, strict=True)]
        assert not found.representable or sums[0] > sums[1]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_clear_weights_are_found_wherever_whole_numbers_have_them(scale):
    rng, found = np.random.default_rng(0), 0
    for _ in range(60):
        counts = rng.integers(1, 6, rng.integers(1, 5))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = rng.integers(-2, 3, (offsets[-1], rng.integers(1, 5))).astype(float)
        selection = offsets[:-1] + [rng.integers(count) for count in counts]
        weights = clear_weights(offsets, scale * rows, selection)
        assert (weights is not None) == isinstance(feasibility(offsets, rows, selection), Feasible)
        for first, last, row in zip(offsets[:-1], offsets[1:], selection, strict=True):
            others = [other for other in rows[first:last] if (other != rows[row]).any()]
            assert weights is None or all((other - rows[row]) @ weights < 0 for other in others)
        found += weights is not None
    assert 10 < found < 60
