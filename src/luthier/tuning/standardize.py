"""Features brought to one scale while tuning, and the answer brought back to theirs."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import sparse

from luthier.core.arrays import Float64
from luthier.kbest.features import Features
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.landscape.subspaces import SubstitutedProblem


def standardized(problem: Problem) -> tuple[Problem, Float64]:
    """Return the problem with each feature divided by its spread within lists, and the spreads, (D,).

    Weights w' of the new problem are ``w = w' / spread`` of the old one: w'·(h/s) = (w'/s)·h. A feature
    that never differs keeps its scale. The bins of one feature have one scale, the root mean square of their
    spreads: they stay counts of one kind, whose weights can be neighbours.
    """
    spread = np.array(problem.spread)
    position = {name: d for d, name in enumerate(problem.names)}
    for group in problem.groups:
        columns = [position[name] for name in group.columns]
        spread[columns] = np.sqrt(np.mean(spread[columns] ** 2))
    spread = np.where(spread > 0, spread, 1.0)
    bounds = Bounds(problem.bounds.low * spread, problem.bounds.high * spread)
    return rescaled(problem, spread).with_bounds(bounds), spread


def rescaled(problem: Problem, spread: Float64) -> Problem:
    """Return a problem (a held-out one, say) with each feature divided by a number, and without limits on weights."""
    if not isinstance(problem, ListProblem):
        return SubstitutedProblem(problem, problem.names, sparse.diags_array(1.0 / spread), Bounds.none(len(spread)))
    pool = problem.pool.with_features(_divided(problem.pool.features, spread))
    return dataclasses.replace(problem, pool=pool, bounds=Bounds.none(len(spread)), file=None)


def _divided(features: Features, spread: Float64) -> Features:
    return dataclasses.replace(
        features,
        dense=features.dense / spread[: features.n_dense],
        values=features.values / spread[features.n_dense :][features.indices],
    )
