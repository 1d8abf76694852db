"""A scorer that is a program: lines of JSON go in, a number a line comes out, in the same order.

All lines are written as fast as the program reads them, and answers are read as they come. So a program may answer line
by line, in batches, or when all has been read; nobody waits for anybody's buffer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from luthier.core.errors import InputError, LuthierError, describe_os_error, excerpt
from luthier.core.params import param, validate
from luthier.jobs.external_decoder import ProgramError, end_group, last_lines
from luthier.scorers._scorer import Item, stamp

DEATHS = 3  # without an answer in between, and it is given up
LONGEST_ANSWER = 1 << 16
LOOK_SECONDS = 0.2  # between two looks at the clock of a silent program


class CountError(InputError):
    """More numbers than hypotheses, or fewer: they cannot be matched."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A command, as it was typed; no shell reads it. It is started in a `folder`, or where we are."""

    command: str = param("", help="its words; quotes hold blanks")
    seconds: float = param(3600.0, low=0.1, help="how long it may be silent")
    folder: str = param("", help="where it is started")

    def __post_init__(self) -> None:
        validate(self)
        if not self.arguments:
            raise LuthierError("expected a command or the name of a scorer, found nothing")

    @property
    def arguments(self) -> list[str]:
        """The command's words."""
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise LuthierError(f"expected a command, found {self.command!r}: {str(error).lower()}") from None

    def identity(self) -> str:
        """Return what the numbers depend on: the command, and sizes and times of the files that it names."""
        stamps = (stamp(os.path.join(self.folder, argument)) for argument in self.arguments if argument)
        return " ".join(["command", self.command, *stamps])

    def answers(self, items: Sequence[Item]) -> Iterator[float]:
        """Yield the number of each hypothesis; start the program again where it dies.

        Raises
        ------
        ProgramError
            It cannot be started, died thrice at one place, or was silent too long.
        InputError
            An answer that is no finite number, too few answers, or too many (`CountError`); with line and sentence.
        """
        done, deaths = 0, 0
        while done < len(items):
            before = done
            with _Run(self, items[done:]) as run:
                for number in run.numbers(done):
                    yield number
                    done += 1
                code = run.end()
            if done == len(items):
                return
            if run.stalled:
                raise ProgramError(
                    f"{run.name} was silent for {self.seconds:g} s at {_where(items[done])}, hypothesis {done + 1} of "
                    f"{len(items)} that it was to score, and was ended. {run.said} "
                    "hint: the option seconds=S is another limit; what is printed must be flushed"
                )
            deaths = 1 if done > before else deaths + 1
            if code == 0:
                raise run.too_few(done - before)
            if deaths >= DEATHS:
                raise ProgramError(
                    f"{run.name} died {DEATHS} times ({_how(code)}) at {_where(items[done])}, hypothesis {done + 1} of "
                    f"{len(items)} that it was to score. {run.said}"
                )


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _where(item: Item) -> str:
    return f"sentence {item.id!r} ({excerpt(item.hyp.encode())})"


class _Run:
    """One life of a program."""

    def __init__(self, program: Program, items: Sequence[Item]) -> None:
        self._items, self._arguments, self._folder = items, program.arguments, program.folder or None
        self.name, self.said = f"the scorer ({self._arguments[0]})", ""
        self.stalled, self._seconds, self._ended = False, program.seconds, threading.Event()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Run:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="luthier-score-"))
        self._log = Path(folder, "log.txt")
        with open(self._log, "wb") as log:
            try:
                self._process = subprocess.Popen(
                    self._arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self._folder,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                self._stack.close()
                why = describe_os_error(error) if isinstance(error, OSError) else str(error)
                raise ProgramError(f"{self.name} cannot be started: {why}") from None
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        self._feeder.start()
        self._heard = time.monotonic()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        """End the program when it has been silent too long: who reads its answers then meets their end."""
        while not self._ended.wait(LOOK_SECONDS):
            if time.monotonic() - self._heard > self._seconds:
                self.stalled = True
                end_group(self._process)
                return

    def _feed(self) -> None:
        """Write all lines; a program that has died, or reads no more, is the reader's business."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            for item in self._items:
                self._process.stdin.write(item.line().encode() + b"\n")
            self._process.stdin.close()

    def numbers(self, done: int) -> Iterator[float]:
        """Yield the numbers that it prints, `done` having been printed in lives before."""
        assert self._process.stdout is not None
        for place in range(len(self._items)):
            line = self._process.stdout.readline(LONGEST_ANSWER)
            if not line or (len(line) < LONGEST_ANSWER and line[-1:] != b"\n" and self._process.wait() != 0):
                return  # it has ended, or died while it wrote
            yield self._number(line, place)
            self._heard = time.monotonic()
        rest = self._process.stdout.readline(LONGEST_ANSWER)
        if rest.strip():
            raise CountError(
                expected=f"{len(self._items) + done} numbers, one for each hypothesis",
                found=f"more, {excerpt(rest.strip())} the next",
                path=self._path,
                line=len(self._items) + 1,
            )

    @property
    def _path(self) -> str:
        return f"output of {self._arguments[0]}"

    def _number(self, line: bytes, place: int) -> float:
        try:
            number = float(line) if b"_" not in line else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InputError(
                expected=f"a finite number for {_where(self._items[place])}",
                found=excerpt(line.strip()),
                path=self._path,
                line=place + 1,
                hint="the scorer prints one number a line, and all else to standard error",
            )
        return number

    def too_few(self, answered: int) -> CountError:
        """Return the complaint about a program that ended as if all were done."""
        return CountError(
            expected=f"{len(self._items)} numbers, one for each hypothesis",
            found=f"{answered}, and none for {_where(self._items[answered])}",
            path=self._path,
            line=answered + 1,
            hint=self.said,
        )

    def end(self) -> int:
        """Wait for its end; return the exit code."""
        code = self._process.wait()
        self.said = last_lines(self._log)
        return code

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watcher.join()
        if self._process.poll() is None:
            end_group(self._process)
        self._feeder.join(1.0)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        self._stack.close()
