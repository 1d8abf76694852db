"""The loop around a decoder: decode, merge with all earlier lists, tune, and again [och2003].

The decoder is a function from weights to K-best lists, so our own, somebody else's program and recorded lists are the
same to the loop; and there is one loop for all tuners. Nothing here depends on who was first or how long it took, so
a loop that was killed goes on to the same bytes.
"""

from __future__ import annotations

import abc
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import Interrupted, LuthierError
from luthier.core.jit import Stopwatch
from luthier.core.progress import notice
from luthier.kbest.merge import first_rows, merge
from luthier.kbest.pool import Pool
from luthier.kbest.weights import Weights
from luthier.landscape.bounds import Bounds
from luthier.landscape.forest_problem import Packed, PackedProblem
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.metrics.base import Metric
from luthier.metrics.pools import pool_statistics
from luthier.tuning.base import Tuner
from luthier.tuning.loops.folder import HELDOUT, LISTS, LoopFolder, identity_of, read_seconds
from luthier.tuning.loops.report import (
    STILL,
    Iteration,
    LoopResult,
    Seconds,
    distance,
    ignores_weights,
    towards,
    trusted_distance,
    turn_said,
    why_ended,
)
from luthier.tuning.options import LoopOptions as LoopOptions
from luthier.tuning.run import RunOptions, run


class NumberedDecoder(abc.ABC):
    """A decoder that is also told the number of the weights: 0 for the start, then that of the turn that tuned them."""

    @abc.abstractmethod
    def decode(self, weights: Weights, number: int) -> Pool:
        """Return the lists."""

    def __call__(self, weights: Weights) -> Pool:
        """Return the lists for weights of no known number."""
        return self.decode(weights, 0)

    def own_weights(self, weights: Weights) -> Weights:
        """Return the weights that its search sees: all, unless some are of scorers that come after it."""
        return weights


class PackedDecoder(NumberedDecoder):
    """A decoder that keeps all that its searches have seen: weights are tuned on that, not on lists."""

    @abc.abstractmethod
    def candidates(self, numbers: Sequence[int]) -> tuple[Packed, Int64]:
        """Return what the searches of these numbers have seen, and the rows of the sentences that have any of it."""


