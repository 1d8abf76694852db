"""What can be had without tuning: the first of each list, each scorer alone, equal weights.

Tuned weights are worth what they add to the best of these. Which that is, and with which signs, is found on the tuning
sentences and kept for all others. The random choice and the oracle are shown beside them: nobody would use the first,
nobody can use the second.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.sharded_problem import ShardedProblem

Lists = ListProblem | ShardedProblem

MOST_SCORERS = 64  # with more features none is tried alone, and no sign is found
LARGEST_POWER = 300  # of two: weights stay below it, far from where products with features overflow
RANDOM, FIRST, ORACLE, START = "random choice", "first of each list", "oracle", "start"
ALONE = " alone"
DECLARED, CORRELATED = "equal weights", "equal weights, signs by correlation"


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """One way to choose from every list, and its score.

    Attributes
    ----------
    name : str
    weights : (D,), or None where it is no weight vector
    score : float
    """

    name: str
    weights: Float64 | None
    score: float

    @property
    def is_baseline(self) -> bool:
        """Whether it can be used without references; the random choice and the oracle are shown only."""
        return self.name not in (RANDOM, ORACLE)


@dataclasses.dataclass(frozen=True, eq=False)
class Baselines:
    """The choices on the sentences of a problem.

    Attributes
    ----------
    problem : of lists, in one piece or in parts
    choices : the random choice first, the oracle last
    best_name : of the baseline with the highest gain on the tuning sentences
    """

    problem: Lists
    choices: tuple[Choice, ...]
    best_name: str

    @property
    def best(self) -> Choice:
        """The baseline that is the best on the tuning sentences."""
        return self.named(self.best_name)

    def named(self, name: str) -> Choice:
        """Return the choice of a name."""
        for choice in self.choices:
            if choice.name == name:
                return choice
        raise LuthierError(f"there is no baseline {name!r}. hint: {', '.join(c.name for c in self.choices)}")

    @property
    def best_alone(self) -> Choice | None:
        """The scorer that is the best alone on these sentences; None where none was tried."""
        alone = [choice for choice in self.choices if choice.name.endswith(ALONE)]
        return max(alone, key=lambda choice: _gain(self.problem, choice), default=None)

    def statistics(self, choice: Choice) -> npt.NDArray[Any]:
        """Return the statistics of what is chosen of each list, (N, S): what intervals are made of."""
        return _statistics(self.problem, choice.name, choice.weights)

    def on(self, problem: Lists) -> Baselines:
        """Return the same choices on other sentences, with the same signs and the same best."""
        choices = tuple(_choice(problem, choice.name, choice.weights) for choice in self.choices)
        return Baselines(problem, choices, self.best_name)

    def start_weights(self) -> Float64:
        """Return the weights to start a tuner from where none are given, (D,)."""
        weights = self.best_start().weights
        assert weights is not None  # `best_start` is a weight vector
        return weights

    def best_start(self) -> Choice:
        """Return the weight vector with the highest gain inside the bounds, the order of lists left aside.

        A scorer that ties in most lists owes its score to their order, and is a poor place to start from: so where rows
        tie, their mean counts here.
        """
        problem, found = self.problem, []
        for choice in self.choices:
            if choice.weights is not None:
                clipped = problem.bounds.clip(choice.weights)
                same = np.array_equal(clipped, choice.weights)
                found.append(choice if same else _choice(problem, f"{choice.name}, inside the bounds", clipped))
        if not found:  # no feature differs in any list
            return _choice(problem, DECLARED, problem.default_start())
        return max(found, key=lambda choice: _own_gain(problem, choice))

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        names = self.problem.names
        return {
            "best": self.best_name,
            "choices": [
                {
                    "name": choice.name,
                    "baseline": choice.is_baseline,
                    "score": choice.score,
                    "weights": None
                    if choice.weights is None
                    else dict(zip(names, choice.weights.tolist(), strict=True)),
                }
                for choice in self.choices
            ],
        }


def baselines(problem: Lists, start: Float64 | None = None) -> Baselines:
    """Return what can be had of a problem's lists without tuning; `start`, (D,), is one more baseline where given.

    Equal weights are equal in units in which features spread alike within lists. Their signs are those that were
    declared (minus for costs), or those of the correlation with the gain of a sentence.
    """
    choices = [_choice(problem, RANDOM), _choice(problem, FIRST)]
    choices += [_choice(problem, name, weights) for name, weights in _vectors(problem, start)]
    choices += [*_scorers(problem), _choice(problem, ORACLE)]
    usable = [choice for choice in choices if choice.is_baseline]
    best = max(usable, key=lambda choice: _gain(problem, choice))  # of several the first
    return Baselines(problem, tuple(choices), best.name)


def _vectors(problem: Lists, start: Float64 | None) -> Iterator[tuple[str, Float64]]:
    if start is not None:
        yield START, start
    units = _units(problem)
    columns = np.flatnonzero(units)
    if not len(columns):
        return
    yield DECLARED, problem.signs * units
    if len(columns) <= MOST_SCORERS:
        signs = np.ones_like(units)
        signs[columns] = np.where(problem.agreement(columns.tolist()).sum(axis=0) < 0, -1.0, 1.0)
        if np.any(units * signs != units * problem.signs):
            yield CORRELATED, signs * units


def _scorers(problem: Lists) -> Iterator[Choice]:
    """Yield each feature that differs within lists alone, with the sign that gains more; the declared one if equal."""
    units = _units(problem)
    columns = np.flatnonzero(units)
    for feature in columns.tolist() if len(columns) <= MOST_SCORERS else ():
        weights = np.zeros(problem.n_features)
        weights[feature] = problem.signs[feature] * units[feature]
        both = [_choice(problem, f"{problem.names[feature]}{ALONE}", vector) for vector in (weights, 0.0 - weights)]
        best = max(both, key=lambda choice: _gain(problem, choice))
        assert best.weights is not None
        yield dataclasses.replace(best, name=f"{'−' if best.weights[feature] < 0 else ''}{best.name}")


def _units(problem: Lists) -> Float64:
    """Return the weight with which each feature spreads by 1 within lists, (D,); 0 where it never differs.

    All of them smaller by one power of two where the largest would be too large.
    """
    usable = problem.moving & (problem.spread > 0)
    if not usable.any():
        return np.zeros(problem.n_features)
    fractions, powers = np.frexp(np.where(usable, problem.spread, 1.0))
    shift = max(0, int((-powers[usable]).max()) - LARGEST_POWER)
    return np.where(usable, np.ldexp(1.0 / fractions, -powers - shift), 0.0)


def _choice(problem: Lists, name: str, weights: Float64 | None = None) -> Choice:
    total = _statistics(problem, name, weights).sum(axis=0)
    return Choice(name, weights, float(problem.metric.score(total)))


def _statistics(problem: Lists, name: str, weights: Float64 | None) -> npt.NDArray[Any]:
    """Return the statistics of what weights choose, or of the random choice, the first of each list, or the oracle."""
    if name == RANDOM:
        return problem.mean_statistics()
    if name == ORACLE:
        return problem.best_statistics()
    vector = np.zeros(problem.n_features) if weights is None else weights  # with zeros all tie, and the first is chosen
    found: npt.NDArray[Any] = problem.selected(vector[None])[0]
    return found


def _own_gain(problem: Lists, choice: Choice) -> float:
    """Return the gain of a weight vector where ties are averaged."""
    assert choice.weights is not None
    return float(problem.metric.gain(problem.metric.score(problem.tied_statistics(choice.weights).sum(axis=0))))


def _gain(problem: Lists, choice: Choice) -> float:
    return float(problem.metric.gain(np.array(choice.score)))
