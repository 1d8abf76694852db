"""All states of a run, and who is told of them while it goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

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