Decode = Callable[[Weights], Pool] | NumberedDecoder
Ranges = Mapping[str, tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class LoopPlace:
    """Where a loop keeps its turns.

    Attributes
    ----------
    folder : made if it is not there
    resume : resume the loop that was begun there
    decoder : what the decoder is, in words or a hash; a loop does not resume another
    begun : called once the folder is this loop's
    """

    folder: str
    resume: bool = False
    decoder: str = ""
    begun: Callable[[], None] | None = None


def tune_loop(
    decode: Decode,
    start: Mapping[str, float],
    tuner: Tuner,
    metric: Metric,
    options: LoopOptions | None = None,
    *,
    heldout: Decode | None = None,
    bounds: Ranges | None = None,
    place: LoopPlace | str | None = None,
) -> LoopResult:
    """Decode, merge, tune, and again, until several turns decode no better.

    Parameters
    ----------
    decode
        Returns the K-best lists of the tuning sentences, with references, for given weights. It is asked for the
        same sentences in every turn; features may come and go, a feature without a weight counts 0.
    start
        Weights of the first turn.
    heldout
        The same for held-out sentences: their score is watched, and chooses the answer if the options say so.
    bounds
        Limits of weights by name: (low, high).
    place
        A folder that keeps every turn, so that the loop can be stopped at any moment and go on; default: nothing is
        kept.

    Raises
    ------
    LuthierError
        If the decoder returns other sentences than before, or the loop in the folder is another one.
    Interrupted
        A KeyboardInterrupt whose `result` is that of the turns before, if Ctrl-C is pressed after the first.
    """
    options = options or LoopOptions()
    if options.choose == "heldout" and heldout is None:
        raise LuthierError("the held-out set is to choose the weights, and there is none")
    if isinstance(decode, PackedDecoder) and tuner.needs_lists:
        raise LuthierError(f"{tuner.name} looks into lists of hypotheses, and the loop is to tune on forests")
    if isinstance(place, str):
        place = LoopPlace(place)
    identity = identity_of(
        tuner=tuner.spec,
        metric=metric.signature,
        start=dict(start),
        bounds=repr(dict(bounds or {})),
        heldout=heldout is not None,
        seed=options.seed,
        restarts=options.starts,
        decoder="" if place is None else place.decoder,
    )
    with ExitStack() as stack:
        folder = None
        if place is not None:
            kept = LoopFolder(Path(place.folder), resume=place.resume, identity=identity)
            folder = stack.enter_context(kept)
            if place.begun is not None:
                place.begun()
        loop = _Loop(decode, heldout, tuner, metric, options)
        loop.bounds, loop.folder = dict(bounds or {}), folder
        return loop.run(Weights(dict(start)))


class _Loop:
    """One loop under way: what it asks, and all lists so far."""

    def __init__(
        self, decode: Decode, heldout: Decode | None, tuner: Tuner, metric: Metric, options: LoopOptions
    ) -> None:
        self.decode, self.heldout = decode, heldout
        self.tuner, self.metric, self.options = tuner, metric, options
        self.bounds: dict[str, tuple[float, float]] = {}
        self.folder: LoopFolder | None = None
        self.turns: list[Iteration] = []
        self.seconds: list[Seconds] = []
        self.merged: Pool | None = None
        self.latest: Pool | None = None
        self.start = Weights({})

    def run(self, start: Weights) -> LoopResult:
        start_heldout, self.start = self._begin(start), start
        weights, ended = start, ""
        for turn in () if self.folder is None else tuple(self.folder.turns):
            self._revive(turn)
            weights, ended = turn.weights, self._why_ended()
            if ended:
                break
        while not ended:
            turn, took = self._next_turn(weights, start, start_heldout)
            self.turns.append(turn)
            self.seconds.append(took)
            if self.folder is not None:
                self.folder.keep_turn(turn, took)
            weights, ended = turn.weights, self._why_ended()
            notice(turn_said(turn, self.metric))
        notice(f"the loop ends: {ended}")
        return self._finish(start, start_heldout)

    def _why_ended(self) -> str:
        return why_ended(self.turns, self.options, higher_is_better=self.metric.higher_is_better is True)

    def _next_turn(self, weights: Weights, start: Weights, start_heldout: float | None) -> tuple[Iteration, Seconds]:
        """Return the next turn; Ctrl-C in one that is not the first has the result of those before it."""
        try:
            return self._turn(len(self.turns) + 1, weights)
        except KeyboardInterrupt:
            if not self.turns:
                raise
            raise Interrupted(self._result(start, start_heldout)) from None

    def _begin(self, start: Weights) -> float | None:
        """Return the held-out score of the start, from the folder if it has it."""
        if self.folder is not None and self.folder.begun:
            return self.folder.start_heldout
        if self.folder is not None:
            self.folder.keep_weights(0, start)
        score = self._watch(0, start)[0]
        if self.folder is not None:
            self.folder.keep_start(score)
        return score

    def _revive(self, turn: Iteration) -> None:
        """Take a turn from the folder: its lists are merged again, its weights are what they were."""
        assert self.folder is not None
        pool = self.folder.lists(LISTS, turn.number - 1, turn.lists)
        assert pool is not None
        new, _ = self._add(pool)
        if new != turn.new:
            raise LuthierError(f"the lists of turn {turn.number} bring {new} new hypotheses, not {turn.new} as it says")
        self.turns.append(turn)

    def _turn(self, number: int, weights: Weights) -> tuple[Iteration, Seconds]:
        clock, stopwatch = time.perf_counter(), Stopwatch()
        pool = self._decoded(self.decode, LISTS, number - 1, weights)
        digest = pool.digest()
        new, same = self._add(pool)
        same = same and self._searched_anew(weights)
        decoded = self._score(ListProblem.of(pool, self.metric), weights)
        after_decoding, decode_cpu = time.perf_counter(), round(stopwatch.seconds()[0], 3)
        assert self.merged is not None
        problem = self._problem(number)
        stopwatch = Stopwatch()
        ignored = ignores_weights(self.turns, same=same)
        tuned = weights if ignored else self._tune(problem, weights, self.options.seed + number)
        tuned = self._trusted(decoded, tuned)
        cpu = round(stopwatch.seconds()[0], 3)
        after_tuning = time.perf_counter()
        if self.turns and dict(tuned) == dict(weights):
            heldout, heldout_digest = self.turns[-1].heldout, self.turns[-1].heldout_lists
        else:
            if self.folder is not None:
                self.folder.keep_weights(number, tuned)
            heldout, heldout_digest = self._watch(number, tuned)
        turn = Iteration(
            number=number,
            hypotheses=pool.n_hypotheses,
            new=new,
            merged=self.merged.n_hypotheses,
            same=same,
            decoded=decoded,
            before=self._score(problem, weights),
            after=self._score(problem, tuned),
            change=distance(weights, tuned),
            heldout=heldout,
            weights=tuned,
            lists=digest,
            heldout_lists=heldout_digest,
        )
        clocks = np.diff([clock, after_decoding, after_tuning, time.perf_counter()]).round(3).tolist()
        return turn, Seconds(decode=clocks[0], tune=clocks[1], heldout=clocks[2], tune_cpu=cpu, decode_cpu=decode_cpu)

    def _gains(self) -> list[float]:
        sign = 1.0 if self.metric.higher_is_better is True else -1.0
        return [sign * turn.decoded for turn in self.turns]

    def _weights_of(self, turn: int) -> Weights:
        """Return the weights that a turn, from 0, decoded with."""
        return self.turns[turn - 1].weights if turn else self.start

    def _searched_anew(self, weights: Weights) -> bool:
        """Return whether the decoder's own weights are not those of the turn before."""
        before = self._weights_of(len(self.turns) - 1)
        own = self.decode.own_weights if isinstance(self.decode, NumberedDecoder) else Weights
        return distance(own(before), own(weights)) >= STILL

    def _trusted(self, decoded: float, tuned: Weights) -> Weights:
        """Return tuned weights, or those on the way to them that are not too far from what decoded best."""
        if not self.options.trust:
            return tuned
        gains = [*self._gains(), decoded if self.metric.higher_is_better is True else -decoded]
        best, limit = self._weights_of(int(np.argmax(gains))), trusted_distance(gains, self.options.trust)
        far, near = distance(best, tuned), tuned
        share = 1.0 if far <= limit else limit / far
        while distance(best, near) > limit and share > limit / 100.0:  # signs that differ shorten what lies between
            near, share = Weights(self._clipped(towards(best, tuned, share))), 0.9 * share
        return near

    def _clipped(self, weights: dict[str, float]) -> dict[str, float]:
        limits = {name: self.bounds.get(name, (-np.inf, np.inf)) for name in weights}
        return {name: float(np.clip(value, *limits[name])) for name, value in weights.items()}

    def _problem(self, turns: int) -> Problem:
        """Return the problem of all that was decoded so far: lists, or what a decoder has kept of its searches."""
        merged = self.merged
        assert merged is not None
        problem: Problem
        if not isinstance(self.decode, PackedDecoder):
            problem = ListProblem.of(merged, self.metric)
        else:
            assert merged.references is not None  # `_decoded` has seen them
            candidates, kept = self.decode.candidates(range(turns))
            references = merged.references.take(kept)
            problem = PackedProblem.of(candidates, self.metric, references.texts, references.offsets)
        return problem.with_bounds(self._bounds(problem.names))

    def _decoded(self, decode: Decode, part: str, number: int, weights: Weights) -> Pool:
        """Return the lists for the weights of that number: those of the folder, or new ones, which it then keeps."""
        kept = None if self.folder is None else self.folder.lists(part, number)
        if kept is not None:
            return kept
        if self.folder is not None:
            self.folder.keep_weights(number, weights)
        pool = decode.decode(weights, number) if isinstance(decode, NumberedDecoder) else decode(weights)
        if not pool.n_hypotheses:
            raise LuthierError("the decoder returned lists without a single hypothesis")
        if pool.references is None:
            raise LuthierError("expected lists with references from the decoder, found none: there is no score")
        # paths and options of the moment are no part of what was decoded
        pool = dataclasses.replace(pool, stats={}, provenance={"operations": [{"operation": "decode", "turn": number}]})
        return pool if self.folder is None else self.folder.keep_lists(part, number, pool)

    def _add(self, pool: Pool) -> tuple[int, bool]:
        """Merge lists with all earlier ones; return how many hypotheses are new, and whether the lists are the last's.

        Words and features make a hypothesis; the decoder's total changes with the weights and does not count.
        """
        pool = dataclasses.replace(pool, derivations=None)
        pool = pool.with_stats(self.metric.signature, self.metric.stat_names, pool_statistics(pool, self.metric))
        before, latest, self.latest = self.merged, self.latest, pool
        same = latest is not None and _same_rows(latest, pool)
        if before is not None and list(pool.sentence_ids) != list(before.sentence_ids):
            raise LuthierError(
                f"expected lists of the same {before.n_sentences} sentences in every turn, found {pool.n_sentences} "
                "or others"
            )
        both = pool if before is None else merge([before, pool])
        keep = first_rows(both.offsets, both.features, both.tokens, {})
        both = both if keep.all() else both.take(np.flatnonzero(keep))
        self.merged = dataclasses.replace(both, provenance={})
        return both.n_hypotheses - (0 if before is None else before.n_hypotheses), same

    def _tune(self, problem: Problem, weights: Weights, seed: int) -> Weights:
        same = {name: getattr(self.options, name) for name in ("restarts", "restart_kind", "restart_size", "threads")}
        options = RunOptions(seed=seed, **same)
        found = run(self.tuner, problem, self._vector(problem, weights), options)
        if found.interrupted:
            if self.folder is not None:
                notice(f"what was decoded and tuned so far is kept in {self.folder.home}. hint: `resume` resumes it")
            raise KeyboardInterrupt
        tuned = dict(zip(problem.names, found.weights.tolist(), strict=True))
        # weights of features that no list has had yet stay as they are
        return Weights({**weights, **tuned})

    def _vector(self, problem: Problem, weights: Weights) -> Float64:
        """Return the weights of a problem's features, (D,), inside the bounds."""
        return problem.bounds.clip(np.array([weights.get(name, 0.0) for name in problem.names]))

    def _score(self, problem: Problem, weights: Weights) -> float:
        gain = problem.gain(np.array([weights.get(name, 0.0) for name in problem.names]))
        return float(self.metric.gain(np.array(gain)))  # its own inverse

    def _watch(self, number: int, weights: Weights) -> tuple[float | None, str]:
        """Return the score of weights on the held-out set, if there is one, and the digest of its lists."""
        if self.heldout is None:
            return None, ""
        pool = self._decoded(self.heldout, HELDOUT, number, weights)
        return self._score(ListProblem.of(pool, self.metric), weights), pool.digest()

    def _bounds(self, names: tuple[str, ...]) -> Bounds:
        known = set(names)
        return Bounds.from_names(names, {name: pair for name, pair in self.bounds.items() if name in known})

    def _result(self, start: Weights, start_heldout: float | None) -> LoopResult:
        if self.folder is not None:
            self.seconds = list(read_seconds(self.folder.home, self.turns))
        return LoopResult.of(
            self.tuner.spec, self.metric, self.options, (start, start_heldout), self.turns, self.seconds
        )

    def _finish(self, start: Weights, start_heldout: float | None) -> LoopResult:
        result = self._result(start, start_heldout)
        if self.folder is not None:
            self.folder.keep_weights(len(self.turns), self.turns[-1].weights)
            self.folder.keep_answer(result.weights)
        return result


def _same_rows(one: Pool, other: Pool) -> bool:
    """Return whether two pools have the same hypotheses, row for row: lengths, texts and features."""
    parts = ("offsets", "texts.offsets", "texts.data", "features.dense", "features.indptr", "features.indices")
    first, second = one.arrays(), other.arrays()
    return one.features.names == other.features.names and all(
        np.array_equal(first[part], second[part]) for part in (*parts, "features.values")
    )
