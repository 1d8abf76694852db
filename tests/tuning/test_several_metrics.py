"""Tuning for several metrics: the worst of them and limits, on lines against brute force."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import luthier
from luthier.core.errors import LuthierError
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.tradeoff.several import constrained, selection_noise, worst_of
from luthier.metrics.loading import load_metric
from luthier.metrics.several import Limit

Q = [load_metric("column:q"), load_metric("column:r"), load_metric("minimize(column:c)")]


def small_pool(seed, sentences=4, k=4):
    """Return lists with whole-numbered features and columns, so that many rows tie."""
    rng = np.random.default_rng(seed)
    n = sentences * k
    numbers = {name: rng.integers(-2, 3, n).astype(float) for name in ("f", "g", "q", "r", "c")}
    frame = {"id": np.repeat(np.arange(sentences), k), "hyp": [f"w{i}" for i in range(n)], **numbers}
    return luthier.pool_from_frame(frame, columns=["q", "r", "c"])


def values_at(pool, weights):
    """Return the means of the columns of what weights select, by a loop."""
    rows = []
    for first, last in zip(pool.offsets, pool.offsets[1:], strict=False):
        scores = [
            sum(w * x for w, x in zip(weights, pool.features.dense[row], strict=True)) for row in range(first, last)
        ]
        rows.append(first + int(np.argmax(scores)))
    return {name: float(np.mean([pool.columns[name][row] for row in rows])) for name in ("q", "r", "c")}


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_the_worst_of_several_is_exact_on_a_line(seed):
    pool = small_pool(seed)
    start, direction = np.array([1.0, 0.25]), np.array([0.0, 1.0])
    metric = worst_of(pool, Q, start)
    base = values_at(pool, start)
    gains = [base["q"], base["r"], -base["c"]]
    np.testing.assert_allclose(metric.baselines, gains, atol=1e-12)
    curve = next(ListProblem.of(pool, metric).curves(start, direction[None]))
    places = np.concatenate([curve.breakpoints - 1e-3, curve.breakpoints + 1e-3, [0.1234]])
    places = places[np.abs(places[:, None] - curve.breakpoints).min(axis=1, initial=1.0) > 1e-4]
    for t in places.tolist():
        found = values_at(pool, start + t * direction)
        scaled = (np.array([found["q"], found["r"], -found["c"]]) - gains) / metric.units
        assert curve.gain_at(t) == pytest.approx(scaled.min(), abs=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([-0.5, 0.25, 1.0]))
def test_a_constrained_optimum_is_the_best_that_keeps_the_limit_or_breaks_it_least(seed, bound):
    pool = small_pool(seed)
    limit = Limit(load_metric("column:r"), 1, bound)
    problem = ListProblem.of(pool, constrained(pool, Q[0], [limit]))
    start, direction = np.array([1.0, 0.25]), np.array([0.0, 1.0])
    curve = next(problem.curves(start, direction[None]))
    ends = np.concatenate(
        [[curve.breakpoints.min(initial=0) - 1], curve.breakpoints, [curve.breakpoints.max(initial=0) + 1]]
    )
    found = [values_at(pool, start + t * direction) for t in (ends[1:] + ends[:-1]) / 2]
    kept = [one["q"] for one in found if one["r"] >= bound]
    if kept:
        assert curve.gains.max() == pytest.approx(max(kept))
    else:
        assert curve.gains.max() == pytest.approx(problem.metric.floor - min(bound - one["r"] for one in found))


@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
def test_tune_for_the_worst_of_several_and_within_limits():
    pool = small_pool(3, sentences=12, k=6)
    start = {"f": 1.0, "g": 0.5}
    report = luthier.tune(pool, method="mert", worst_of="column:q,column:r", start=start, restarts=3)
    named = {label: (before, after) for label, before, after in report.parts}
    vector = np.array([report.weights["f"], report.weights["g"]])
    found, base = values_at(pool, vector), values_at(pool, [1.0, 0.5])
    assert [named["column"][1], named["column2"][1]] == pytest.approx([found["q"], found["r"]])
    assert report.after >= 0.0  # the start itself has 0
    assert min(found["q"] - base["q"], found["r"] - base["r"]) >= -1e-12
    limited = luthier.tune(pool, "column:q", "mert", constraint=["column:r>=0.2"], start=start, restarts=3)
    free = luthier.tune(pool, "column:q", "mert", start=start, restarts=3)
    assert free.after >= limited.after - 1e-12
    assert {label: after for label, _, after in limited.parts}["column>=0.2"] >= 0.2
    assert limited.interval[1] < 10  # resamples that break the limit do not count as broken
    held = luthier.tune(pool, "column:q", "mert", constraint="column:r>=99", start=start, heldout=small_pool(4))
    assert held.after < -999
    assert -2 <= held.heldout_after <= 2
    assert "parts" in held.as_dict()
    both = luthier.tune(pool, method="mert", worst_of="column:q,column:r", constraint="column:c<=1", start=start)
    assert [label for label, _, _ in both.parts] == ["column", "column2", "column<=1"]
    assert abs(both.oracle) < 999


def test_units_are_the_noise_of_each_metric():
    pool = small_pool(5, sentences=30)
    metric = worst_of(pool, Q[:2], np.array([1.0, 0.1]))
    for part, unit in zip(metric.parts, metric.units, strict=True):
        selected = ListProblem.of(pool, part).selected(np.array([[1.0, 0.1]]))[0]
        means = selected[:, 0] / selected[:, 1]
        assert unit == pytest.approx(means.std() / np.sqrt(len(means)), rel=0.15)  # the textbook's standard error
        assert unit == selection_noise(part, selected)
    one = worst_of(pool.take_sentences([0]), Q[:2])
    assert one.units == (1.0, 1.0)


@pytest.mark.parametrize("text", ["length", "length>98", "length>=x", ">=3", "length>=nan", "bleau>=3", "ter<=1<=2"])
def test_constraints_that_cannot_be_read(text):
    with pytest.raises(LuthierError, match=r"expected a constraint such as|there is no metric|expected a metric"):
        Limit.parse(text)


def test_wrong_requests():
    pool = small_pool(1)
    with pytest.raises(LuthierError, match="expected two metrics or more, of which the worst counts, found 1"):
        luthier.tune(pool, method="mert", worst_of="column:q")
    limit = Limit.parse(" ter <= 50 ")
    assert (limit.sense, limit.bound, limit.metric.name) == (-1, 50.0, "ter")
    metric = constrained(pool, Q[2], [Limit.parse("column:q<=-1")])
    assert metric.higher_is_better is False
    assert metric.name == "column with column<=-1"
    assert dataclasses.replace(metric, limits=()) == metric.unlimited
