"""Weights as people read them: sums of 1, shares of effect, intervals, and when the file has them as found."""

import dataclasses

import numpy as np
import pytest

from luthier.jobs.tune import tune
from luthier.report.console import show
from luthier.report.tables.tuning import tuning_tables
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.validation.weight_shares import kept_size, unit_weights, weight_shares
from small_problems import pool_of

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")]


@pytest.fixture(scope="module")
def pool():
    return SyntheticLists(sentences=40, k=10, n_features=4, vocabulary=150).generate(3)


def test_shares_are_what_their_definition_says(pool):
    report = tune(pool, method="mert", resamples=10)
    weights = report.replicas[0].weights
    lists = np.split(pool.features.dense, pool.offsets[1:-1])
    spread = np.sqrt(np.mean(np.concatenate([rows - rows.mean(axis=0) for rows in lists]) ** 2, axis=0))
    effects = np.abs(weights) * spread
    shares = weight_shares(report)
    assert [share.name for share in shares] == list(pool.features.names)
    assert [share.share for share in shares] == pytest.approx((100 * effects / effects.sum()).tolist())
    assert [share.weight for share in shares] == pytest.approx((weights / np.abs(weights).sum()).tolist())
    for d, share in enumerate(shares):
        ends = np.quantile(report.resampled.weights[:, d], [0.025, 0.975]) / np.abs(weights).sum()
        assert share.interval == pytest.approx(tuple(ends))
        assert share.may_be_zero == (ends[0] <= 0 <= ends[1])
    assert [share.interval for share in weight_shares(dataclasses.replace(report, resampled=None))] == [None] * 4


def test_the_table_has_the_remark_and_the_reason(pool, capsys):
    report = tune(pool, method="mert", resamples=10)
    both_ways = np.linspace(-1, 1, 10)[:, None] * report.replicas[0].weights
    held = dataclasses.replace(report.resampled, weights=both_ways)
    show(tuning_tables(dataclasses.replace(report, resampled=held), [], None, "--normalize was given"))
    told = capsys.readouterr().out
    assert told.count("cannot be told from 0") == 4
    assert "the file has weights of another size" in told
    assert "--normalize was given" in told


def test_sizes_of_any_scale_sum_to_one():
    for scale in (1e-300, 1e-12, 1.0, 1e12, 1e300):
        assert np.abs(unit_weights(scale * np.array([1.0, -2.0, 0.0]))).sum() == pytest.approx(1.0)
    assert unit_weights(np.zeros(2)).tolist() == [0.0, 0.0]


def test_where_size_means_something_the_file_has_it(pool):
    mert = tuner("mert")
    assert kept_size(tune(pool, method="mert"), mert) == ""
    assert "bounds" in kept_size(tune(pool, method="mert", bound={"lm": (0, 1)}), mert)
    for method in ("mert-regularized", "pro"):
        assert "the tuner" in kept_size(tune(pool, method=method), tuner(method))
    few = tune(pool, method="auto")  # 40 sentences are few for four weights: it is pro
    assert "penalty" in kept_size(few, tuner("auto"))


def test_weights_that_would_round_to_another_choice_stay_as_they_are():
    lists = [[[1.0, 0.0], [0.0, 1.0]]]
    report = tune(pool_of(lists, [[0.0, 1.0]], ["a", "b"]), metric="column:worth", method="mert")
    zero = dataclasses.replace(report.replicas[0], weights=np.zeros(2))
    assert "tie" in kept_size(dataclasses.replace(report, replicas=(zero,)), tuner("mert"))
    rng = np.random.default_rng(0)
    apart = 0
    for _ in range(200):  # whole numbers that tie exactly: some of them do not when divided
        weights = rng.integers(1, 9, 3).astype(float)
        rows = rng.integers(0, 9, (3, 3)).astype(float)
        rows[1] = rows[0] + np.cross(weights, rng.integers(-3, 4, 3))  # as high as the first
        tied = pool_of([rows], [[0.0, 100.0, 50.0]], ["a", "b", "c"])
        found = tune(tied, metric="column:worth", method="random", rounds=1)
        held = dataclasses.replace(found, replicas=(dataclasses.replace(found.replicas[0], weights=weights),))
        problem = held.problem
        same = problem.gain(weights) == problem.gain(unit_weights(weights))
        assert (kept_size(held, tuner("random")) == "") == same
        apart += not same
    assert apart > 0
