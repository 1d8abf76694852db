"""The scikit-learn-shaped face: it learns, it pickles, and scikit-learn's own tools can drive it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score

from luthier.core.errors import LuthierError
from luthier.tuning.estimator import LinearTuner


@pytest.fixture(scope="module")
def data():
    """40 groups of 12 rows; what a row is worth is a hidden linear function of it, and noise."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((480, 4))
    y = x @ np.array([2.0, -1.0, 0.5, 0.0]) + 0.3 * rng.standard_normal(480)
    groups = rng.permutation(np.repeat(np.arange(40), 12))
    return x, y, groups


def test_it_learns_what_the_rows_are_worth(data):
    x, y, groups = data
    fitted = LinearTuner("random").fit(x, y, groups)
    best = np.mean([y[groups == g].max() for g in np.unique(groups)])
    assert fitted.score(x, y, groups) > 0.95 * best
    percent = 100 * (fitted.score(x, y, groups) - y.min()) / np.ptp(y)
    assert percent == pytest.approx(fitted.result_.gain)
    assert fitted.predict(x) == pytest.approx(x @ fitted.coef_)


def test_the_winner_of_each_group_is_the_first_of_the_best(data):
    fitted = LinearTuner("random").fit(*data)
    fitted.coef_ = np.array([1.0, 0, 0, 0])
    x = np.array([[1.0, 0, 0, 0], [2, 0, 0, 0], [5, 0, 0, 0], [2, 0, 0, 0]])
    assert fitted.select(x, ["b", "b", "a", "b"]).tolist() == [1, 2]


def test_scikit_learn_can_drive_it(data):
    x, y, groups = data
    with_groups = np.column_stack([groups, x])
    estimator = LinearTuner("random", options={"rounds": 5}, group_column=0)
    scores = cross_val_score(estimator, with_groups, y, groups=groups, cv=GroupKFold(4))
    assert len(scores) == 4
    assert scores.min() > 1.5
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert copy.set_params(seed=3).seed == 3


def test_groups_can_travel_beside_the_arrays(data):
    import sklearn

    x, y, groups = data
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LinearTuner("random", options={"rounds": 5})
        estimator.set_fit_request(groups=True).set_score_request(groups=True)
        scores = cross_val_score(estimator, x, y, cv=GroupKFold(4), params={"groups": groups})
    assert scores.min() > 1.5


def test_it_survives_pickling_and_the_seed_decides(data):
    one, other = (LinearTuner("random", seed=5).fit(*data) for _ in range(2))
    assert one.coef_.tobytes() == other.coef_.tobytes()
    again = pickle.loads(pickle.dumps(one))
    assert again.coef_.tobytes() == one.coef_.tobytes()


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x, y, g: (x, y, None), "expected groups"),
        (lambda x, y, g: (x, y[:-1], g), "finite values in y"),
        (lambda x, y, g: (x, y, g[:-1]), "480 groups"),
        (lambda x, y, g: (np.where(x > 1, np.nan, x), y, g), "finite numbers"),
    ],
    ids=["no groups", "short y", "short groups", "nan"],
)
def test_bad_arrays_are_refused(data, change, message):
    with pytest.raises(LuthierError, match=message):
        LinearTuner("random").fit(*change(*data))
