"""Limits of scores hold for all sums between two corners, and are tight where the corners meet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.metrics.loading import load_metric

METRICS = (
    "bleu",
    "bleu_nist",
    "bleu(smoothing='none')",
    "bleu(smoothing='floor')",
    "bleu(smoothing='floor', smoothing_value=3.0)",
    "bleu(smoothing='add-k')",
    "bleu(smoothing='add-k', smoothing_value=0.0)",
    "bleu(smoothing='plus-one')",
    "bleu(order=2, effective_order=True)",
    "chrf",
    "chrf(char_order=2, word_order=1, eps_smoothing=True)",
    "chrf(beta=0.0)",
    "ter",
    "wer",
    "length",
    "column:x",
    "minimize(0.5*ter - 0.5*bleu)",
    "maximize(bleu - 0.3*chrf + 2*column:x - 7)",
    "minimize(bleu - wer)",
)


def draw_counts(metric, rng, size):
    """Return sums that a corpus may have, (S,): matches are not more than n-grams, a count is 1 at least."""
    sums = []
    for name in metric.stat_names:
        what = name.split(".")[-1]
        if what == "sum":
            sums.append(rng.integers(-size, size + 1))
        elif what == "count":
            sums.append(rng.integers(1, size + 2))
        else:
            sums.append(rng.integers(0, size + 1))
    return np.array(sums, dtype=np.float64)


def cap_matches(metric, sums):
    """Return sums in which no order has more matches than n-grams."""
    names, sums = metric.stat_names, sums.copy()
    for place, name in enumerate(names):
        prefix, _, what = name.rpartition(".")
        head = f"{prefix}." if prefix else ""
        if what.startswith("matches_"):
            order = what.removeprefix("matches_")
            for other in (f"{head}totals_{order}", f"{head}hyp_{order}", f"{head}ref_{order}"):
                if other in names:
                    sums[place] = min(sums[place], sums[names.index(other)])
    return sums


@pytest.mark.parametrize("spec", METRICS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([2, 9, 60, 100_000]))
def test_no_sums_between_the_corners_exceed_the_limit(spec, sign, seed, size):
    metric, rng = load_metric(spec), np.random.default_rng(seed)
    one, other = draw_counts(metric, rng, size), draw_counts(metric, rng, size)
    low, high = np.minimum(one, other), np.maximum(one, other)
    if rng.random() < 0.3:  # statistics that are the same for all rows, as with one reference
        fixed = rng.random(len(low)) < 0.5
        high[fixed] = low[fixed]
    point = rng.uniform(low - 1, high + 1)
    majorant = metric.majorant(point, low, high, sign=sign)
    assert majorant is not None
    drawn = rng.integers(low.astype(int), high.astype(int) + 1, (60, len(low))).astype(float)
    corners = np.where(rng.random((60, len(low))) < 0.5, low, high)
    for sums in (low, high, *drawn, *corners):
        sums = cap_matches(metric, sums)
        if np.any(sums < low):
            continue
        height = majorant.constant + float(majorant.slopes @ sums)
        assert sign * float(metric.score(sums)) <= majorant.limit(height)
        line = majorant.line(low, high)
        assert sign * float(metric.score(sums)) <= line.limit(line.constant + float(line.slopes @ sums))


@pytest.mark.parametrize("spec", METRICS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_where_the_corners_meet_the_limit_is_the_score(spec, sign):
    metric, rng = load_metric(spec), np.random.default_rng(3)
    for _ in range(20):
        sums = cap_matches(metric, 5 + draw_counts(metric, rng, 50))
        majorant = metric.majorant(sums, sums, sums, sign=sign)
        height = majorant.constant + float(majorant.slopes @ sums)
        score = sign * float(metric.score(sums))
        assert majorant.limit(height) == pytest.approx(score, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("spec", METRICS)
def test_the_level_of_a_score_is_where_the_limit_reaches_it(spec):
    metric, rng = load_metric(spec), np.random.default_rng(4)
    for _ in range(10):
        low = 5 + draw_counts(metric, rng, 50)
        high = low + draw_counts(metric, rng, 9)
        majorant = metric.majorant(low, low, high)
        for target in (0.5, 7.0, 40.0, 99.0):
            level = majorant.level(target)
            assert majorant.limit(level) <= target
            assert majorant.limit(level) == pytest.approx(target, rel=1e-6)


def test_a_frozen_reference_length_would_be_wrong_and_ours_is_not():
    """Short and long references: the brevity penalty of a selection is not concave in its length alone."""
    metric = load_metric("bleu(order=1)")
    low, high = np.array([8.0, 8.0, 4.0, 8.0]), np.array([12.0, 14.0, 4.0, 12.0])
    point = np.array([8.0, 10.0, 4.0, 8.0])
    majorant = metric.majorant(point, low, high)
    for c in range(8, 13):
        for r in range(8, 15):
            sums = np.array([c, r, 4.0, c])
            height = majorant.constant + float(majorant.slopes @ sums)
            assert float(metric.score(sums)) <= majorant.limit(height)


def test_a_rate_rises_to_the_largest_by_dinkelbachs_steps():
    metric = load_metric("length")
    rows = np.array([[3.0, 4.0], [5.0, 6.0], [9.0, 10.0], [1.0, 2.0]])  # 3/4, 5/6, 9/10, 1/2
    point = rows[0]
    for _ in range(4):
        majorant = metric.majorant(point, rows.min(axis=0), rows.max(axis=0))
        point = rows[np.argmax(rows @ majorant.slopes)]
    assert majorant.limit(majorant.constant + float(majorant.slopes @ point)) == pytest.approx(90.0)
