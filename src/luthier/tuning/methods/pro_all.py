"""Pairwise ranking on every pair, without sampling: squared hinge in O(K log K), or the logistic loss."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.ranking.ordered import LOSSES, AllPairsLoss, OrderedLists
from luthier.tuning.ranking.penalties import SummedLoss
from luthier.tuning.ranking.rounds import RankingTuner


@dataclasses.dataclass(frozen=True)
class Method(RankingTuner):
    """PRO's question asked of all pairs of different gain; nothing is random.

    A round minimises `luthier.tuning.ranking.ordered.AllPairsLoss` and the penalties. The mean is over the pairs
    of a list, so each list counts the same whatever its length.
    """

    loss: str = param("hinge", choices=LOSSES, help="loss of a pair's margin")
    weighting: str = param("difference", choices=("equal", "difference"), help="what a pair counts")

    # An evaluation costs as much as a whole round of sampled PRO; the next round goes on from here anyway.
    fit_iterations: int = param(
        10, low=1, high=1_000_000, help="steps of L-BFGS in a round without neighbours, at most"
    )

    def loss_of(
        self,
        problem: ListProblem,
        weights: Float64,  # noqa: ARG002
        gains: Float64,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> SummedLoss:
        """Return the loss of all pairs."""
        lists = OrderedLists.of(problem.offsets, gains)
        return AllPairsLoss(problem, lists, loss=self.loss, by_gap=self.weighting == "difference")
