"""What a tuner with a smooth objective inherits to keep neighbouring bins in line."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from luthier.core.params import param
from luthier.landscape.problem import Problem
from luthier.tuning.base import ListTuner, State
from luthier.tuning.neighbours.penalty import KINDS, Neighbours
from luthier.tuning.neighbours.smooth_fit import Fit

NONE = "none"


@dataclasses.dataclass(frozen=True)
class NeighbourTuner(ListTuner):
    """Base of the tuners that can add a penalty on neighbouring bins, of the groups the problem knows.

    Beside a tuner's own sum β is what it is: with twice as many pairs in the sum it counts half as much.
    """

    size_means: ClassVar[str] = "the tuner has a penalty on their size"

    neighbours: str = param(NONE, choices=(NONE, *KINDS), help="penalty on weights of neighbouring bins")
    beta: float = param(1000.0, low=0.0, high=1e15, help="weight of that penalty, beside the sum over all pairs")
    gamma: float = param(2.0, low=0.5, high=100.0, help="how sharply mnr sets in where a bin leaves its neighbours")

    def refuses(self, problem: Problem) -> str:
        """Return why this method cannot work on a problem, or '' if it can."""
        reason = super().refuses(problem)
        return reason or ("" if self.neighbours == NONE else no_bins(problem, self.neighbours))

    def penalty_on_neighbours(self, problem: Problem) -> Neighbours | None:
        """Return the penalty on the problem's bins; None where there is none, or nothing of it."""
        if self.neighbours == NONE or not self.beta:
            return None
        return Neighbours.of(problem.groups, problem.names, kind=self.neighbours, strength=self.beta, gamma=self.gamma)


def no_bins(problem: Problem, kind: str) -> str:
    """Return why a penalty on neighbours has nothing to hold, or '' if it has."""
    if any(len(group.columns) > 2 for group in problem.groups):
        return ""
    return (
        f"{kind} is a penalty on three or more neighbouring bins of a feature, and no features are known to be such "
        "bins. hint: 'luthier engine discretize' makes them, `bins` names their file"
    )


def told(state: State, fit: Fit, neighbours: Neighbours, n_pairs: int) -> State:
    """Return the state with what its penalty on neighbours was, beside so many pairs."""
    each = neighbours.strength / max(n_pairs, 1)
    note = f"{neighbours.kind} with β = {neighbours.strength:g}, {each:.4g} for each of {n_pairs:,} pairs"
    if not fit.converged:
        note += "; the fit did not converge"
    record = {"beta": neighbours.strength, "pairs": float(n_pairs), "beta_per_pair": each}
    return dataclasses.replace(state, note=note, record=record)
