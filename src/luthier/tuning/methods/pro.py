"""Pairwise ranking: a classifier of sampled pairs, by the logistic loss (Hopkins and May, 2011)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.ranking.pairs import SELECTIONS, PairLoss, PairSampling, differences, sample_pairs
from luthier.tuning.ranking.penalties import SummedLoss
from luthier.tuning.ranking.rounds import RankingTuner


@dataclasses.dataclass(frozen=True)
class Method(RankingTuner):
    r"""PRO [hopkins2011]: which of two hypotheses is better becomes a question of classification.

    A round draws pairs of each sentence anew and minimises

    .. math:: 2 \sum_p \log(1 + e^{−w·d_p}) + c ‖w‖² + c_{prev} ‖w − w_{prev}‖²

    over the differences d of better and worse. The paper's setting is ``gains=sentence``.
    """

    order_free: ClassVar[bool] = False

    draws: int = param(5000, low=1, high=100_000_000, help="pairs drawn of each sentence")
    kept: int = param(50, low=1, high=1_000_000, help="pairs kept of each sentence, at most")
    alpha: float = param(5.0, low=0.0, help="least difference of two gains, in points of 0-100")
    select: str = param("largest", choices=SELECTIONS, help="which pairs are kept: by difference, or as drawn")
    length_gap: int | None = param(None, low=0, help="words by which the worse one may be longer, at most")

    @property
    def sampling(self) -> PairSampling:
        """How pairs are drawn."""
        return PairSampling(self.draws, self.kept, self.alpha, self.select, self.length_gap)

    def loss_of(self, problem: ListProblem, gains: Float64, rng: np.random.Generator) -> SummedLoss:
        """Return the loss of newly drawn pairs."""
        return PairLoss(differences(problem.pool.features, sample_pairs(problem, gains, self.sampling, rng)))
