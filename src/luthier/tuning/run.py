"""The one runner of all tuners: seed, restarts, threads, held-out set, checkpoints, interruption."""

from __future__ import annotations

import dataclasses
import threading
import time
from concurrent.futures import Future, as_completed
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.parallel import executor, one_blas_thread, stopping_gently
from luthier.core.progress import Advance, progress
from luthier.core.rng import make_rng
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units
from luthier.tuning.base import State, Tuner
from luthier.tuning.checkpoint import Checkpoint
from luthier.tuning.restarts import draw_start
from luthier.tuning.run_options import RunOptions as RunOptions


@dataclasses.dataclass(frozen=True, eq=False)
class RestartTrace:
    """All states of one run, the gain of each on the held-out set, and which of them is its answer."""

    restart: int
    states: tuple[State, ...]
    heldout_gains: tuple[float, ...]
    finished: bool

    @property
    def chosen(self) -> int:
        """Number of the answer: the best on the held-out set (the earliest of equals), else the last.

        A run that was interrupted had no time to come back to its best state: that one is taken.
        """
        if self.heldout_gains:
            return int(np.argmax(self.heldout_gains))
        if not self.finished:
            return int(np.argmax([state.gain for state in self.states]))
        return len(self.states) - 1

    @property
    def key(self) -> float:
        """What runs are compared by."""
        return self.heldout_gains[self.chosen] if self.heldout_gains else self.states[self.chosen].gain


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
    note : what the answer's state says of itself
    traces : one for each run, in order
    interrupted : bool
    seconds : CPU and wall-clock seconds of this process while it ran
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


def run(
    tuner: Tuner,
    problem: Problem,
    start: Float64 | None = None,
    options: RunOptions | None = None,
    *,
    heldout: Problem | None = None,
) -> Result:
    """Run a tuner from a start, and from as many others as asked for; return the best end.

    With a held-out problem every state is judged by it too, and the answer is chosen by it. The result
    depends on the seed and not on the number of threads. Ctrl-C ends all runs after their present step
    and returns the best so far, marked `interrupted`.
    """
    options = options or RunOptions()
    start = _checked_start(tuner, problem, start)
    if heldout is not None and heldout.names != problem.names:
        raise LuthierError("the held-out pool has other features, or has them in another order")
    clocks = time.process_time(), time.perf_counter()
    job = _Job(tuner, problem, start, options, heldout)
    keeper = Checkpoint.open(options.checkpoint, resume=options.resume, identity=job.identity())
    with one_blas_thread(), stopping_gently(job.stop):
        traces, interrupted = job.run_all(keeper)
    best = max(traces, key=lambda trace: (trace.key, -trace.restart))
    answer = best.states[best.chosen]
    return Result(
        weights=answer.weights,
        gain=answer.gain,
        heldout_gain=best.heldout_gains[best.chosen] if best.heldout_gains else None,
        start_gain=problem.gain(start),
        start_heldout_gain=None if heldout is None else heldout.gain(start),
        best_restart=best.restart,
        agreed=sum(abs(trace.key - best.key) <= 1e-9 for trace in traces),
        note=answer.note,
        traces=tuple(traces),
        interrupted=interrupted,
        seconds=(time.process_time() - clocks[0], time.perf_counter() - clocks[1]),
    )


def _checked_start(tuner: Tuner, problem: Problem, start: Float64 | None) -> Float64:
    reason = tuner.refuses(problem)
    if reason:
        raise LuthierError(f"{tuner.name} cannot be used here: {reason}")
    start = problem.default_start() if start is None else np.array(start, dtype=np.float64)
    if start.shape != (problem.n_features,) or not np.isfinite(start).all():
        raise LuthierError(f"expected {problem.n_features} finite start weights, found shape {start.shape}")
    if not problem.bounds.allow(start):
        raise LuthierError("the start weights are outside their bounds")
    start.setflags(write=False)
    return start


