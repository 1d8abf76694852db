"""Whether better weights are better by more than chance, on the sentences they were found on and on others."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.jobs.tuning_job import interval_of
from luthier.kbest.features import align_features
from luthier.kbest.pool import Pool
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric


def changes(
    problem: ListProblem, start: Float64, weights: Float64, heldout: Pool | None, metric: Metric
) -> dict[str, dict[str, float]]:
    """Return scores at two weight vectors with the interval of their difference: on these sentences, on held-out ones.

    Intervals are by paired bootstrap, 95 %. On the sentences on which the weights were chosen they flatter.
    """
    found = {"these": _change(problem, start, weights)}
    if heldout is not None:
        features = align_features(heldout.features, problem.names, problem.pool.features.n_dense)
        found["heldout"] = _change(ListProblem.of(heldout.with_features(features), metric), start, weights)
    return found


def _change(problem: ListProblem, start: Float64, weights: Float64) -> dict[str, float]:
    before, after = problem.metric.gain(problem.gains(np.array([start, weights]))).tolist()  # gain is its own inverse
    low, high = interval_of(problem, start, weights)
    return {"before": before, "after": after, "low": low, "high": high, "sentences": problem.n_sentences}
