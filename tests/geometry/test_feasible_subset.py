"""The greedy search against the same search with a linear program of all rows for each list."""

import numpy as np
import pytest
from scipy.optimize import linprog

from luthier.core.errors import LuthierError
from luthier.geometry.lp.feasible_subset import SelectionTests


def possible(offsets, features, selection, lists):
    """Return whether one vector selects the rows in all of these lists: max t over all rows at once."""
    rows = np.concatenate([features[offsets[i] : offsets[i + 1]] - features[selection[i]] for i in lists])
    rows = rows[np.any(rows != 0, axis=1)]
    if not len(rows):
        return True
    d = rows.shape[1]
    result = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([rows, np.ones(len(rows))]),
        b_ub=np.zeros(len(rows)),
        bounds=[(-1, 1)] * d + [(None, 1)],
    )
    return -result.fun > 1e-7


def greedy(offsets, features, selection, order):
    kept = []
    for i in order:
        if possible(offsets, features, selection, [*kept, i]):
            kept.append(int(i))
    return kept


def random_case(seed, *, n_lists=7, d=3, integers=True):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, size=n_lists)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    size = (offsets[-1], d)
    # small whole numbers: rows repeat, lie on edges and faces, lists are flat
    features = rng.integers(-2, 3, size=size).astype(float) if integers else rng.normal(size=size)
    features[:, -1] *= 1000.0  # columns of unlike size
    selection = rng.integers(offsets[:-1], offsets[1:])
    return offsets, features, selection, rng.permutation(n_lists)


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_the_same_lists_are_kept_as_with_all_rows_at_once(seed, integers):
    offsets, features, selection, order = random_case(seed, integers=integers)
    found = SelectionTests(offsets, features).feasible_subset(selection, order)
    expected = greedy(offsets, features, selection, order)
    assert found.lists.tolist() == sorted(expected)
    for i in found.lists:
        rows = features[offsets[i] : offsets[i + 1]]
        scores = rows @ found.weights
        unlike = np.any(rows != features[selection[i]], axis=1)
        assert np.all(scores[unlike] < float(features[selection[i]] @ found.weights))


@pytest.mark.parametrize("seed", range(15))
def test_the_first_obstacle_is_the_first_list_that_is_not_kept(seed):
    offsets, features, selection, order = random_case(seed)
    done = SelectionTests(offsets, features).reached(selection, order)
    assert greedy(offsets, features, selection, order[:done]) == order[:done].tolist()
    if done < len(order):
        assert not possible(offsets, features, selection, order[: done + 1])


@pytest.mark.parametrize("seed", range(8))
def test_columns_that_are_left_out_are_as_if_they_were_not_there(seed):
    offsets, features, selection, order = random_case(seed, d=4)
    columns = np.array([0, 3])
    expected = SelectionTests(offsets, features[:, columns]).reached(selection, order)
    assert SelectionTests(offsets, features).reached(selection, order, columns) == expected


def test_what_given_weights_select_is_kept_whole_and_comes_first():
    rng = np.random.default_rng(3)
    offsets = np.arange(0, 401, 20)
    features = rng.normal(size=(400, 5)) * np.array([1.0, 10.0, 0.1, 1.0, 1.0])
    weights = rng.normal(size=5)
    scores = (features @ weights).reshape(-1, 20)
    selection = offsets[:-1] + np.argmax(scores, axis=1)
    tests = SelectionTests(offsets, features)
    assert tests.reached(selection, np.arange(20)) == 20
    spoilt = [4, 9, 15]
    selection[spoilt] = offsets[spoilt] + np.argmin(scores[spoilt], axis=1)
    order = tests.nearest_first(selection, weights)
    assert sorted(order[-3:].tolist()) == spoilt
    assert tests.feasible_subset(selection, order).lists.tolist() == sorted(set(range(20)) - set(spoilt))


def test_lists_without_a_choice_cost_nothing():
    offsets, features = np.array([0, 1, 3]), np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0]])
    found = SelectionTests(offsets, features).feasible_subset(np.array([0, 2]), np.array([1, 0]))
    assert (found.lists.tolist(), found.lps) == ([0, 1], 0)


def test_a_selection_of_other_lists_is_refused():
    with pytest.raises(LuthierError, match="one row of each list"):
        SelectionTests(np.array([0, 2, 4]), np.zeros((4, 2))).reached(np.array([0, 1]), np.arange(2))