class _Job:
    """One call of `run`: what its runs share."""

    def __init__(
        self, tuner: Tuner, problem: Problem, start: Float64, options: RunOptions, heldout: Problem | None
    ) -> None:
        self.tuner, self.problem, self.start = tuner, problem, start
        self.options, self.heldout = options, heldout
        self.rngs = make_rng(options.seed).spawn(options.restarts + 1)
        self.stop = threading.Event()
        self.tick: Advance = lambda amount: None  # noqa: ARG005
        units = effect_units(problem.pool, start) if options.restarts else np.ones(len(start))
        self.scale = options.restart_size * units  # (D,)

    def identity(self) -> dict[str, Any]:
        """Return what must agree for a checkpoint to be of this job; digests only if there is one."""
        if not self.options.checkpoint:
            return {}
        kept = ("seed", "restarts", "restart_kind", "restart_size", "heldout_patience")
        return {
            "tuner": self.tuner.spec,
            "metric": self.problem.metric.signature,
            "pool": self.problem.pool.digest(),
            "heldout": "" if self.heldout is None else self.heldout.pool.digest(),
            "start": self.start.tolist(),
            "bounds": [repr(self.problem.bounds.low.tolist()), repr(self.problem.bounds.high.tolist())],
            **{name: getattr(self.options, name) for name in kept},
        }

    def run_all(self, keeper: Checkpoint) -> tuple[list[RestartTrace], bool]:
        """Return the traces of all runs, those of the checkpoint included, in order."""
        done = {number: self._revived(number, saved) for number, saved in keeper.finished.items()}
        waiting = [number for number in range(self.options.restarts + 1) if number not in done]
        chained = self.options.restart_kind == "walk"
        threads = 1 if chained else min(self.options.threads, max(1, len(waiting)))
        with (
            executor(threads) as workers,
            progress(f"{self.tuner.name}: runs", len(waiting)) as advance,
            progress(f"{self.tuner.name}: steps of all runs") as self.tick,
        ):
            futures: dict[Future[RestartTrace], int] = {}
            try:
                for batch in [[number] for number in waiting] if chained else [waiting]:
                    before = done.get(batch[0] - 1) if chained else None
                    futures = {workers.submit(self.run_one, number, before): number for number in batch}
                    for future in as_completed(futures):
                        done[futures[future]] = future.result()
                        self._keep(keeper, done[futures[future]], advance)
                    if self.stop.is_set():
                        break
            except KeyboardInterrupt:
                self.stop.set()
                for future, number in futures.items():
                    if not future.cancel():
                        done[number] = future.result()
            except BaseException:
                self.stop.set()  # the others end after their present step
                for future in futures:
                    future.cancel()
                raise
        traces = [done[number] for number in sorted(done) if done[number].states]
        if not traces:
            raise KeyboardInterrupt
        return traces, self.stop.is_set()

    def _keep(self, keeper: Checkpoint, trace: RestartTrace, advance: Any) -> None:
        if trace.finished:
            keeper.keep(trace.restart, trace.states, trace.heldout_gains)
            advance(1)

    def _revived(self, number: int, saved: tuple[tuple[State, ...], tuple[float, ...]]) -> RestartTrace:
        return RestartTrace(number, *saved, finished=True)

    def run_one(self, number: int, before: RestartTrace | None) -> RestartTrace:
        """Run once, from the start if `number` is 0, else from one drawn by that run's own generator."""
        rng, begin = self.rngs[number], self.start
        if number:
            origin = begin if before is None else before.states[before.chosen].weights
            begin = draw_start(self.options.restart_kind, origin, self.scale, self.problem.bounds, rng)
        states: list[State] = []
        heldout_gains: list[float] = []
        try:
            for state in () if self.stop.is_set() else self.tuner.steps(self.problem, begin, rng):
                gain = None if self.heldout is None else self.heldout.gain(state.weights)
                states.append(state)
                self.tick(1)
                if gain is not None:
                    heldout_gains.append(gain)
                if self.stop.is_set() or self._out_of_patience(heldout_gains):
                    break
        except KeyboardInterrupt:
            self.stop.set()
        return RestartTrace(number, tuple(states), tuple(heldout_gains), finished=not self.stop.is_set())

    def _out_of_patience(self, heldout_gains: list[float]) -> bool:
        if not self.options.heldout_patience or not heldout_gains:
            return False
        return len(heldout_gains) - 1 - int(np.argmax(heldout_gains)) >= self.options.heldout_patience
