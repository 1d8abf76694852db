"""Listwise ranking: the likelihood of the order by gain under the Plackett–Luce model (ListMLE)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.neighbours.smooth_fit import SummedLoss
from luthier.tuning.ranking.ordered import OrderedLists, OrderLoss
from luthier.tuning.ranking.rounds import RankingTuner, top_of
from luthier.tuning.restarts import with_spread


@dataclasses.dataclass(frozen=True)
class Method(RankingTuner):
    """ListMLE [xia2008] on lists ordered by gain; nothing is random.

    A round minimises `luthier.tuning.ranking.ordered.OrderLoss`, in which ties have no order, and the penalties.
    Few stages ask only that the best come first, which is all that counts when one is selected.
    """

    published: ClassVar[Mapping[str, Any]] = {
        "gains": "sentence",
        "iterations": 1,
        "keep": "last",
        "stages": 1_000_000_000,
        "top": 0,
        "fit_iterations": 1000,
    }

    stages: int = param(10, low=1, high=1_000_000_000, help="places from the top whose order counts")
    top: int = param(50, low=0, help="hypotheses of a list that a round uses, by score; 0 for all")
    rescale: bool = param(True, help="bring the start to a length at which scores spread by 1")
    fit_iterations: int = param(
        20, low=1, high=1_000_000, help="steps of L-BFGS in a round without neighbours, at most"
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
        """Return the loss of the order of all lists."""
        problem, rows = top_of(problem, weights, self.top)
        return OrderLoss(problem, OrderedLists.of(problem.offsets, gains[rows]), self.stages)
