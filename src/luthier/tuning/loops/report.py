"""What a tuning loop leaves: its turns, why it ended, and the weights that are its answer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from luthier.core.html import Shown
from luthier.kbest.weights import Weights
from luthier.metrics.base import Metric
from luthier.tuning.options import LoopOptions

STILL = 1e-9  # weights that move by less do not move


@dataclasses.dataclass(frozen=True)
class Iteration:
    """One turn: decode with the weights of the turn before, merge, tune.

    Attributes
    ----------
    number : from 1
    hypotheses, new, merged : int
        Decoded in this turn; those of them that no turn before had; all together.
    same : bool
        Whether other weights of the decoder's own brought, row for row, the lists of the turn before.
    decoded : float
        The score of the decoder's own choice, with the weights of the turn before.
    before, after : float
        The score on all lists with the weights of the turn before, and with those tuned now.
    change : float
        How far the weights moved, see `distance`.
    heldout : float or None
        The score of the decoder's choice on the held-out set, with the weights tuned now.
    weights : Weights, tuned now
    lists, heldout_lists : str
        Digests of what was decoded.
    """

    number: int
    hypotheses: int
    new: int
    merged: int
    same: bool
    decoded: float
    before: float
    after: float
    change: float
    heldout: float | None
    weights: Weights
    lists: str
    heldout_lists: str = ""

    def as_record(self) -> dict[str, Any]:
        """Return it for a line of JSON."""
        record = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**record, "weights": dict(self.weights)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Iteration:
        """Return what a line says; raise `KeyError`, `TypeError` or `ValueError` where it says no turn."""
        values = {field.name: record[field.name] for field in dataclasses.fields(cls)}
        for name in ("number", "hypotheses", "new", "merged"):
            if type(values[name]) is not int or values[name] < 0:
                raise ValueError(f"{values[name]!r} for {name!r}")
        numbers = [values[name] for name in ("decoded", "before", "after", "change")]
        numbers += [] if values["heldout"] is None else [values["heldout"]]
        if not all(type(value) in (int, float) and math.isfinite(value) for value in numbers):
            raise ValueError("a score that is no finite number")
        return cls(**{**values, "weights": Weights(values["weights"])})


@dataclasses.dataclass(frozen=True)
class Seconds:
    """How long the parts of a turn took, by the clock and of this process's CPU time; None where not known."""

    decode: float | None = None
    tune: float | None = None
    heldout: float | None = None
    tune_cpu: float | None = None
    decode_cpu: float | None = None


