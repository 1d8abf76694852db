"""From counts to probabilities, against SciPy's special functions."""

import numpy as np
import pytest
from scipy.special import digamma
from small_texts import TEXT, ways

from luthier.alignment.table import LEAST, reestimate, transfer

COUNTS = (0.0, 1e-12, 0.3, 1.0, 7.5, 8.0, 4000.0, 1e12)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 1e3])
def test_with_a_prior_it_is_the_geometric_mean_of_the_posterior(alpha):
    (direction, _), _ = ways(TEXT)
    rng = np.random.default_rng(0)
    counts = rng.choice(COUNTS, len(direction.given_of_type))
    null_counts = rng.choice(COUNTS, direction.n_predicted)
    parameters = reestimate(direction, counts, null_counts, alpha, np.zeros(0))
    totals = np.bincount(direction.given_of_type, counts + alpha)
    expected = np.exp(digamma(counts + alpha) - digamma(totals)[direction.given_of_type])
    np.testing.assert_allclose(parameters.probabilities, np.maximum(expected, LEAST), rtol=1e-11)
    null = np.exp(digamma(null_counts + alpha) - digamma(np.sum(null_counts + alpha)))
    np.testing.assert_allclose(parameters.null, np.maximum(null, LEAST), rtol=1e-11)
    np.testing.assert_allclose(
        parameters.unseen, np.maximum(np.exp(digamma(alpha) - digamma(totals)), LEAST), rtol=1e-11
    )


def test_without_a_prior_it_is_the_share():
    (direction, _), _ = ways(TEXT)
    counts = np.random.default_rng(1).random(len(direction.given_of_type))
    parameters = reestimate(direction, counts, np.ones(direction.n_predicted), 0.0, np.zeros(0))
    np.testing.assert_allclose(np.bincount(direction.given_of_type, parameters.probabilities), 1.0)
    np.testing.assert_allclose(parameters.null, 1 / direction.n_predicted)
    assert (parameters.unseen == LEAST).all()


def test_what_another_text_gets():
    (direction, _), _ = ways([("a b", "x")])
    counts = np.array([3.0, 1.0])
    parameters = reestimate(direction, counts, np.array([2.0]), 0.01, np.array([4.0]))
    (other, _), _ = ways([("a b c", "x y")])  # the same numbers for a, b, x; types a-x a-y b-x b-y c-x c-y
    moved = transfer(parameters, np.array([0, -1, 1, -1, -1, -1]), other)
    np.testing.assert_array_equal(
        moved.probabilities,
        [
            parameters.probabilities[0],
            parameters.unseen[0],
            parameters.probabilities[1],
            parameters.unseen[1],
            1.0,
            1.0,
        ],
    )  # a new given word: every word alike, and there was one
    assert moved.null.tolist() == [parameters.null[0]] * 2
    assert moved.own.tolist() == [4.0]
