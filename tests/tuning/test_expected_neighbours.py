"""expected with a penalty on neighbouring bins: plain without β, bins in line, the slope of its term."""

import numpy as np
import pytest

from luthier.kbest.groups import FeatureGroup
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import tuner
from luthier.tuning.margin.steps import step_scale
from luthier.tuning.methods.expected import _Negative
from luthier.tuning.ranking.expectation import Expectation
from luthier.tuning.ranking.sentence_gains import Outcomes
from small_problems import last, random_problem

FEW = {"rounds": 1, "iterations": 10}
BINS = [0, 2, 3, 4]


@pytest.fixture
def problem():
    plain = random_problem(4, sentences=12, k=10, features=5)
    groups = [FeatureGroup("f", ("f0", "f2", "f3", "f4"))]
    return ListProblem.of(plain.pool.with_features(plain.pool.features.group(groups)), plain.metric)


def test_no_beta_is_plain_bit_for_bit(problem):
    ways = ({}, {"beta": 0.0, "neighbours": "mnr"})
    plain, none = (last(tuner("expected", **FEW, **way), problem, np.ones(5)) for way in ways)
    assert [state.weights.tobytes() for state in plain] == [state.weights.tobytes() for state in none]


@pytest.mark.parametrize("kind", ["lnr", "mnr"])
def test_bins_come_into_line(problem, kind):
    plain = last(tuner("expected", **FEW), problem, np.ones(5))[-1].weights[BINS]
    assert np.abs(np.diff(plain, 2)).max() > 0.05 * np.abs(plain).max()
    states = last(tuner("expected", neighbours=kind, beta=1e7, **FEW), problem, np.ones(5))
    for state in states[1:]:
        w = state.weights[BINS]
        assert "not converged" not in state.did
        assert state.record == {"beta": 1e7, "pairs": 600.0, "beta_per_pair": 1e7 / 600}
        if kind == "lnr":
            assert np.abs(np.diff(w, 2)).max() < 1e-2 * np.abs(w).max()
        else:
            assert len(set(np.sign(np.diff(w)[np.abs(np.diff(w)) > 1e-3 * np.abs(w).max()]))) <= 1


def test_the_slope_of_its_term_by_differences(problem):
    method = tuner("expected")
    scale = np.sqrt(step_scale(problem, standardize=True))
    term = _Negative(method, Expectation(problem, Outcomes.of(problem), temperature=0.01), scale)
    w, step = np.array([0.3, -0.2, 0.5, 0.1, -0.4]), 1e-6
    for d, slope in enumerate(term.value_and_gradient(w)[1]):
        move = step * np.eye(5)[d]
        difference = term.value_and_gradient(w + move)[0] - term.value_and_gradient(w - move)[0]
        assert slope == pytest.approx(difference / (2 * step), rel=1e-4, abs=1e-8)
