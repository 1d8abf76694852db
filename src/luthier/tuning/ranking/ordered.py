"""Lists ordered by gain, and the losses on whole lists: all pairs, and the order itself."""

from __future__ import annotations

import abc
import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.segments import segment_of_rows
from luthier.kbest.spread import spread_in_lists
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.ranking import _order_kernels as kernels
from luthier.tuning.ranking.pairs import VECTORS_OF_A_PAIR, sum_rows

# What a sentence's mean loss is multiplied by: PRO's 50 pairs of two vectors. So the constants of the
# penalties mean the same beside each of these losses.
SENTENCE_WEIGHT = 100.0
LOSSES = ("hinge", "logistic")
# Gains that differ by less are ties: logarithms of equal statistics could differ in their last bits.
GAIN_DECIMALS = 9


@dataclasses.dataclass(frozen=True, eq=False)
class OrderedLists:
    """The rows of every list from the highest gain to the lowest.

    Attributes
    ----------
    offsets : (N+1,) int64
    order : (M,) int64
        The row at each place.
    gains : (M,) float64
        At each place; never rising within a list.
    higher, lower : (M,) int64
        Counted within the list: the first place whose gain is the same, and the first whose gain is lower
        (the list's length if none). Places ``lower[i]`` and on are those i should be ranked above.
    """

    offsets: Int64
    order: Int64
    gains: Float64
    higher: Int64
    lower: Int64

    @classmethod
    def of(cls, offsets: Int64, gains: Float64) -> OrderedLists:
        """Order lists by the gains of their hypotheses, (M,), in O(M log M)."""
        gains = np.round(gains, GAIN_DECIMALS)
        lists = segment_of_rows(offsets)
        order = np.lexsort((-gains, lists))
        gains = gains[order]
        begins = np.ones(len(gains) + 1, dtype=bool)  # of a level: a run of equal gains in one list
        begins[1:-1] = (np.diff(gains) != 0) | (np.diff(lists) != 0)
        levels = np.flatnonzero(begins)
        of_place = np.cumsum(begins[:-1]) - 1
        base = offsets[lists]
        return cls(offsets, flat(order), flat(gains), flat(levels[of_place] - base), flat(levels[of_place + 1] - base))

    def pair_weights(self, *, by_gap: bool) -> Float64:
        """Return the number of pairs of different gain in each list, or the sum of their gaps, (N,)."""
        lengths = np.repeat(np.diff(self.offsets), np.diff(self.offsets))
        below, above = lengths - self.lower, self.higher
        each = self.gains * (below - above) if by_gap else below.astype(np.float64)
        return np.add.reduceat(each, self.offsets[:-1])

    def levels(self) -> Int64:
        """Return how many different gains each list has, (N,)."""
        first = self.higher == np.arange(len(self.order)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        return np.add.reduceat(first.astype(np.int64), self.offsets[:-1])


def _shares(weights: Float64) -> Float64:
    """Return what each list's summed loss is multiplied by, (N,); lists without any pair do not count."""
    return SENTENCE_WEIGHT * np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)


class _ListLoss(abc.ABC):
    """A loss of the scores within lists: its value and its derivative by each score are a kernel's."""

    def __init__(self, problem: ListProblem, lists: OrderedLists, factors: Float64) -> None:
        self.pool, self.lists, self.factors = problem.pool, lists, flat(factors)

    @abc.abstractmethod
    def value_and_slopes(self, scores: Float64, slopes: Float64) -> float:
        """Return the loss of scores, (M,), and write its derivative by each of them."""

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        """Return the value and the gradient, (D,)."""
        slopes = np.empty(self.pool.n_hypotheses)
        value = self.value_and_slopes(flat(self.pool.scores(weights)), slopes)
        return value, sum_rows(self.pool.features, slopes)

    @property
    def n_pairs(self) -> int:
        """How many pairs PRO would sum over for the same weight: 50 for each list that has two gains."""
        return int(SENTENCE_WEIGHT / VECTORS_OF_A_PAIR) * int(np.count_nonzero(self.factors))

    def curvature(self, weights: Float64 | None = None) -> Float64:  # noqa: ARG002
        """Return about the second derivatives at w = 0, (D,).

        The mean square difference of two of a list is twice its variance, of which the logistic loss
        takes a quarter.
        """
        return SENTENCE_WEIGHT * np.count_nonzero(self.factors) * 0.5 * spread_in_lists(self.pool) ** 2


class AllPairsLoss(_ListLoss):
    r"""The loss of every pair of different gain, as a weighted mean over each list's pairs.

    .. math:: L(w) = 100 \sum_s \frac{\sum_{g_i > g_j} u_{ij}\, ℓ(w·h_i − w·h_j)}{\sum_{g_i > g_j} u_{ij}}

    with ℓ(m) = log(1 + e^{−m}) (``logistic``, O(K²) per list) or max(0, 1 − m)² (``hinge``, O(K log K) by
    order statistics, as [dreyer2015] and [joachims2006]), and u = 1, or g_i − g_j if `by_gap`.
    """

    def __init__(self, problem: ListProblem, lists: OrderedLists, *, loss: str, by_gap: bool) -> None:
        super().__init__(problem, lists, _shares(lists.pair_weights(by_gap=by_gap)))
        self.loss, self.by_gap = loss, by_gap

    def value_and_slopes(self, scores: Float64, slopes: Float64) -> float:
        """Return the loss of scores, (M,), and write its derivative by each of them."""
        x = self.lists
        if self.loss == "hinge":
            return float(
                kernels.all_hinge(
                    scores, x.order, x.offsets, x.lower, x.higher, x.gains, self.by_gap, self.factors, slopes
                )
            )
        return float(
            kernels.all_logistic(scores, x.order, x.offsets, x.lower, x.gains, self.by_gap, self.factors, slopes)
        )


class OrderLoss(_ListLoss):
    r"""Minus the log-probability of the order by gain under the model of Plackett and Luce.

    Of all that is left, the next is drawn with a probability ∝ e^{w·h}. Hypotheses of equal gain make one
    level G_k, of which any may come next; then all of it is taken away:

    .. math:: L(w) = 100 \sum_s \frac{1}{n} \sum_{k=1}^{n} −\log
              \frac{\sum_{i ∈ G_k} e^{w·h_i}}{\sum_{l ≥ k} \sum_{i ∈ G_l} e^{w·h_i}}

    over the first n stages of each list, of which the last level is none. Without ties this is ListMLE
    [xia2008]; with them the order in which equal hypotheses stand does not matter. O(K) per list.
    """

    def __init__(self, problem: ListProblem, lists: OrderedLists, stages: int) -> None:
        super().__init__(problem, lists, _shares(np.minimum(lists.levels() - 1, stages).astype(np.float64)))
        self.stages = stages

    def value_and_slopes(self, scores: Float64, slopes: Float64) -> float:
        """Return the loss of scores, (M,), and write its derivative by each of them."""
        x = self.lists
        return float(kernels.all_plackett_luce(scores, x.order, x.offsets, x.lower, self.stages, self.factors, slopes))
