"""Model 1 and the diagonal: counts, links, scores and the tension against plain sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_texts import PAIRS, TEXT, posterior_by_place, random_parameters, sentence_pairs, ways

from luthier.alignment import positions

TENSIONS = st.sampled_from([0.0, 0.1, 4.0, 14.0])


@settings(max_examples=60)
@given(PAIRS, TENSIONS, st.sampled_from([0.0, 0.08, 0.9]), st.integers(0, 99))
def test_a_pass_is_the_formula(pairs, tension, null, seed):
    for direction in ways(pairs)[0]:
        parameters = random_parameters(direction, np.zeros(0), seed)
        counts, null_counts = np.zeros(len(direction.given_of_type)), np.zeros(direction.n_predicted)
        choices, scores = [], []
        for types, nulls in sentence_pairs(direction):
            q, none, total = posterior_by_place(types, nulls, parameters, tension=tension, null=null)
            np.add.at(counts, types, q)
            np.add.at(null_counts, nulls, none)
            choices += np.vstack([q, none]).T.tolist()
            scores.append(np.log(total).sum())
        found = positions.expect(direction, parameters, tension=tension, null=null)
        np.testing.assert_allclose(found.counts, counts, rtol=1e-10)
        np.testing.assert_allclose(found.null_counts, null_counts, rtol=1e-10, atol=1e-300)
        assert found.log_likelihood == pytest.approx(sum(scores), rel=1e-10, abs=1e-10)
        one = positions.link(direction, parameters, tension=tension, null=null)
        np.testing.assert_allclose(one.scores, scores, rtol=1e-10, atol=1e-10)
        for link, posteriors in zip(one.links, choices, strict=True):  # the last is NULL's, as −1 is the last
            assert posteriors[link] >= max(posteriors) - 1e-12


def test_ties_go_to_the_first_place():
    direction = ways([("a a a", "x x")])[0][0]
    parameters = random_parameters(direction, np.zeros(0), 0)
    assert positions.link(direction, parameters, tension=0.0, null=0.0).links.tolist() == [0, 0]


@pytest.mark.parametrize("null", [0.08, 0.5])
def test_the_derivative_by_the_tension_is_that_of_the_expected_likelihood(null):
    """Q(λ) = Σ q·log(exp(λ·h)/Z_λ), q fixed, summed plainly; its differences are the slope."""
    direction = ways(TEXT)[0][0]
    parameters = random_parameters(direction, np.zeros(0), 5)
    posteriors = [
        posterior_by_place(types, nulls, parameters, tension=4.0, null=null)[0]
        for types, nulls in sentence_pairs(direction)
    ]

    def expected(tension):
        value = 0.0
        for q in posteriors:
            n, m = q.shape
            slant = -np.abs((np.arange(n)[:, None] + 1) / n - (np.arange(m) + 1) / m)
            value += (q * (tension * slant - np.log(np.exp(tension * slant).sum(axis=0)))).sum()
        return value

    slants = positions.Slants(direction, parameters, tension=4.0, null=null)
    step = 1e-4
    for tension in (0.1, 1.0, 4.0, 9.0, 14.0):
        slope, curvature = slants.derivative(tension)
        below, here, above = (expected(tension + step * k) for k in (-1, 0, 1))
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-8)
        assert curvature == pytest.approx((above - 2 * here + below) / step**2, rel=1e-3)
    best = slants.best_tension(4.0)
    grid = np.linspace(0.1, 14.0, 2000)
    assert expected(best) >= max(expected(t) for t in grid) - 1e-9
    assert (
        slants.best_tension(0.1) == pytest.approx(best, abs=1e-6) == pytest.approx(slants.best_tension(14.0), abs=1e-6)
    )


def test_the_tension_stays_within_its_limits():
    straight = ways([("a b c d", "a b c d")] * 3)[0][0]
    sure = random_parameters(straight, np.zeros(0), 0)
    eye = sure.probabilities * 0 + 1e-9
    for types, _ in sentence_pairs(straight):
        eye[np.diag(types)] = 1.0
    parameters = type(sure)(eye, sure.null, sure.unseen, sure.own)
    assert positions.Slants(straight, parameters, tension=4.0, null=0.08).best_tension(4.0) == pytest.approx(14.0)
    one_word = ways([("a", "x")])[0][0]  # every tension is as good: nothing may break
    parameters = random_parameters(one_word, np.zeros(0), 0)
    assert 0.1 <= positions.Slants(one_word, parameters, tension=4.0, null=0.08).best_tension(4.0) <= 14.0
