"""The hidden Markov aligner against the enumeration of all alignments; jumps against an optimizer."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from small_texts import PAIRS, every_path, random_parameters, sentence_pairs, ways

from luthier.alignment.base import aligner
from luthier.alignment.methods.hmm import REACH, first_jumps, fit_jumps, jump_rows


def enumerated(direction, parameters, null):
    """Return counts, NULL counts, jump counts, scores and posteriors, from all paths of every pair."""
    counts, null_counts = np.zeros(len(direction.given_of_type)), np.zeros(direction.n_predicted)
    rows = jump_rows(np.diff(direction.text.given_offsets))
    jumps, scores, posteriors = np.zeros_like(rows.choices), [], []
    for types, nulls in sentence_pairs(direction):
        n, m = types.shape
        paths = list(every_path(types, nulls, parameters, null))
        total = sum(p for p, _ in paths)
        posterior = np.zeros((n + 1, m))  # the last row is NULL
        for p, path in paths:
            before = -1
            for j, (place, linked) in enumerate(path):
                posterior[place if linked else n, j] += p / total
                if linked:
                    counts[types[place, j]] += p / total
                    jumps[rows.rows[n] + before + 1, np.clip(place - before, -REACH, REACH) + REACH] += p / total
                else:
                    null_counts[nulls[j]] += p / total
                before = place
        scores.append(np.log(total))
        posteriors.append(posterior)
    return counts, null_counts, jumps, scores, posteriors


def check_against_enumeration(pairs, null, seed):
    method = aligner("hmm", null=null, model1_passes=0)
    for direction in ways(pairs)[0]:
        jumps = np.random.default_rng(seed).random(2 * REACH + 1) + 0.01
        parameters = random_parameters(direction, jumps, seed)
        counts, null_counts, jump_counts, scores, posteriors = enumerated(direction, parameters, null)
        found = method.expect(direction, parameters, 0)
        np.testing.assert_allclose(found.counts, counts, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.null_counts, null_counts, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.own, jump_counts, rtol=1e-9, atol=1e-12)
        assert found.log_likelihood == pytest.approx(sum(scores), rel=1e-9, abs=1e-9)
        one = method.link(direction, parameters)
        np.testing.assert_allclose(one.scores, scores, rtol=1e-9, atol=1e-9)
        links = iter(one.links.tolist())
        for posterior in posteriors:
            n = len(posterior) - 1
            for column in posterior.T:
                link = next(links)
                assert column[link if link >= 0 else n] >= column.max() - 1e-12


@settings(max_examples=30)
@given(PAIRS, st.sampled_from([0.0, 0.2, 0.9]), st.integers(0, 99))
def test_forward_and_backward_sum_over_all_alignments(pairs, null, seed):
    check_against_enumeration(pairs, null, seed)


def test_forward_and_backward_on_four_words():
    check_against_enumeration([("a b a c", "x y z x"), ("b c a a", "y y")], 0.2, 7)


@pytest.mark.parametrize("n", [1, 5, 21, 22, 30])
def test_jumps_beyond_the_reach_are_clipped(n):
    rows = jump_rows(np.array([n, 3]))
    assert (rows.choices[rows.rows[n] : rows.rows[n] + n + 1].sum(axis=1) == n).all()
    assert (rows.choices[rows.rows[3] : rows.rows[3] + 4].sum(axis=1) == 3).all()
    start = rows.choices[rows.rows[n]]  # from place −1: jumps of 1 … n, the far ones clipped
    expected = np.zeros(2 * REACH + 1)
    for b in range(n):
        expected[min(b + 1, REACH) + REACH] += 1
    assert start.tolist() == expected.tolist()
    last = rows.choices[rows.rows[n] + n]
    assert last.tolist() == np.bincount([max(-b, -REACH) + REACH for b in range(n)], minlength=41).tolist()


def likelihood(jumps, counts, choices):
    """Return Σ c·log(J_d/Z), of the jumps that were made."""
    z = (choices * jumps).sum(axis=1)
    return float((counts * (np.log(jumps)[None, :] - np.log(z)[:, None]))[counts > 0].sum())


def test_fitted_jumps_never_get_worse_and_end_at_the_best():
    rows = jump_rows(np.array([2, 3, 5, 26]))
    rng = np.random.default_rng(3)
    counts = rng.random(rows.choices.shape) * (rows.choices > 0) * rng.integers(0, 3, rows.choices.shape)
    jumps, values = first_jumps(), []
    for _ in range(60):
        values.append(likelihood(jumps, counts, rows.choices))
        jumps = fit_jumps(jumps, counts, rows.choices)
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(values))
    reached = (rows.choices * counts.sum(axis=1)[:, None]).sum(axis=0) > 0
    best = minimize(
        lambda logs: -likelihood(np.exp(logs), counts, rows.choices), np.log(jumps) + 0.3, method="L-BFGS-B",
        bounds=[(-20, 20) if on else (np.log(j), np.log(j)) for on, j in zip(reached, jumps, strict=True)],
        options={"maxfun": 100_000},
    )  # fmt: skip
    assert values[-1] == pytest.approx(-best.fun, rel=1e-6)
    # the usual shortcut, counts over their sum, is no maximum
    shortcut = np.maximum(counts.sum(axis=0), 1e-9)
    assert likelihood(shortcut / shortcut.sum(), counts, rows.choices) < values[-1] - 1e-3


def test_jumps_that_no_sentence_allows_stay_possible():
    rows = jump_rows(np.array([1]))
    counts = np.zeros_like(rows.choices)
    counts[0, REACH + 1] = 5.0
    jumps = fit_jumps(first_jumps(), counts, rows.choices)
    assert np.isfinite(jumps).all()
    assert (jumps > 0).all()
    assert jumps.sum() == pytest.approx(1.0)
