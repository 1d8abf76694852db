"""Expectation–maximisation climbs: the likelihood without a prior, the variational bound with one."""

import itertools

import numpy as np
import pytest
from scipy.special import digamma, gammaln
from small_texts import TEXT, ways

from luthier.alignment.base import aligner
from luthier.synthetic.pair.pair import PairGenerator

METHODS = [
    ("model1", {}), ("diagonal", {}), ("diagonal", {"optimize_tension": True}), ("hmm", {"model1_passes": 0}),
]  # fmt: skip


def texts():
    generated = PairGenerator().pairs("train", 60, seed=0)
    return {"hand": TEXT, "generated": [(str(pair.source), str(pair.references[0])) for pair in generated]}


TEXTS = texts()


def divergence(counts, alpha, groups, n_groups):
    """Return Σ KL(Dirichlet(counts + α) ‖ Dirichlet(α)), one distribution for each group."""
    after, types = np.bincount(groups, counts + alpha, n_groups), np.bincount(groups, minlength=n_groups)
    on = types > 0
    value = np.sum(gammaln(after[on]) - gammaln(alpha * types[on])) - np.sum(gammaln(counts + alpha) - gammaln(alpha))
    return value + np.sum(counts * (digamma(counts + alpha) - digamma(after)[groups]))


@pytest.mark.parametrize("text", ["hand", pytest.param("generated", marks=pytest.mark.compiled)])
@pytest.mark.parametrize(("name", "options"), METHODS)
def test_plain_em_never_lowers_the_likelihood(name, options, text):
    for direction in ways(TEXTS[text])[0]:
        steps = aligner(name, alpha=0.0, passes=16, **options).train(direction)
        values = [step.expectation.log_likelihood for step in steps]
        assert len(values) == 15
        assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(values))
        assert values[-1] > values[0]


@pytest.mark.compiled
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize(("name", "options"), METHODS)
def test_with_a_prior_the_bound_never_falls(name, options, alpha):
    """The bound is Σ log p(text | exp E log t) − KL(posterior ‖ prior), NULL's row included."""
    for direction in ways(TEXTS["generated"])[0]:
        steps = list(aligner(name, alpha=alpha, passes=12, **options).train(direction))
        seen = direction.predicted_seen
        bounds = []
        for before, after in itertools.pairwise(steps):
            found = before.expectation
            null = divergence(found.null_counts[seen], alpha, np.zeros(int(seen.sum()), int), 1)
            words = divergence(found.counts, alpha, direction.given_of_type, direction.n_given)
            bounds.append(after.expectation.log_likelihood - null - words)
        assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(bounds))
        assert bounds[-1] > bounds[0]


@pytest.mark.compiled
def test_fitting_the_tension_makes_the_text_likelier():
    direction = ways(TEXTS["generated"])[0][0]
    fixed, fitted = (
        list(aligner("diagonal", alpha=0.0, passes=8, optimize_tension=on).train(direction)) for on in (False, True)
    )
    assert fitted[-1].expectation.log_likelihood > fixed[-1].expectation.log_likelihood
    assert fixed[-1].parameters.own.tolist() == [4.0]
    assert fitted[0].parameters.own.tolist() == [4.0]  # the first pass leaves it
    assert fitted[1].parameters.own.tolist() != [4.0]