@dataclasses.dataclass(frozen=True)
class LoopResult(Shown):
    """The turns of a loop, and its answer.

    Attributes
    ----------
    weights : the answer
    chosen : number of the turn that tuned it; 0 is the start
    ended : why there was no further turn, a sentence
    start : weights of the first decoding
    start_heldout : score of `start` on the held-out set, where there is one
    iterations, seconds : one for each turn
    """

    tuner: str
    metric: str
    higher_is_better: bool
    weights: Weights
    chosen: int
    ended: str
    start: Weights
    start_heldout: float | None
    iterations: tuple[Iteration, ...]
    seconds: tuple[Seconds, ...]

    @classmethod
    def of(
        cls,
        tuner: str,
        metric: Metric,
        options: LoopOptions,
        begin: tuple[Weights, float | None],
        turns: Sequence[Iteration],
        seconds: Sequence[Seconds],
    ) -> LoopResult:
        """Return the result of turns that have come to an end; `begin` are the start and its held-out score."""
        higher, (start, start_heldout) = metric.higher_is_better is True, begin
        chosen = choose(start_heldout, turns, by=options.choose, higher_is_better=higher)
        return cls(
            tuner=tuner,
            metric=metric.signature,
            higher_is_better=higher,
            chosen=chosen,
            start=start,
            weights=turns[chosen - 1].weights if chosen else start,
            ended=why_ended(turns, options, higher_is_better=higher),
            start_heldout=start_heldout,
            iterations=tuple(turns),
            seconds=tuple(seconds),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        plain = ("tuner", "metric", "chosen", "ended", "start_heldout")
        return {
            **{name: getattr(self, name) for name in plain},
            "weights": dict(self.weights),
            "start": dict(self.start),
            "iterations": [
                {**turn.as_record(), "seconds": dataclasses.asdict(took)}
                for turn, took in zip(self.iterations, self.seconds, strict=True)
            ],
        }


def turn_said(turn: Iteration, metric: Metric) -> str:
    """Return a turn in one line."""
    held = "" if turn.heldout is None else f", held out {turn.heldout:.2f}"
    return (
        f"turn {turn.number}: {turn.new:,} new hypotheses of {turn.hypotheses:,}; {metric.name} {turn.decoded:.2f} "
        f"decoded, {turn.before:.2f} → {turn.after:.2f} on all lists{held}"
    )


def distance(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Return Σ|v′ − v| of two weight vectors, each scaled to Σ|v| = 1; a weight that is not named is 0.

    >>> distance({"a": 1, "b": 1}, {"a": 2, "b": 2}), distance({"a": 1}, {"a": 1, "b": 1})
    (0.0, 1.0)
    """
    names = [*before, *(name for name in after if name not in before)]
    vectors = np.array([[weights.get(name, 0.0) for name in names] for weights in (before, after)])
    sizes = np.array([math.fsum(row) for row in np.abs(vectors)])
    scaled = vectors / np.where(sizes > 0, sizes, 1.0)[:, None]
    return math.fsum(np.abs(scaled[1] - scaled[0]))


def why_ended(turns: Sequence[Iteration], options: LoopOptions, *, higher_is_better: bool) -> str:
    """Return why no turn follows these, as a sentence; '' if one does.

    What decides is the decoded scores of several turns. That one turn brings nothing new decides nothing: a tuner that
    found nothing better on its lists hands its start back, and finds more with the next draw or the next lists.
    """
    last = turns[-1]
    if last.new == 0 and ignores_weights(turns[:-1], same=last.same):
        return (
            "other weights brought the very same lists: the decoder ignores the weights. Re-ranking its lists is all "
            "that tuning can do for it, and that is done"
        )
    if len(turns) > 1 and all(turn.new == 0 and turn.change < STILL for turn in turns[-2:]):
        return "two turns brought nothing new, and tuning left the weights where they are"
    if last.number >= options.iterations:
        return f"the limit of {options.iterations} turns was reached"
    gains = [turn.decoded if higher_is_better else -turn.decoded for turn in turns]
    since = last.number - _last_better(gains, options.least_gain)
    climbs = len(gains) > 1 and gains[-1] > gains[-2] + options.least_gain  # back from a turn that went astray
    if options.patience and since >= options.patience and not climbs:
        return f"the last {since} turns decoded no better than the one before them"
    return ""


def ignores_weights(before: Sequence[Iteration], *, same: bool) -> bool:
    """Return whether the turn after the first has the `same` lists though the weights moved."""
    return same and len(before) == 1 and before[0].change >= STILL


def _last_better(gains: Sequence[float], least: float) -> int:
    """Return the number, from 1, of the last gain that is above all before it by more than `least`."""
    best, found = gains[0], 1
    for number, gain in enumerate(gains[1:], start=2):
        if gain > best + least:
            best, found = gain, number
    return found


def trusted_distance(gains: Sequence[float], trust: float) -> float:
    """Return how far weights may go from those that decoded best, by the gains of all turns so far.

    It is halved by a turn that is no better than all before, and doubled by one that is, up to `trust`.

    >>> trusted_distance([30.0, 20.0, 25.0], 0.4), trusted_distance([30.0, 20.0, 25.0, 31.0], 0.4)
    (0.1, 0.2)
    """
    best, factor = -math.inf, 1.0
    for gain in gains:
        factor = min(1.0, 2.0 * factor) if gain > best else 0.5 * factor
        best = max(best, gain)
    return trust * factor


def towards(origin: Mapping[str, float], goal: Mapping[str, float], share: float) -> dict[str, float]:
    """Return weights on the way from one vector, taken to the other's length, to that other.

    >>> towards({"a": 2.0}, {"a": 1.0, "b": 3.0}, 0.5)
    {'a': 2.5, 'b': 1.5}
    """
    sizes = [math.fsum(map(abs, weights.values())) for weights in (origin, goal)]
    factor = sizes[1] / sizes[0] if sizes[0] else 0.0
    names = [*goal, *(name for name in origin if name not in goal)]
    begin, end = ({name: f * w.get(name, 0.0) for name in names} for f, w in ((factor, origin), (1.0, goal)))
    return {name: begin[name] + share * (end[name] - begin[name]) for name in names}


def choose(start_heldout: float | None, turns: Sequence[Iteration], *, by: str, higher_is_better: bool) -> int:
    """Return the number of the turn whose weights are the answer: the last, or the best `by` what they decoded.

    That is the tuning sentences ("decoded"; the last turn's weights decoded nothing yet) or the held-out set. Ties go
    to the earliest; 0 is the start.
    """
    if by == "last" or not turns:
        return turns[-1].number if turns else 0
    seen = [turn.decoded for turn in turns] if by == "decoded" else [start_heldout, *(turn.heldout for turn in turns)]
    sign = 1.0 if higher_is_better else -1.0
    return int(np.argmax([-math.inf if score is None else sign * score for score in seen]))
