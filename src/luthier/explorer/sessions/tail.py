"""Files of states that may grow while the page is open: what is new is read, and nothing twice.

A file is looked at when the page asks, by its name, size and time; only where these have changed is it read, from where
the last whole line ended, and at most so much at a time. What a reader must know of a state is kept; its weights are
read again when somebody goes there, so that long traces of many features take no memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import PACKED, open_bytes
from luthier.core.files.journal import SEAL, SEAL_LENGTH, unseal
from luthier.core.settings import parse_json
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.loops.folder import KIND, TURNS
from luthier.tuning.loops.report import Iteration

MOST_STATES = 100_000
MOST_READ = 1 << 24  # bytes at a look; a line is not longer
KNOWN_BYTES = 256  # of the end of what was read: where they differ, it is another file

Shown = Mapping[str, Any]
Read = Callable[[bytes, int], Shown | None]  # a line and its number → what is shown of it; None: no state


@dataclasses.dataclass(frozen=True)
class Seen:
    """What is known of a file so far.

    Attributes
    ----------
    generation : counts how often it was another file, or one that is no longer what it was
    states : what is shown of each
    places : where the line of each begins, and its number
    more : whether there is more to read at once
    waiting : whether there is no such file
    """

    generation: int
    states: list[Shown]
    places: list[tuple[int, int]]
    more: bool = False
    waiting: bool = False


class Followed:
    """A file of states, which may come later, grow, or be replaced.

    Parameters
    ----------
    path : a file, or the folder of a loop, which holds one
    read : Read
    """

    def __init__(self, path: str, read: Read) -> None:
        self._given, self._read_line = path, read
        self._lock = threading.Lock()
        self._begin(0)

    def _begin(self, generation: int, *, waiting: bool = False) -> None:
        self._seen = Seen(generation, [], [], waiting=waiting)
        self._mark: tuple[int, ...] | None = None
        self._at, self._line, self._known = 0, 0, b""

    @property
    def path(self) -> str:
        """The file."""
        return file_of_trace(self._given)

    def look(self) -> Seen:
        """Return what is known of the file, read on if it has changed."""
        with self._lock:
            try:
                told = Path(self.path).stat()
            except OSError:
                if not self._seen.waiting:
                    self._begin(self._seen.generation + 1, waiting=True)
                return self._seen
            mark = told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns
            if mark == self._mark and not self._seen.more:
                return self._seen
            if self._mark is not None and mark[:2] != self._mark[:2]:
                self._begin(self._seen.generation + 1)
            self._mark = None  # where reading fails, it is tried again
            self._read_on()
            self._mark = mark
            return self._seen

    def line_of(self, state: int, generation: int) -> tuple[bytes, int]:
        """Return the line of a state, and its number, if the file is still the same."""
        with self._lock:
            if generation != self._seen.generation or not 0 <= state < len(self._seen.places):
                raise LuthierError("the file of the trace has changed meanwhile")
            place, number = self._seen.places[state]
            with _opened(self.path, place) as file:
                return file.readline(MOST_READ).rstrip(b"\n"), number

    def _read_on(self) -> None:
        if not self._still_the_same():
            self._begin(self._seen.generation + 1)
        with _opened(self.path, self._at) as file:
            data = file.read(MOST_READ)
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) == MOST_READ:
            raise InputError(
                expected=f"lines of at most {MOST_READ >> 20} MB",
                found="a longer one",
                path=self.path,
                line=self._line + 1,
            )
        for line in data[:whole].split(b"\n")[:-1]:
            self._add(line)
            self._pass(line + b"\n")
            self._line += 1
        more, rest = len(data) == MOST_READ, data[whole:]
        if not more and rest.endswith(b"}"):  # a line without its end, or the whole last one of a file
            with contextlib.suppress(InputError):
                self._add(rest)
                self._pass(rest)
        self._seen = dataclasses.replace(self._seen, more=more, waiting=False)

    def _pass(self, read: bytes) -> None:
        self._at += len(read)
        self._known = (self._known + read)[-KNOWN_BYTES:]

    def _add(self, line: bytes) -> None:
        shown = self._read_line(line, self._line + 1) if line.strip() else None
        if shown is None:
            return
        if len(self._seen.states) >= MOST_STATES:
            raise InputError(expected=f"at most {MOST_STATES:,} states", found="more", path=self.path)
        self._seen.states.append(shown)
        self._seen.places.append((self._at, self._line + 1))

    def _still_the_same(self) -> bool:
        """Return whether what was read is there as it was, by its end."""
        with _opened(self.path, self._at - len(self._known)) as file:
            return file.read(len(self._known)) == self._known


def file_of_trace(path: str) -> str:
    """Return the file that holds the states: a loop is named by its folder."""
    return str(Path(path) / TURNS) if Path(path).is_dir() else path


@contextlib.contextmanager
def _opened(path: str, place: int) -> Iterator[BinaryIO]:
    """Yield a file from some place on; a packed one is unpacked up to there."""
    if path.endswith(PACKED):
        with open_bytes(path) as file:
            for first in range(0, place, MOST_READ):
                file.read(min(MOST_READ, place - first))
            yield file
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below, once the errors of opening are told apart
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise InputError(expected="a readable file", found=found, path=path) from None
    with file:
        file.seek(place)
        yield file


# Lines of files that hold states: those of `luthier tune`, and the turns that a loop's folder keeps.

LONGEST_WORDS = 200


class TraceLines:
    """Reads the lines of one file, for lists of certain features.

    A loop's lines carry hashes, weights by name, and scores in place of gains. A feature without a weight counts 0, as
    it does in the loop.
    """

    def __init__(self, path: str, problem: ListProblem) -> None:
        self.path, self._problem = path, problem

    def shown(self, line: bytes, number: int) -> Shown | None:
        """Return what the page shows of a state; None for a line about the job itself."""
        record = self._record(line, number)
        if _is_loop(line):
            return self._turn(record, number)
        self._weights(record, number)
        heldout = record.get("heldout_gain")
        if heldout is not None and not _numbers([heldout]):
            raise self._complaint("a held-out gain or none", repr(heldout), number)
        counted = {key: value if type(value := record.get(key)) is int else 0 for key in ("seed", "restart", "step")}
        did = str(record.get("did", ""))[:LONGEST_WORDS]
        return {**counted, "gain": record["gain"], "heldout_gain": heldout, "did": did}

    def weights(self, line: bytes, number: int) -> Float64:
        """Return the weights of a state, (D,)."""
        record = self._record(line, number)
        if not _is_loop(line):
            return self._weights(record, number)
        named = self._iteration(record, number).weights
        return np.array([named.get(name, 0.0) for name in self._problem.names], dtype=np.float64)

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            found = unseal(line) if _is_loop(line) else parse_json(line)
        except ValueError as error:
            raise self._complaint("a line of JSON", str(error), number) from None
        if not isinstance(found, dict):
            raise self._complaint("a state with gain and weights", "another value", number)
        return found

    def _weights(self, record: dict[str, Any], number: int) -> Float64:
        if not _numbers(record.get("weights")) or not _numbers([record.get("gain")]):
            raise self._complaint("a state with gain and weights", "another", number)
        weights = np.array(record["weights"], dtype=np.float64)
        if len(weights) != self._problem.n_features:
            raise self._complaint(
                f"{self._problem.n_features} weights", str(len(weights)), number, "is this a trace of other lists?"
            )
        return weights

    def _turn(self, record: dict[str, Any], number: int) -> Shown | None:
        metric = self._problem.metric
        if number == 1:
            tuned_for = record.get("identity", {}).get("metric") if isinstance(record.get("identity"), dict) else None
            if record.get("kind") != KIND or tuned_for != metric.signature:
                raise self._complaint(f"a loop that tunes for {metric.signature}", f"{tuned_for}", number)
            return None
        if number == 2:  # the start: its score on the held-out set
            return None
        turn = self._iteration(record, number)
        heldout = None if turn.heldout is None else float(metric.gain(np.array(turn.heldout)))
        return {
            "seed": 0,
            "restart": 0,
            "step": turn.number,
            "gain": float(metric.gain(np.array(turn.after))),
            "heldout_gain": heldout,
            "did": f"turn {turn.number}: {turn.new:,} new hypotheses, {metric.name} {turn.decoded:.2f} decoded",
        }

    def _iteration(self, record: dict[str, Any], number: int) -> Iteration:
        try:
            return Iteration.from_record(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._complaint("a turn of a loop", str(error), number) from None

    def _complaint(self, expected: str, found: str, number: int, hint: str = "") -> InputError:
        return InputError(expected=expected, found=found, path=file_of_trace(self.path), line=number, hint=hint)


def _is_loop(line: bytes) -> bool:
    """Return whether a line has the hash of those that a loop keeps."""
    return SEAL.fullmatch(line[-SEAL_LENGTH:]) is not None


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) in (int, float) for v in values) and _finite(values)


def _finite(values: list[float]) -> bool:
    try:
        return bool(np.isfinite(np.array(values, dtype=np.float64)).all())
    except OverflowError:
        return False
