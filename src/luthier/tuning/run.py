"""The one runner of all tuners: seed, restarts, threads, held-out set, checkpoints, interruption."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, frozen
from luthier.core.errors import InputError, Interrupted, LuthierError
from luthier.core.jit import Stopwatch
from luthier.core.progress import Advance, progress
from luthier.core.rng import child_rng
from luthier.core.tasks import Engine, Recipe, Shared, Threads, opened, run_units
from luthier.core.threads import one_blas_thread, stopping_gently
from luthier.kbest.weights import vector_of
from luthier.landscape.problem import Problem, effect_units
from luthier.tuning.answer import (
    End,
    RestartTrace,
    Result,
    Watch,
    choose_end,
    proof_note,
    refuses_proof,
    robust_state,
    unwatched,
)
from luthier.tuning.base import State, Tuner
from luthier.tuning.checkpoint import Checkpoint, Saved
from luthier.tuning.options import RunOptions as RunOptions
from luthier.tuning.restarts import draw_start


def run(
    tuner: Tuner,
    problem: Problem,
    start: Float64 | Mapping[str, float] | None = None,
    options: RunOptions | None = None,
    *,
    heldout: Problem | None = None,
    engine: Engine | None = None,
    recipe: Recipe | None = None,
    finished: Mapping[int, Saved] | None = None,
    watch: Watch = unwatched,
) -> Result:
    """Run a tuner from a start, and from as many others as asked for; return the best end.

    With a held-out problem every state is judged by it too, and it has a say in which run is the answer
    (`luthier.tuning.answer`). The result depends on the seed and not on who runs it. Ctrl-C ends all runs after
    their present step and returns the best so far, marked `interrupted`.

    Parameters
    ----------
    start
        A vector, (D,), or weights by name; default: that of the problem.
    engine
        Who does the runs; default: ``options.threads`` threads. Runs that begin where others ended are done here.
    recipe
        How another process opens the problem and the held-out one; without it they are sent.
    finished
        Runs of a checkpoint that somebody else keeps.
    watch
        Is told of every state: at once where it is found in this process, else when its run is done. Threads may tell
        it at a time.
    """
    options = options or RunOptions()
    start = _checked_start(tuner, problem, start)
    if options.certify and refuses_proof(problem):
        raise LuthierError(f"the answer cannot be certified: {refuses_proof(problem)}. hint: leave out `certify`")
    if heldout is not None and heldout.names != problem.names:
        raise LuthierError("the held-out pool has other features, or has them in another order")
    stopwatch = Stopwatch()
    job = _Job(_Runs.make(tuner, (problem, heldout), start, options), engine, recipe)
    job.runs.watch = watch
    keeper = Checkpoint.open(options.checkpoint, resume=options.resume, identity=job.identity())
    try:
        keeper.finished.update(finished or {})
        with one_blas_thread(), stopping_gently(job.runs.stop):
            traces, interrupted = job.run_all(keeper)
    finally:
        keeper.close()
    start_gains = problem.gain(start), None if heldout is None else heldout.gain(start)
    best, said = _best(traces, heldout, start, start_gains)
    answer = _answer(problem, traces, best, options, interrupted=interrupted)
    return Result(
        weights=answer.weights,
        gain=answer.gain,
        heldout_gain=None if heldout is None else _heldout_gain(heldout, best, answer),
        start_gain=start_gains[0],
        start_heldout_gain=start_gains[1],
        best_restart=best.restart,
        agreed=sum(abs(trace.key - best.key) <= 1e-9 for trace in traces),
        note=_note(problem, answer, options, interrupted=interrupted),
        traces=tuple(traces),
        interrupted=interrupted,
        seconds=_seconds(stopwatch, traces),
        heldout_note=said,
        record=answer.record,
        names=problem.names,
    )


def run_tuner(
    tuner: Tuner,
    problem: Problem,
    start: Float64 | Mapping[str, float] | None = None,
    options: RunOptions | None = None,
    *,
    heldout: Problem | None = None,
) -> Result:
    """Run a tuner on a problem from a start, as `run` does with its defaults.

    Raises
    ------
    Interrupted
        A KeyboardInterrupt whose `result` is the best so far, if Ctrl-C is pressed.
    """
    found = run(tuner, problem, start, options, heldout=heldout)
    if found.interrupted:
        raise Interrupted(found)
    return found


def open_checkpoint(
    tuner: Tuner, problems: tuple[Problem, Problem | None], start: Float64, options: RunOptions
) -> Checkpoint:
    """Return the checkpoint of a job whose runs others do, with what it holds if `resume`."""
    job = _Job(_Runs.make(tuner, problems, _checked_start(tuner, problems[0], start), options), None, None)
    return Checkpoint.open(options.checkpoint, resume=options.resume, identity=job.identity())


def _seconds(stopwatch: Stopwatch, traces: list[RestartTrace]) -> tuple[float, float]:
    """Return CPU seconds of this process and of others for their runs, and wall-clock seconds."""
    cpu, wall = stopwatch.seconds()
    return cpu + sum(trace.cpu_seconds for trace in traces if trace.process != os.getpid()), wall


def _best(
    traces: list[RestartTrace], heldout: Problem | None, start: Float64, start_gains: tuple[float, float | None]
) -> tuple[RestartTrace, str]:
    """Return the run that is the answer, and what the held-out set says against it."""
    if heldout is None or start_gains[1] is None:
        return max(traces, key=lambda trace: (trace.key, -trace.restart)), ""
    answers = [(trace, trace.states[trace.chosen]) for trace in traces]
    ends = [End(state.weights, state.gain, trace.heldout_gains[trace.chosen]) for trace, state in answers]
    number, said = choose_end(ends, End(start, start_gains[0], start_gains[1]), heldout)
    return traces[number], said


def _heldout_gain(heldout: Problem, best: RestartTrace, answer: State) -> float:
    known = answer is best.states[best.chosen]
    return best.heldout_gains[best.chosen] if known else heldout.gain(answer.weights)


def _answer(
    problem: Problem, traces: list[RestartTrace], best: RestartTrace, options: RunOptions, *, interrupted: bool
) -> State:
    """Return the best run's answer, or the one near the ends of all runs that lasts."""
    if options.choose == "highest" or interrupted:
        return best.states[best.chosen]
    ends = [trace.states[trace.chosen] for trace in (best, *(other for other in traces if other is not best))]
    return robust_state(problem, ends, noise=options.noise, draws=options.noise_draws, seed=options.seed)


