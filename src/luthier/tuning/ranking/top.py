"""The top of lists: hypotheses that weights nearby may select, without those from deep down that outvote them."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.segments import segment_of_rows
from luthier.landscape.list_problem import ListProblem


def highest_rows(scores: Float64, offsets: Int64, n: int) -> Int64:
    """Return the rows of each list's n highest scores, in their order.

    >>> highest_rows(np.array([1.0, 3.0, 2.0, 5.0]), np.array([0, 3, 4]), 2)
    array([1, 2, 3])
    """
    lists = segment_of_rows(offsets)
    order = np.lexsort((-scores, lists))
    rank = np.arange(len(scores)) - offsets[lists]
    return np.sort(order[rank < n])


def top_of(problem: ListProblem, weights: Float64, n: int) -> tuple[ListProblem, Int64]:
    """Return the problem of each list's n hypotheses that score highest, and their rows; all of them if n is 0."""
    if not n or n >= problem.pool.list_lengths.max():
        return problem, np.arange(problem.pool.n_hypotheses)
    rows = highest_rows(problem.pool.scores(weights), problem.offsets, n)
    return dataclasses.replace(problem, pool=problem.pool.take(rows), stats=frozen(problem.stats[rows])), rows
