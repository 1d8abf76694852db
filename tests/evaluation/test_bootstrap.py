"""The bootstrap against a plain loop, and what is made of its scores."""

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.evaluation import bootstrap
from luthier.evaluation.bootstrap import (
    bootstrap_scores,
    difference_interval,
    resample_blocks,
    sampling_spread,
)


def ratio(stats):
    return 100.0 * stats[..., 0] / np.maximum(stats[..., 1], 1e-9)


def systems(*, kind=np.int64, seed=0, n=23):
    rng = np.random.default_rng(seed)
    return [(rng.integers(1, 50, (r, n, 2)) / kind(1)).astype(kind) for r in (3, 2)]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_scores_are_those_of_a_plain_loop(kind):
    parts, draws = systems(kind=kind), 17
    drawn = np.random.default_rng(5).integers(23, size=(draws, 23))
    found = bootstrap_scores(parts, ratio, draws=draws, seed=5)
    for stats, scores in zip(parts, found, strict=True):
        assert scores.shape == (len(stats), draws)
        for r in range(len(stats)):
            for b in range(draws):
                total = sum(stats[r, i] for i in drawn[b])
                assert scores[r, b] == pytest.approx(ratio(total), rel=1e-13)


def test_a_resample_has_as_many_sentences_as_the_test_set():
    counts = np.concatenate([block.counts(11) for block in resample_blocks(11, draws=7, seed=0).values()])
    assert counts.shape == (7, 11)
    assert (counts.sum(axis=1) == 11).all()
    assert counts.min() >= 0


def test_each_block_has_a_generator_of_its_own_the_first_that_of_the_seed(monkeypatch):
    whole = bootstrap_scores(systems(), ratio, draws=50)
    monkeypatch.setattr(bootstrap, "BLOCK_SIZE", 70)  # three resamples a block
    for found, expected in zip(bootstrap_scores(systems(), ratio, draws=50), whole, strict=True):
        assert found.shape == expected.shape
        assert np.array_equal(found[:, :3], expected[:, :3])
        assert len(set(found[0])) > 40
    blocks = [block.counts(20) for block in resample_blocks(20, draws=50, seed=7).values()]
    rngs = [np.random.default_rng(7), *np.random.default_rng(7).spawn(len(blocks) - 1)]
    for rng, counts in zip(rngs, blocks, strict=True):
        drawn = rng.integers(20, size=counts.shape)
        assert counts.tolist() == [np.bincount(row, minlength=20).tolist() for row in drawn]


def test_a_system_has_the_same_scores_in_any_company():
    first, second = systems()
    assert np.array_equal(
        bootstrap_scores([first], ratio, draws=20)[0], bootstrap_scores([second, first], ratio, draws=20)[1]
    )


def test_spread_is_the_mean_of_deviations_with_n_minus_one():
    # deviations of (1, 3) and (2, 6): √2 and √8, mean 3/√2
    assert sampling_spread(np.array([[1.0, 3.0], [2.0, 6.0]])) == pytest.approx(3 / np.sqrt(2))


def test_spread_of_a_mean_is_the_textbook_one():
    # The mean of n numbers of variance v has the standard deviation √(v/n).
    values = np.random.default_rng(1).normal(size=400)
    stats = np.stack([values, np.ones(400)], axis=1)[None]
    found = sampling_spread(bootstrap_scores([stats], ratio, draws=2000)[0])
    assert found == pytest.approx(100 * values.std() / 20, rel=0.06)


def test_interval_by_hand():
    # differences of the means: 0, 1, …, 100; two replicas are taken as given
    baseline = np.zeros((2, 101))
    system = np.stack([np.arange(101.0) - 1, np.arange(101.0) + 1])
    found = difference_interval(baseline, system, higher_is_better=True, confidence=0.9)
    assert (found.low, found.high, found.confidence) == (pytest.approx(5), pytest.approx(95), 0.9)
    assert found.probability_better == pytest.approx(100.5 / 101)
    assert difference_interval(baseline, system, higher_is_better=False).probability_better == pytest.approx(0.5 / 101)
    assert difference_interval(baseline, system, higher_is_better=None).probability_better is None


