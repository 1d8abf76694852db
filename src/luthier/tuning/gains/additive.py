"""Gains as sums over sentences: exactly, where the metric is such a sum, else by the gains of single sentences."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, frozen
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric


@dataclasses.dataclass(frozen=True, eq=False)
class Additive:
    """A value of every hypothesis: the sum over a selection, plus a constant, stands for its gain.

    Attributes
    ----------
    values : (M,) float64
    constant : float
    exact : bool
        Whether the sum *is* the gain; otherwise it is the mean of the sentences' own (smoothed) gains.
    """

    values: Float64
    constant: float
    exact: bool

    @classmethod
    def of(cls, problem: ListProblem) -> Additive:
        """Return the gain of a problem as a sum.

        A rate Σa / Σb is one if b is the same for all hypotheses of a list: Σb does not depend on the
        selection then. Error rates against one reference and means of a column are such rates, and so
        are weighted sums of them; BLEU is none.
        """
        totals = _constant_totals(problem)
        if totals is None:
            return cls(frozen(problem.sentence_gains / problem.pool.n_sentences), 0.0, exact=False)
        columns, sums = totals
        stats = np.array(problem.stats, dtype=np.float64)
        stats[:, columns] = sums
        nothing = np.zeros(stats.shape[1])
        nothing[columns] = sums
        constant = float(problem.gain_of_sums(nothing))
        return cls(frozen(problem.gain_of_sums(stats) - constant), constant, exact=True)

    def problem(self, problem: ListProblem) -> ListProblem:
        """Return the problem whose gain is the sum over the selection, without the constant."""
        stats = np.column_stack([problem.pool.n_sentences * self.values, np.ones(len(self.values))])
        return ListProblem(problem.pool, load_metric("column:value"), frozen(stats), problem.bounds)


def _constant_totals(problem: ListProblem) -> tuple[list[int], Float64] | None:
    """Return the columns of denominators and their sums over the corpus; None where selections change them."""
    columns = _denominators(problem.metric)
    if columns is None:
        return None
    below, starts = problem.stats[:, columns], problem.offsets[:-1]
    if np.any(np.maximum.reduceat(below, starts) != np.minimum.reduceat(below, starts)):
        return None
    sums = np.asarray(below[starts].sum(axis=0), np.float64)
    return (columns, sums) if np.all(sums > 0) else None


def _denominators(metric: Metric) -> list[int] | None:
    """Return which statistics a metric divides by, if it is a sum of rates."""
    rates = metric.rates
    return None if rates is None else [metric.stat_names.index(rate.denominator) for rate in rates]
