"""Listwise ranking: the likelihood of the order by gain under the Plackett–Luce model (ListMLE)."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.ranking.ordered import OrderedLists, OrderLoss
from luthier.tuning.ranking.penalties import SummedLoss
from luthier.tuning.ranking.rounds import RankingTuner


@dataclasses.dataclass(frozen=True)
class Method(RankingTuner):
    """ListMLE [xia2008] on lists ordered by gain; nothing is random.

    A round minimises `luthier.tuning.ranking.ordered.OrderLoss`, in which ties have no order, and the penalties.
    Few stages ask only that the best come first, which is all that counts when one is selected.
    """

    stages: int = param(10, low=1, high=1_000_000_000, help="places from the top whose order counts")
    fit_iterations: int = param(
        20, low=1, high=1_000_000, help="steps of L-BFGS in a round without neighbours, at most"
    )

    def loss_of(
        self,
        problem: ListProblem,
        weights: Float64,  # noqa: ARG002
        gains: Float64,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> SummedLoss:
        """Return the loss of the order of all lists."""
        return OrderLoss(problem, OrderedLists.of(problem.offsets, gains), self.stages)