def _note(problem: Problem, answer: State, options: RunOptions, *, interrupted: bool) -> str:
    """Return what the answer says of itself, and what is proven of it where that is asked for."""
    if not options.certify or interrupted:
        return answer.note
    proven = proof_note(problem, answer, options.certify, threads=options.threads)
    return "; ".join(filter(None, (answer.note, proven)))


def _checked_start(tuner: Tuner, problem: Problem, start: Float64 | Mapping[str, float] | None) -> Float64:
    if not isinstance(tuner, Tuner):
        raise LuthierError(f"expected a tuner, found {tuner!r}. hint: luthier.tuner makes one of its name")
    if not isinstance(problem, Problem):
        raise LuthierError(
            f"expected a problem, found {type(problem).__name__}. hint: luthier.ListProblem.of makes one"
        )
    reason = tuner.refuses(problem)
    if reason:
        raise LuthierError(f"{tuner.name} cannot be used here: {reason}")
    given = problem.default_start() if start is None else vector_of(start, problem.names, what="start weights")
    if not problem.bounds.allow(given):
        raise LuthierError("the start weights are outside their bounds")
    return frozen(given.copy())


@dataclasses.dataclass(frozen=True)
class RunUnit:
    """One run: its number, and where the run before it ended, if it begins there."""

    number: int
    origin: tuple[float, ...] | None = None


@dataclasses.dataclass(eq=False)
class _Runs:
    """What all runs of a job share. In the process that asked for them they hear `stop` and show their steps."""

    tuner: Tuner
    problem: Problem
    heldout: Problem | None
    start: Float64
    scale: Float64  # (D,)
    options: RunOptions
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    tick: Advance = lambda amount, note="": None  # noqa: ARG005
    watch: Watch = unwatched
    ended: dict[int, RestartTrace] = dataclasses.field(default_factory=dict)  # in this process, by number

    @classmethod
    def make(cls, tuner: Tuner, problems: tuple[Problem, Problem | None], start: Float64, options: RunOptions) -> _Runs:
        """Return them with the units in which other starts are drawn."""
        units = effect_units(problems[0].spread, start) if options.restarts else np.ones(len(start))
        return cls(tuner, *problems, start, options.restart_size * units, options)

    def told(self, states: list[State]) -> str:
        """Return what progress says of a run: the best score so far, and what was done last."""
        best, metric = max(state.gain for state in states), getattr(self.problem, "metric", None)
        score = best if metric is None else float(metric.gain(np.array(best)))  # a gain's score: its own inverse
        return f"best {score:.5g}, {states[-1].did}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process without what belongs to this one."""
        return _Runs, (self.tuner, self.problem, self.heldout, self.start, self.scale, self.options)


@dataclasses.dataclass(frozen=True)
class _RunsRecipe:
    """How another process gets `_Runs`: the problems by their own recipe, the rest as it is."""

    problems: Recipe
    rest: bytes  # pickled, because records that are compared by value cannot hold arrays

    def open(self) -> _Runs:
        tuner, start, scale, options = pickle.loads(self.rest)
        problem, heldout = opened(self.problems)
        return _Runs(tuner, problem, heldout, start, scale, options)