def test_identical_systems_differ_by_nothing():
    first, _ = systems()
    for part in (first[:1], first[:2], first[[1, 1, 1]]):
        scores = bootstrap_scores([part, part], ratio, draws=30)
        found = difference_interval(*scores, higher_is_better=True)
        assert (found.low, found.high, found.probability_better) == (0.0, 0.0, 0.5)
    found = difference_interval(*bootstrap_scores([first, first], ratio, draws=200), higher_is_better=True)
    assert found.low < 0 < found.high  # three runs that differ: other runs would, too


def test_replicas_drawn_anew_by_hand():
    # No sentence varies: replicas 0, 3 and 6 have deviations −3, 0 and 3, enlarged by √(3/2).
    scores = np.repeat([[0.0], [3.0], [6.0]], 4000, axis=1)
    still = np.zeros((1, 4000))
    found = difference_interval(still, scores, higher_is_better=True)
    assert found.resampled_replicas == (0, 3)
    # All three draws are the same replica once in nine; that of the lowest alone has 1/27 > 2.5 %.
    assert (found.low, found.high) == (pytest.approx(3 - 3 * np.sqrt(1.5)), pytest.approx(3 + 3 * np.sqrt(1.5)))
    again = difference_interval(still, scores, higher_is_better=True)
    assert found == again


def mean_score(stats):
    return stats[..., 0] / stats[..., 1]


def coverage(trials, replicas, shift, *, seed=0):
    """Return how often an interval of 95 % holds the true difference, 0; runs are shifted as a whole."""
    rng = np.random.default_rng(seed)
    n, held = 60, 0
    for trial in range(trials):
        difficulty = rng.normal(size=n)
        stats = []
        for _ in range(2):
            shared = rng.normal(size=n)
            runs = difficulty + np.sqrt(0.5) * (shared + rng.normal(size=(replicas, n)))
            runs += shift / np.sqrt(n) * rng.normal(size=(replicas, 1))
            stats.append(np.stack([runs, np.ones((replicas, n))], axis=2))
        pair = bootstrap_scores(stats, mean_score, draws=300, seed=trial)
        found = difference_interval(*pair, higher_is_better=True, seed=trial)
        held += found.low <= 0 <= found.high
    return held / trials


@pytest.mark.slow
@pytest.mark.parametrize("replicas, least, most", [(3, 0.91, 0.96), (5, 0.91, 0.97), (1, 0.55, 0.68)])
def test_intervals_of_three_runs_hold_where_runs_vary_and_those_of_one_do_not(replicas, least, most):
    # Runs vary twice as much as sentences; the limits are of three standard errors of 1000 trials round 94, 94, 61 %.
    assert least < coverage(1000, replicas, 2.0) < most


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, held, trials = np.random.default_rng(2), 0, 200
    for trial in range(trials):
        common = rng.normal(size=(1, 60, 1))
        pair = [common + rng.normal(size=(1, 60, 1)) for _ in range(2)]
        stats = [np.concatenate([values, np.ones_like(values)], axis=2) for values in pair]
        found = difference_interval(
            *bootstrap_scores(stats, ratio, draws=200, seed=trial), higher_is_better=True, confidence=0.9
        )
        held += found.low <= 0 <= found.high
    assert abs(held / trials - 0.9) < 3 * np.sqrt(0.09 / trials) + 0.01  # percentiles are a little too narrow


def test_faults():
    first, second = systems()
    with pytest.raises(LuthierError, match="same N and S"):
        bootstrap_scores([first, second[:, :5]], ratio)
    with pytest.raises(LuthierError, match="draws"):
        bootstrap_scores([first], ratio, draws=1)
    with pytest.raises(LuthierError, match="confidence"):
        difference_interval(*[np.zeros((1, 3))] * 2, higher_is_better=True, confidence=1.0)
