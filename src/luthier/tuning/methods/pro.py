"""Pairwise ranking: a classifier of sampled pairs, by the logistic loss (Hopkins and May, 2011)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.neighbours.smooth_fit import SummedLoss
from luthier.tuning.ranking.pairs import (
    SELECTIONS,
    PairLoss,
    PairSampling,
    differences,
    sample_pairs,
    shares_of_gaps,
)
from luthier.tuning.ranking.rounds import RankingTuner, top_of


@dataclasses.dataclass(frozen=True)
class Method(RankingTuner):
    r"""PRO [hopkins2011]: which of two hypotheses is better becomes a question of classification.

    A round draws pairs of each sentence anew and minimises

    .. math:: 2 \sum_p u_p \log(1 + e^{−w·d_p}) + c ‖w‖² + c_{prev} ‖w − w_{prev}‖²

    over the differences d of better and worse. Pairs are of the hypotheses that score highest by the weights
    before, since those from deep in the lists outvote them, and count by the difference of their gains.
    """

    order_free: ClassVar[bool] = False
    published: ClassVar[Mapping[str, Any]] = {
        "gains": "sentence",
        "psi": 0.1,
        "falling": False,
        "iterations": 30,
        "keep": "last",
        "top": 0,
        "weighting": "equal",
        "alpha": 5.0,
        "select": "largest",
    }

    draws: int = param(5000, low=1, high=100_000_000, help="pairs drawn of each sentence, at most")
    kept: int = param(50, low=1, high=1_000_000, help="pairs kept of each sentence, at most")
    top: int = param(50, low=0, help="hypotheses of a list that pairs are drawn of, by score; 0 for all")
    alpha: float = param(0.0, low=0.0, help="least difference of two gains, in points of 0-100")
    select: str = param("first", choices=SELECTIONS, help="which pairs are kept: by difference, or as drawn")
    weighting: str = param("difference", choices=("equal", "difference"), help="what a pair counts")
    length_gap: int | None = param(None, low=0, help="words by which the worse one may be longer, at most")

    @property
    def sampling(self) -> PairSampling:
        """How pairs are drawn."""
        return PairSampling(self.draws, self.kept, self.alpha, self.select, self.length_gap)

    def loss_of(self, problem: ListProblem, weights: Float64, gains: Float64, rng: np.random.Generator) -> SummedLoss:
        """Return the loss of newly drawn pairs."""
        problem, rows = top_of(problem, weights, self.top)
        gains = gains[rows]
        pairs = sample_pairs(problem, gains, self.sampling, rng)
        counts = shares_of_gaps(gains, pairs) if self.weighting == "difference" else None
        return PairLoss(differences(problem.pool.features, pairs), counts)
