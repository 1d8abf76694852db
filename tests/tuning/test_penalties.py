"""Penalties see the problem: one that ties the weights of neighbouring bins joins by a method."""

import dataclasses

import numpy as np

from luthier.kbest.groups import FeatureGroup
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.methods.pro_all import Method
from small_problems import last, random_problem


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbours:
    """strength · Σ (w_i − w_{i+1})² over the bins of one feature, in their order."""

    strength: float
    columns: list

    def value_and_gradient(self, weights):
        steps, gradient = np.diff(weights[self.columns]), np.zeros(len(weights))
        np.add.at(gradient, self.columns[1:], 2 * self.strength * steps)
        np.add.at(gradient, self.columns[:-1], -2 * self.strength * steps)
        return self.strength * float(steps @ steps), gradient

    def curvature(self):
        return np.bincount(self.columns, minlength=4) * 4.0 * self.strength


@dataclasses.dataclass(frozen=True)
class Smooth(Method):
    """All pairs, with neighbouring bins tied together."""

    def penalties(self, problem, previous):
        groups = [[problem.index(name) for name in group.columns] for group in problem.groups]
        return [*super().penalties(problem, previous), *(Neighbours(1e6, columns) for columns in groups)]


def roughness(method, problem):
    weights = last(method, problem, np.ones(4))[-1].weights
    return np.abs(np.diff(weights[[0, 2, 3]])).max()


def test_a_penalty_on_neighbouring_bins_joins_with_the_groups_of_the_pool():
    problem = random_problem(4, sentences=12, k=10, features=4)
    binned = problem.pool.features.group([FeatureGroup("f", ("f0", "f2", "f3"))])
    binned = ListProblem.of(problem.pool.with_features(binned), problem.metric)
    assert problem.groups == ()
    assert [group.columns for group in binned.groups] == [("f0", "f2", "f3")]
    options = {"keep": "last", "psi": 1.0, "gains": "sentence", "iterations": 1, "fit_iterations": 200}
    assert roughness(Smooth(**options), problem) == roughness(Method(**options), problem) > 1e-3
    assert roughness(Smooth(**options), binned) < 0.1 * roughness(Method(**options), binned)