def run_one(runs: _Runs, unit: RunUnit) -> RestartTrace:
    """Run once, from the start if the number is 0, else from one drawn by that run's own generator."""
    options, begin, stopwatch = runs.options, runs.start, Stopwatch()
    rng = child_rng(options.seed, unit.number)
    if unit.number:
        origin = begin if unit.origin is None else np.array(unit.origin)
        begin = draw_start(options.restart_kind, origin, runs.scale, runs.problem.bounds, rng)
    states: list[State] = []
    heldout_gains: list[float] = []
    try:
        for state in () if runs.stop.is_set() else runs.tuner.steps(runs.problem, begin, rng):
            gain = None if runs.heldout is None else runs.heldout.gain(state.weights)
            states.append(state)
            runs.tick(1, runs.told(states))
            runs.watch(unit.number, len(states) - 1, state, gain)
            if gain is not None:
                heldout_gains.append(gain)
            if runs.stop.is_set() or _out_of_patience(heldout_gains, options.heldout_patience):
                break
    except KeyboardInterrupt:
        runs.stop.set()
    except BaseException:
        runs.stop.set()  # the others end after their present step
        raise
    finished = not runs.stop.is_set()
    runs.ended[unit.number] = RestartTrace(
        unit.number,
        tuple(states),
        tuple(heldout_gains),
        finished=finished,
        early=options.early,
        process=os.getpid(),
        cpu_seconds=stopwatch.seconds()[0],
    )
    return runs.ended[unit.number]


def _out_of_patience(heldout_gains: list[float], patience: int) -> bool:
    if not patience or not heldout_gains:
        return False
    return len(heldout_gains) - 1 - int(np.argmax(heldout_gains)) >= patience


class _Job:
    """One call of `run`: who does the runs, and what is kept of them."""

    def __init__(self, runs: _Runs, engine: Engine | None, recipe: Recipe | None) -> None:
        self.runs, self.engine = runs, engine or Threads(runs.options.threads)
        rest = None if recipe is None else pickle.dumps((runs.tuner, runs.start, runs.scale, runs.options))
        self.given = Shared(runs, None if recipe is None or rest is None else _RunsRecipe(recipe, rest))

    def identity(self) -> dict[str, Any]:
        """Return what must agree for a checkpoint to be of this job; digests only if there is one."""
        runs, options = self.runs, self.runs.options
        if not options.checkpoint:
            return {}
        kept = ("seed", "restarts", "restart_kind", "restart_size", "heldout_patience")
        return {
            "tuner": runs.tuner.spec,
            **runs.problem.identity(),
            "heldout": {} if runs.heldout is None else runs.heldout.identity(),
            "start": runs.start.tolist(),
            "bounds": [repr(runs.problem.bounds.low.tolist()), repr(runs.problem.bounds.high.tolist())],
            **{name: getattr(options, name) for name in kept},
        }

    def run_all(self, keeper: Checkpoint) -> tuple[list[RestartTrace], bool]:
        """Return the traces of all runs, those of the checkpoint included, in order."""
        options, name = self.runs.options, self.runs.tuner.name
        done = {number: self._revived(number, saved) for number, saved in keeper.finished.items()}
        waiting = [number for number in range(options.restarts + 1) if number not in done]
        for trace in done.values():
            trace.tell(self.runs.watch)
        with (
            progress(f"{name}: runs", len(waiting)) as advance,
            progress(f"{name}: steps of all runs") as self.runs.tick,
            self._heard_anywhere(),
        ):

            def keep(number: int, trace: RestartTrace) -> None:
                done[number] = trace
                if trace.process != os.getpid():  # nobody has heard of it here
                    trace.tell(self.runs.watch)
                if trace.finished:
                    keeper.keep(number, trace.states, trace.heldout_gains)
                    advance(1)

            if options.restart_kind == "walk":
                for number in waiting:
                    if self.runs.stop.is_set():
                        break
                    before = done.get(number - 1)
                    origin = None if before is None else tuple(before.states[before.chosen].weights.tolist())
                    self._run({number: RunUnit(number, origin)}, keep, Threads(1))
            else:
                self._run({number: RunUnit(number) for number in waiting}, keep, self.engine)
        done = {**self.runs.ended, **done}
        traces = [done[number] for number in sorted(done) if done[number].states]
        if not traces:
            raise KeyboardInterrupt
        return traces, self.runs.stop.is_set()

    @contextlib.contextmanager
    def _heard_anywhere(self) -> Iterator[None]:
        """Take an interrupt that strikes between two runs for one that strikes in a run: what has ended counts."""
        try:
            yield
        except KeyboardInterrupt:
            self.runs.stop.set()

    def _run(self, units: dict[int, RunUnit], keep: Any, engine: Engine) -> None:
        run_units(run_one, self.given, units, engine=engine, keep=keep, stop=self.runs.stop)

    def _revived(self, number: int, saved: Saved) -> RestartTrace:
        """Return a run of the checkpoint, if its gains are those of its weights."""
        states, heldout_gains = saved
        weights = np.array([state.weights for state in states])
        for problem, kept in (
            (self.runs.problem, [state.gain for state in states]),
            (self.runs.heldout, heldout_gains),
        ):
            if problem is not None and not np.allclose(problem.gains(weights), kept, rtol=1e-9, atol=1e-9):
                raise InputError(
                    expected="the gains that the weights have",
                    found="others",
                    path=self.runs.options.checkpoint,
                    hint=f"run {number} was changed; remove its line",
                )
        return RestartTrace(number, states, heldout_gains, finished=True, early=self.runs.options.early)
