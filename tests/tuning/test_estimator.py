"""The scikit-learn-shaped face: it learns, it pickles, and scikit-learn's own tools can drive it."""

import pickle

import numpy as np
import pandas as pd
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


def test_columns_are_known_by_their_names(data):
    x, y, groups = data
    frame = pd.DataFrame(x, columns=list("abcd"))
    fitted = LinearTuner("random").fit(frame, y, groups)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    assert fitted.n_features_in_ == 4
    turned = frame[list("dcba")]
    for question in (fitted.predict, lambda table: fitted.select(table, groups)):
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            question(turned)
    with pytest.raises(ValueError, match="expecting 4 features"):
        LinearTuner("random").fit(x, y, groups).predict(x[:, :3])
    beside = LinearTuner("random", group_column="g").fit(frame.assign(g=groups), y)
    assert beside.coef_.tobytes() == fitted.coef_.tobytes()


def test_a_pipeline_with_a_scaler_tunes_the_scaled_columns(data):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y, groups = data
    scale = np.array([1.0, 1e3, 1e-3, 1.0])
    pipeline = make_pipeline(StandardScaler(), LinearTuner("random", options={"rounds": 5}))
    pipeline.fit(x * scale, y, lineartuner__groups=groups)
    plain = LinearTuner("random", options={"rounds": 5}).fit(StandardScaler().fit_transform(x), y, groups)
    assert pipeline[-1].coef_ == pytest.approx(plain.coef_, rel=1e-6)


def test_groups_of_weight_0_do_not_count(data):
    x, y, groups = data
    kept = groups < 20
    weighed = LinearTuner("random").fit(x, y, groups, sample_weight=kept.astype(float))
    worth = (y - y.min()) / np.ptp(y)
    best = weighed.select(x, groups)
    assert weighed.result_.gain == pytest.approx(100 * worth[best][kept[best]].mean())
    assert weighed.score(x, y, groups, sample_weight=kept) == pytest.approx(y[best][kept[best]].mean())
    with pytest.raises(LuthierError, match="one sample weight for all rows of a group"):
        LinearTuner("random").fit(x, y, groups, sample_weight=np.arange(480.0))
    with pytest.raises(LuthierError, match="weights of 0 or more, not all 0"):
        LinearTuner("random").fit(x, y, groups, sample_weight=np.zeros(480))


def test_weights_stay_within_bounds(data):
    x, y, groups = data
    fitted = LinearTuner("random", bounds={"x0": (0.1, 0.2), 1: (0.0, np.inf)}).fit(x, y, groups)
    assert 0.1 <= fitted.coef_[0] <= 0.2
    assert fitted.coef_[1] >= 0.0
    with pytest.raises(LuthierError, match="no feature is called 'q'"):
        LinearTuner("random", bounds={"q": (0, 1)}).fit(x, y, groups)


def test_a_metric_of_sums_is_tuned_for_by_its_statistics(data):
    x, _, groups = data
    edits = np.round(np.abs(x @ np.array([2.0, -1.0, 0.5, 0.0])))
    stats = np.column_stack([edits, 5.0 + groups % 7])  # the error rate of a corpus is no mean of error rates
    fitted = LinearTuner("random", metric="wer").fit(x, stats, groups)
    chosen = stats[fitted.select(x, groups)].sum(axis=0)
    assert fitted.score(x, stats, groups) == pytest.approx(-100 * chosen[0] / chosen[1])
    assert fitted.result_.gain == pytest.approx(fitted.score(x, stats, groups))
    with pytest.raises(LuthierError, match="rows of finite statistics"):
        LinearTuner("random", metric="wer").fit(x, stats[:, 0], groups)
    with pytest.raises(LuthierError, match="2 statistics of wer"):
        LinearTuner("random", metric="wer").fit(x, np.ones((480, 3)), groups)


RANDOM = LinearTuner("random")


@pytest.mark.parametrize(
    ("fit", "complaint"),
    [
        (lambda: RANDOM.fit("x", [1], groups=[0]), "expected numbers in a table, found something else"),
        (lambda: RANDOM.fit([[1.0]], ["x"], groups=[0]), "expected numbers in y, found something else"),
        (lambda: RANDOM.fit(np.zeros((0, 1)), [], groups=[]), "expected a table of finite numbers"),
        (lambda: LinearTuner(group_column=9).fit([[1.0, 2.0]], [1]), "one of 2 columns as group_column, found 9"),
        (lambda: RANDOM.fit([[1.0], [2.0]], [1, 2], groups=np.array([1, "a"], object)), "groups of one type"),
        (lambda: RANDOM.fit([[1.0]], [1], [0]).score([[1.0]], [1, 2], [0]), "expected 1 finite values in y"),
    ],
)
def test_wrong_arguments_are_answered_by_sentences(fit, complaint):
    with pytest.raises(LuthierError, match=complaint):
        fit()
