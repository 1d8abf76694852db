"""Tuners for testing their runner: one that wanders, one whose wandering is cut off in several ways."""

import dataclasses
import os
import signal
import threading
import time

from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.tuning.base import State, Tuner


@dataclasses.dataclass(frozen=True)
class Wanderer(Tuner):
    """Walks at random, and answers with the best place it has seen."""

    count: int = param(6, low=1, help="steps")
    pause: float = param(0.0, low=0.0, help="seconds before each step")

    def steps(self, problem, start, rng):
        best = State(start, problem.gain(start), "start")
        yield best
        for number in range(self.count):
            time.sleep(self.pause)
            drawn = problem.bounds.clip(best.weights + rng.normal(size=len(start)))
            self.happens()
            gain = problem.gain(drawn)
            best = State(drawn, gain, f"step {number}", gain / 3) if gain > best.gain else best
            yield best

    def happens(self):
        """Do nothing."""


class Fuse:
    """Counts steps, over all runs; at the last one something happens."""

    def __init__(self, steps, what):
        self.left, self.what, self.lock = steps, what, threading.Lock()

    def burn(self):
        with self.lock:
            self.left -= 1
            left = self.left
        if left < 0 and self.what == "signal":
            time.sleep(0.5)  # so that it comes before the end
        if left:
            return
        if self.what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == "interrupt":
            raise KeyboardInterrupt
        if self.what == "signal":
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.2)
        if self.what == "error":
            raise LuthierError("something is wrong")


class Cut(Wanderer):
    """A wanderer with a fuse; its specification is that of one without."""

    fuse = None

    def happens(self):
        if self.fuse is not None:
            self.fuse.burn()


def cut_after(steps, what="interrupt", **parameters):
    """Return a wanderer to which something happens at that step."""
    tuner = Cut(**parameters)
    object.__setattr__(tuner, "fuse", Fuse(steps, what))
    return tuner


@dataclasses.dataclass(frozen=True)
class Scripted(Tuner):
    """Goes through given first weights, whatever the problem is."""

    way: str = param("", help="numbers, separated by spaces")

    def steps(self, problem, start, rng):
        for value in self.way.split():
            weights = start.copy()
            weights[0] = float(value)
            yield State(weights, problem.gain(weights), value)


def content(result):
    """Return all of a result but its times, as plain data, floats to the last bit."""

    def of(state):
        return state.weights.tobytes().hex(), float(state.gain).hex(), state.did, state.objective

    return (
        result.weights.tobytes().hex(), result.gain, result.heldout_gain, result.start_gain,
        result.best_restart, result.agreed,
        [(t.restart, [of(s) for s in t.states], t.heldout_gains) for t in result.traces],
    )  # fmt: skip
