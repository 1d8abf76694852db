"""Pairwise ranking on every pair, without sampling: squared hinge in O(K log K), or the logistic loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.neighbours.smooth_fit import SummedLoss
from luthier.tuning.ranking.ordered import LOSSES, AllPairsLoss, OrderedLists
from luthier.tuning.ranking.rounds import RankingTuner, top_of
from luthier.tuning.restarts import with_spread


@dataclasses.dataclass(frozen=True)
class Method(RankingTuner):
    """PRO's question asked of all pairs of different gain at the top of lists; nothing is random.

    A round minimises `luthier.tuning.ranking.ordered.AllPairsLoss` and the penalties. The mean is over the pairs
    of a list, so each list counts the same whatever its length.
    """

    published: ClassVar[Mapping[str, Any]] = {
        "gains": "sentence",
        "iterations": 1,
        "keep": "last",
        "top": 0,
        "weighting": "equal",
        "fit_iterations": 1000,
    }

    loss: str = param("hinge", choices=LOSSES, help="loss of a pair's margin")
    weighting: str = param("difference", choices=("equal", "difference"), help="what a pair counts")
    top: int = param(50, low=0, help="hypotheses of a list that a round uses, by score; 0 for all")
    rescale: bool = param(True, help="bring the start to a length at which scores spread by 1")

    # An evaluation costs as much as a whole round of sampled PRO; the next round goes on from here anyway.
    fit_iterations: int = param(
        10, low=1, high=1_000_000, help="steps of L-BFGS in a round without neighbours, at most"
    )

    def begin(self, problem: ListProblem, start: Float64) -> Float64:
        """Return the start at a length from which few steps lead to the end of a fit."""
        return with_spread(problem, start, 1.0) if self.rescale else start

    @property
    def is_random(self) -> bool:
        """Nothing is drawn."""
        return False

    def loss_of(
        self,
        problem: ListProblem,
        weights: Float64,
        gains: Float64,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> SummedLoss:
        """Return the loss of all pairs."""
        problem, rows = top_of(problem, weights, self.top)
        lists = OrderedLists.of(problem.offsets, gains[rows])
        return AllPairsLoss(problem, lists, loss=self.loss, by_gap=self.weighting == "difference")
