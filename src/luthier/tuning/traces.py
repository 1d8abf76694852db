"""All states of a run, who is told of them while it goes on, and what all runs together leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from luthier.core.arrays import Float64
from luthier.kbest.weights import Weights
from luthier.tuning.base import State

Watch = Callable[[int, int, State, float | None], None]  # number of the run, step, state, gain on the held-out set


def unwatched(run: int, step: int, state: State, heldout_gain: float | None) -> None:
    """Tell nobody."""


@dataclasses.dataclass(frozen=True, eq=False)
class RestartTrace:
    """All states of one run, the gain of each on the held-out set, and which of them is its answer.

    Attributes
    ----------
    early : bool
        Whether the held-out set chooses among the states, instead of taking the last.
    process, cpu_seconds
        Who ran it, and what it took there.
    """

    restart: int
    states: tuple[State, ...]
    heldout_gains: tuple[float, ...]
    finished: bool
    early: bool = False
    process: int = 0
    cpu_seconds: float = 0.0

    @property
    def chosen(self) -> int:
        """Number of the answer: the last state, or the best on the held-out set.

        If several are as good, it is the earliest of them.
        A run that was interrupted had no time to come back to its best state: that one is taken.
        """
        if self.heldout_gains and self.early:
            return int(np.argmax(self.heldout_gains))
        if not self.finished:
            return int(np.argmax([state.gain for state in self.states]))
        return len(self.states) - 1

    @property
    def key(self) -> float:
        """What runs are compared by."""
        return self.heldout_gains[self.chosen] if self.heldout_gains else self.states[self.chosen].gain

    def tell(self, watch: Watch) -> None:
        """Tell somebody of all states, in order."""
        for step, state in enumerate(self.states):
            watch(self.restart, step, state, self.heldout_gains[step] if self.heldout_gains else None)


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """Weights, and how they were found.

    Attributes
    ----------
    weights : (D,)
    gain, heldout_gain
        At `weights`; the latter None without a held-out set.
    start_gain, start_heldout_gain
        At the start of the first run.
    best_restart, agreed
        Which run it was, and how many runs ended at the same gain.
    note, record : what the answer's state says of itself
    heldout_note : where the held-out sentences disagree with it by more than chance; '' if they do not
    traces : one for each run, in order
    interrupted : bool
    seconds : CPU seconds of this process while it ran, and of others for their runs; wall-clock seconds of this
        process; both without what compiling took
    """

    weights: Float64
    gain: float
    heldout_gain: float | None
    start_gain: float
    start_heldout_gain: float | None
    best_restart: int
    agreed: int
    note: str
    traces: tuple[RestartTrace, ...]
    interrupted: bool
    seconds: tuple[float, float]
    heldout_note: str = ""
    record: Mapping[str, float] = dataclasses.field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def weights_by_name(self) -> Weights:
        """The weights under the names of their features."""
        return Weights.from_vector(self.names, self.weights)

    def __repr__(self) -> str:
        """Return a short sentence."""
        held = "" if self.heldout_gain is None else f", held out {self.heldout_gain:.4g}"
        runs = f", {self.agreed} of {len(self.traces)} runs agree" if len(self.traces) > 1 else ""
        return f"<Result: gain {self.start_gain:.4g} → {self.gain:.4g}{held}{runs}; {len(self.weights)} weights>"
