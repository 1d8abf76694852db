"""What is found near weights that were looked at is what the problem itself says."""

import numpy as np
import pytest

from luthier.geometry.subspace import Subspace
from luthier.landscape.lines.line_report import follow_line, see_line
from luthier.landscape.lines.projection_cache import MOST_MOVED, SELECTIONS, ProjectionCache
from luthier.landscape.list_problem import ListProblem
from luthier.synthetic.lists.noisy_channel import SyntheticLists


@pytest.fixture(scope="module")
def problem():
    return ListProblem.of(SyntheticLists(sentences=8, k=60, vocabulary=120).generate(1), "bleu")


def test_selections_gains_and_curves_are_the_problem_s_own(problem):
    sighted, rng = ProjectionCache(problem), np.random.default_rng(0)
    weights = problem.default_start()
    for turn in range(SELECTIONS + 4):
        weights = weights.copy()
        moved = rng.choice(problem.n_features, size=1 + turn % (MOST_MOVED + 2), replace=False)
        weights[moved] += rng.normal(size=len(moved)) * 10.0 ** rng.integers(-14, 3)
        np.testing.assert_array_equal(sighted.select(weights), problem.select(weights))
        assert sighted.select(weights) is sighted.select(weights.copy())
        assert sighted.gain(weights) == problem.gain(weights)
    direction = np.eye(problem.n_features)[:1]
    one, other = next(sighted.curves(weights, direction)), next(problem.curves(weights, direction))
    np.testing.assert_array_equal(one.breakpoints, other.breakpoints)
    np.testing.assert_array_equal(one.gains, other.gains)


def test_a_line_seen_at_once_is_the_line_followed(problem):
    line = Subspace(problem.default_start(), np.eye(problem.n_features)[2:3])
    seen, followed = see_line(ProjectionCache(problem), line), follow_line(problem, line)
    assert seen.optimum == followed.optimum
    assert seen.start_score == followed.start_score
    np.testing.assert_array_equal(seen.scores, followed.scores)
