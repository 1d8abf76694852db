"""What a tuner is: a frozen set of parameters, and steps from a start towards better weights.

A file ``tuning/methods/<name>.py`` holds one tuner as a frozen dataclass `Method(Tuner)`; its docstring's
first line is the help line, its fields, declared by `luthier.core.params.param`, are the options.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Float64, frozen
from luthier.core.errors import LuthierError
from luthier.core.params import UnknownParameterError, validate
from luthier.core.plugins import available, load
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem

PACKAGE = "luthier.tuning.methods"


@dataclasses.dataclass(frozen=True, eq=False)
class State:
    """Where a tuner stands after a step; small and picklable.

    Attributes
    ----------
    weights : (D,) float64
    gain : float
        The problem's gain at `weights`, exactly.
    did : str
        What the step was, in a few words.
    objective : float or None
        The value of the tuner's own objective (a loss, a margin), where it has one.
    note : str
        What people should know of it as an answer, such as the size of a proof; '' if nothing.
    record : name → number
        What programs should know of it: constants as they were used.
    """

    weights: Float64
    gain: float
    did: str = ""
    objective: float | None = None
    note: str = ""
    record: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen(np.array(self.weights, dtype=np.float64)))


@dataclasses.dataclass(frozen=True)
class Tuner(abc.ABC):
    """Base of all tuners.

    Attributes
    ----------
    monotone : bool
        Whether the last state is never worse than the start on the tuning pool.
    sparse : bool
        Whether the method is meant for many (sparse) features.
    order_free : bool
        Whether the order of sentences changes nothing but the rounding of the answer.
    needs_lists : bool
        Whether it works on K-best lists only; if not, on every `Problem`.
    published : name → value
        The parameters with which it is what its paper describes; empty where there is no such setting.
    size_means : str
        What the size of its answer means, in a few words; '' where only the direction counts.
    """

    monotone: ClassVar[bool] = True
    sparse: ClassVar[bool] = False
    order_free: ClassVar[bool] = True
    needs_lists: ClassVar[bool] = False
    published: ClassVar[Mapping[str, Any]] = {}
    size_means: ClassVar[str] = ""

    def __post_init__(self) -> None:
        validate(self)

    @abc.abstractmethod
    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the state after each step; the first is the start itself, the last is the answer.

        Pure in its arguments: it prints nothing, reads nothing, changes neither `start` nor itself.
        """

    @property
    def is_random(self) -> bool:
        """Whether its answer depends on the seed; if not, runs from one start are all the same."""
        return True

    def on_trial(self, problem: Problem) -> list[Tuner]:  # noqa: ARG002
        """Return the tuners that folds may choose from: only one that leaves the choice to them has several."""
        return [self]

    def refuses(self, problem: Problem) -> str:
        """Return why this method cannot work on a problem, or '' if it can."""
        if self.needs_lists and not isinstance(problem, ListProblem):
            return "it needs lists of hypotheses, and this problem has none"
        return ""

    @property
    def name(self) -> str:
        """The tuner's public name: that of its file."""
        return type(self).__module__.rsplit(".", 1)[-1].replace("_", "-")

    @property
    def spec(self) -> str:
        """The tuner with all its parameters."""
        values = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self))
        return f"{self.name}({', '.join(values)})"


class ListTuner(Tuner):
    """Base of the tuners that look into K-best lists: at features, statistics or selections of hypotheses."""

    needs_lists: ClassVar[bool] = True

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the state after each step, as every tuner does, or raise for a problem without lists."""
        if not isinstance(problem, ListProblem):
            raise LuthierError(f"{self.name} cannot be used here: {self.refuses(problem)}")
        return self.steps_on_lists(problem, start, rng)

    @abc.abstractmethod
    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the state after each step; what `Tuner.steps` asks for holds here."""


def tuner(name: str, *, published: bool = False, **parameters: Any) -> Tuner:
    """Return a tuner by its name: ``tuner("pro", c=0.1)``; as its paper has it where `parameters` say nothing else."""
    if not isinstance(name, str):
        raise LuthierError(f"expected the name of a tuner, found {name!r}. known: {', '.join(available(PACKAGE))}")
    method: type[Tuner] = load(PACKAGE, name)
    known = [field.name for field in dataclasses.fields(method)]
    unknown = [parameter for parameter in parameters if parameter not in known]
    if unknown:
        has = f"it has: {', '.join(known)}" if known else "it has none"
        raise UnknownParameterError(f"the tuner {name!r} has no parameter {unknown[0]!r}. {has}")
    return method(**{**(published_setting(method, name) if published else {}), **parameters})


def published_setting(method: type[Tuner], name: str) -> Mapping[str, Any]:
    """Return the parameters of a method's paper, or raise where it has none."""
    if not method.published:
        have = [other for other in available(PACKAGE) if load(PACKAGE, other).published]
        raise LuthierError(f"{name} has no setting of a paper. hint: these have: {', '.join(have)}")
    return method.published


# The best of many epochs: the answer of tuners whose last epoch need not be their best.

KEEPS = ("best", "last")


def keep_best(states: Iterable[State]) -> Iterator[State]:
    """Yield states as they come, and at last the one with the highest gain again; if several have it, the earliest.

    It says how far from it the last one ended; and that more steps may help, where the last one is the best.
    """
    best: State | None = None
    last: State | None = None
    for state in states:
        yield state
        last = state
        if best is None or state.gain > best.gain:
            best = state
    if best is None or last is None:
        return
    name, note = _name(last), ""
    if best is not last:
        note = f"{_name(best)} kept; the last, {name}, has a gain of {last.gain:.4g}"
    elif name != "start":
        note = f"not converged: the last one, {name}, is the best; more may help"
    yield dataclasses.replace(best, did=f"kept {best.did}", note="; ".join(filter(None, [best.note, note])))


def _name(state: State) -> str:
    return state.did.partition(":")[0]
