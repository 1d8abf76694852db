"""Who gets which unit, and what happens when a worker is lost or slow, or a unit fails. It knows no Dask.

As many units are under way as there are threads, so that few wait on a worker that may die: whatever was there is a
suspect. Where several are, each is tried by itself, after all others. When no more units wait, one that takes three
times as long as the median is submitted once more, elsewhere; both answers are equal, and the first counts. Short
units travel together, some at a time, for each message costs milliseconds.
"""

from __future__ import annotations

import dataclasses
import statistics
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, Protocol

from luthier.core.errors import LuthierError
from luthier.core.progress import notice
from luthier.core.tasks import LOOK_SECONDS, Recipe, Units
from luthier.distributed.worker import Outcome, outcomes_of, pack, pack_several, unit_key

SLOW = 3.0  # times the median, and what is started again
SLOW_SECONDS = 1.0  # nothing below is
FAILURES = 10  # after so many no more units are begun
LONELY_SECONDS = 10.0  # without workers, before a word is said
TOGETHER_SECONDS, MOST_TOGETHER = 0.25, 64  # of units that travel together, and how many do
SHARES = 4  # tasks that are left for each thread, at least, when units travel together
REMEMBERED = 256  # times of units that the median is of


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What is there: threads of each worker, the worker of each unit under way, and how many were lost so far."""

    threads: Mapping[str, int]
    at: Mapping[str, str] = dataclasses.field(default_factory=dict)
    lost: int = 0


class Workers(Protocol):
    """Workers, wherever they are."""

    def look(self) -> Snapshot:
        """Return what is there, as known a moment ago; raise if nobody can be asked any more."""

    def hand(self, packed: bytes, *, apart_from: str = "", only: str = "") -> str:
        """Hand out a unit; return by which name it is known. `only` is the one worker that may take it."""

    def next_done(self, seconds: float) -> str | None:
        """Return the name of a unit that is done, if one is within so many seconds."""

    def outcome(self, name: str) -> Outcome:
        """Return how a unit went that is done."""

    def drop(self, names: Iterable[str]) -> None:
        """Let go of units."""


@dataclasses.dataclass(frozen=True)
class Work:
    """All units of a call: the path of the function, how what they share is opened, and whether one may run twice."""

    path: str
    recipe: Recipe
    units: Units
    twice: bool = True

    def packed(self, numbers: tuple[int, ...]) -> bytes:
        """Return units as they travel."""
        return pack_several(self.path, self.recipe, tuple(self.units[number] for number in numbers))

    def named(self, number: int) -> str:
        """Return what a unit is called in messages."""
        words = repr(self.units[number])
        return f"{number}, {words if len(words) <= 160 else words[:160] + '…'}"

    def key(self, number: int) -> str:
        """Return by what the user can name a unit."""
        return unit_key(self.path, self.units[number])


@dataclasses.dataclass(frozen=True)
class Copy:
    """Units that were submitted together: their numbers, and when."""

    numbers: tuple[int, ...]
    began: float


class Scheduling:
    """One call: what waits, what is under way, what failed."""

    def __init__(self, crew: Workers, work: Work) -> None:
        self.crew, self.work = crew, work
        self.waiting = deque(work.units)
        self.running: dict[str, Copy] = {}
        self.failed: dict[int, Outcome] = {}
        self.suspects: dict[int, Outcome] = {}
        self.lone: set[int] | None = None  # suspects, once they are run one by one
        self.took: deque[float] = deque(maxlen=REMEMBERED)
        self._watch = _Watch()

    def results(self, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield results as they come; when `stop` is set, what is under way is released."""
        try:
            while not stop.is_set():
                try:
                    look = self.crew.look()
                    self._watch.over(look)
                    self._fill(look)
                    if not self.running and not self.waiting:
                        break
                    name = self.crew.next_done(LOOK_SECONDS)
                except KeyboardInterrupt:
                    stop.set()
                    continue
                if name in self.running:
                    yield from self._take(name)
        finally:
            self.crew.drop(list(self.running))
        if not stop.is_set() and self.failed:
            raise self._complaint()

    def _fill(self, look: Snapshot) -> None:
        """Hand out units as long as there is room."""
        threads = sum(look.threads.values())
        median = statistics.median(self.took) if self.took else 0.0
        if len(self.failed) >= FAILURES:
            self.waiting.clear()
        if not self.waiting and not self.running:
            self._judge()
        while self.waiting and len(self.running) < (threads if self.lone is None else min(1, threads)):
            numbers = tuple(self.waiting.popleft() for _ in range(self._together(threads, median)))
            self.running[self.crew.hand(self.work.packed(numbers))] = Copy(numbers, time.monotonic())
        if not self.waiting and self.work.twice and self.took and self.lone is None:
            self._hand_again(look, threads - len(self.running), SLOW * median)

    def _together(self, threads: int, median: float) -> int:
        """Return how many units the next task has: short ones some, as long as there are enough for all workers."""
        if self.lone is not None or not self.took:
            return 1
        fitting = min(int(TOGETHER_SECONDS / max(median, 1e-6)), MOST_TOGETHER)
        return max(1, min(fitting, len(self.waiting) // (SHARES * threads)))

    def _judge(self) -> None:
        """Take the only suspect for guilty; of several, have each run by itself."""
        if self.lone is None and len(self.suspects) == 1:
            self.failed.update(self.suspects)
        elif self.lone is None and self.suspects:
            self.lone = set(self.suspects)
            self.waiting.extend(self.suspects)
        self.suspects = {}

    def _hand_again(self, look: Snapshot, free: int, limit: float) -> None:
        """Hand out units once more that take longer than `limit` each, the longest first, to other workers."""
        now = time.monotonic()
        copies = [copy.numbers for copy in self.running.values()]
        slow = [
            (copy.began, name, copy)
            for name, copy in self.running.items()
            if now - copy.began > max(limit * len(copy.numbers), SLOW_SECONDS)
        ]
        for _, name, copy in sorted(slow, key=lambda item: item[:2]):
            where = look.at.get(name, "")
            if free > 0 and copies.count(copy.numbers) == 1 and where and len(look.threads) > 1:
                again = self.crew.hand(self.work.packed(copy.numbers), apart_from=where)
                self.running[again] = Copy(copy.numbers, now)
                free -= 1

    def _take(self, name: str) -> Iterator[tuple[int, Any]]:
        """Yield the results of units, unless another copy of them was first."""
        copy, outcome = self.running.pop(name), self.crew.outcome(name)
        self.crew.drop([name])
        others = [other for other, that in self.running.items() if that.numbers == copy.numbers]
        self.crew.drop(others)
        for other in others:
            del self.running[other]
        for number, own in zip(copy.numbers, outcomes_of(outcome, len(copy.numbers)), strict=True):
            if own.killed and self.lone is None:
                self.suspects[number] = own
            elif own.fault:
                self.failed[number] = own
            else:
                self.took.append(own.seconds)
                yield number, own.value

    def _complaint(self) -> Exception:
        """Return what is raised for the first of the units that failed, the others having been run."""
        number, outcome = min(self.failed.items())
        more = len(self.failed) - 1
        others = f"; {more} other unit{'s' if more > 1 else ''} failed too" if more else ""
        where = f", on {outcome.where}" if outcome.where else ""
        said, _, hint = outcome.fault.partition(" hint: ")
        alone = f"`cluster` replay:{self.work.key(number)} runs this unit alone, in this process"
        hints = "; ".join(part.rstrip(".") for part in (hint, alone) if part)
        sentence = f"{said.rstrip('.')} (unit {self.work.named(number)}{where}{others}). hint: {hints}"
        return RuntimeError(f"{sentence}\n{outcome.trace}") if outcome.trace else LuthierError(sentence)


class _Watch:
    """Says in a word when workers are lost, all are gone, or some come back."""

    def __init__(self) -> None:
        self._lost: int | None = None
        self._alone_since: float | None = None
        self._said = False

    def over(self, look: Snapshot) -> None:
        """Compare what is there with what was."""
        if self._lost is not None and look.lost > self._lost:
            notice(f"lost {look.lost - self._lost} worker(s) of the cluster: what they had under way is done again")
        self._lost = look.lost
        now = time.monotonic()
        if look.threads:
            if self._said:
                notice("workers are back: the job goes on")
            self._alone_since, self._said = None, False
            return
        self._alone_since = now if self._alone_since is None else self._alone_since
        if not self._said and now - self._alone_since > LONELY_SECONDS:
            notice("the cluster has no workers: the job waits for some, and goes on when they come; Ctrl-C ends it")
            self._said = True


def open_everywhere(crew: Workers, recipe: Recipe, stop: threading.Event, known: Set[str] = frozenset()) -> set[str]:
    """Have every worker open what all units share, before any unit runs; return which have, those `known` to included.

    Raises
    ------
    LuthierError
        If one cannot, or has something else or other versions; it says which and why.
    """
    found = ask_everywhere(crew, pack(None, recipe), stop, known)
    faults = [
        f"worker {worker} ({outcome.where}): {outcome.fault}" for worker, outcome in found.items() if outcome.fault
    ]
    if faults and not stop.is_set():
        more = f" ({len(faults) - 1} more workers refuse, too)" if len(faults) > 1 else ""
        raise LuthierError(min(faults) + more)
    return {*known, *(worker for worker, outcome in found.items() if not outcome.fault)}


def ask_everywhere(
    crew: Workers, packed: bytes, stop: threading.Event, known: Set[str] = frozenset()
) -> dict[str, Outcome]:
    """Return how the same unit went on every worker but those `known`; one that goes meanwhile is not waited for."""
    under_way: dict[str, str] = {}
    found: dict[str, Outcome] = {}
    asked = set(known)
    watch = _Watch()
    try:
        while not stop.is_set():
            look = crew.look()
            watch.over(look)
            for worker in sorted(set(look.threads) - asked):
                asked.add(worker)
                under_way[crew.hand(packed, only=worker)] = worker
            gone = [name for name, worker in under_way.items() if worker not in look.threads]
            crew.drop(gone)
            for name in gone:
                del under_way[name]
            if asked and not under_way:
                break
            done = crew.next_done(LOOK_SECONDS)
            if done in under_way:
                found[under_way.pop(done)] = crew.outcome(done)
                crew.drop([done])
    except KeyboardInterrupt:
        stop.set()
    finally:
        crew.drop(list(under_way))
    return dict(sorted(found.items()))
