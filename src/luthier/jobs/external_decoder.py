"""External programs, run without a shell: a time limit, their last output, and an end for all they started."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from luthier.core.errors import InputError, LuthierError, describe_os_error, printable, unwarned
from luthier.core.files.io import content_hash, make_folder, regular, write_lines
from luthier.corpus.lines import read_lines
from luthier.kbest.building.lists import ReadOptions, read_lists
from luthier.kbest.pool import Pool
from luthier.kbest.weights import WeightFormat, Weights, replace_moses_section, write_weights
from luthier.tuning.loops.loop import NumberedDecoder

LAST_LINES, LAST_BYTES = 10, 4000
LOOK_SECONDS = 0.2  # between two looks at what a program has written
GRACE_SECONDS = 5.0  # between asking a program to end and ending it


class ProgramError(LuthierError):
    """An external program failed."""


def run_program(
    arguments: Sequence[str],
    *,
    log: Path,
    folder: Path | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
    seconds: float = 0.0,
    most_bytes: int = 0,
    what: str = "the program",
) -> None:
    """Run a program to its end, in a process group of its own.

    Parameters
    ----------
    arguments
        As the program gets them: no shell reads them, so spaces, quotes and semicolons are part of names.
    log
        File of what it says: standard error, and standard output unless `stdout` takes that.
    folder
        Where it is started; default: here.
    stdin
        File it reads; default: nothing.
    seconds
        Time limit; 0 is none. Whatever it started in its group ends with it.
    most_bytes
        What the files of the log's folder may come to, 0 for anything: that is looked at while it runs.

    Raises
    ------
    ProgramError
        It cannot be started, did not end in time, wrote too much, or ended with another exit code than 0.
    """
    with contextlib.ExitStack() as stack:
        said = stack.enter_context(open(log, "wb"))
        reads: BinaryIO | int = subprocess.DEVNULL if stdin is None else stack.enter_context(open(stdin, "rb"))
        writes = said if stdout is None else stack.enter_context(open(stdout, "wb"))
        try:
            process = subprocess.Popen(
                list(arguments), stdin=reads, stdout=writes, stderr=said, cwd=folder, start_new_session=True
            )
        except (OSError, ValueError) as error:
            why = describe_os_error(error) if isinstance(error, OSError) else str(error)
            raise ProgramError(f"{what} cannot be started: {why}") from None
        try:
            code = _wait(process, seconds, log.parent, most_bytes)
        except _LimitError as error:
            end_group(process)
            raise ProgramError(f"{what} {error} and was ended. {last_lines(log)}") from None
        except BaseException:  # Ctrl-C above all: the program does not hear it, for it has a group of its own
            end_group(process)
            raise
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise ProgramError(f"{what} {how}. {last_lines(log)}")


class _LimitError(Exception):
    """A program has gone too far; the text says how."""


def _wait(process: subprocess.Popen[bytes], seconds: float, folder: Path, most_bytes: int) -> int:
    """Return a program's exit code; raise `_LimitError` when its time is up, or when it has written too much."""
    end = time.monotonic() + seconds if seconds else math.inf
    while True:
        left = end - time.monotonic()
        pause = min(left, LOOK_SECONDS) if most_bytes else left
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(None if pause == math.inf else max(pause, 0.0))
        if time.monotonic() >= end:
            raise _LimitError(f"did not end within {seconds:g} seconds")
        if most_bytes and (found := _bytes_below(folder)) > most_bytes:
            raise _LimitError(f"wrote {found >> 20:,} MB, more than the {most_bytes >> 20:,} MB it may")


def _bytes_below(folder: Path) -> int:
    """Return what the files of a folder come to; those that go meanwhile count nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def last_lines(log: Path) -> str:
    """Return the last lines of a file as the end of a complaint."""
    with open(log, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - LAST_BYTES))
        text = file.read().decode("utf-8", "backslashreplace")
    lines = [printable(line) for line in text.splitlines() if line.strip()][-LAST_LINES:]
    if not lines:
        return "It said nothing."
    return "It said last:\n" + "\n".join(f"  {line}" for line in lines)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started in its group: by SIGTERM, then by SIGKILL."""
    if os.name != "posix":
        process.kill()
        process.wait()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        # the group has the program's number as long as the program was not waited for, or others are left in it
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS if number == signal.SIGTERM else None)


# Decoders of others: a command with places for weights, source, lists, K and number, run without a shell.

PLACES = ("weights", "source", "kbest", "k", "iteration")
# What a decoder may write: the log, and each hypothesis that it is asked for with its features.
MOST_BYTES, BYTES_OF_HYPOTHESIS = 1 << 26, 1 << 16
OPTION = re.compile(r"`([a-z_]+)`")
ENDINGS = {"text": "txt", "equals": "txt", "moses": "ini", "json": "json"}


@dataclasses.dataclass(frozen=True)
class Command:
    """How an external decoder is called and what it writes.

    Attributes
    ----------
    template : arguments, in which ``{weights}`` and so on are replaced
        Without ``{source}`` it reads the source from standard input; without ``{kbest}`` it prints the lists.
    k : hypotheses asked for
    seconds : time limit of one decoding; 0 is none
    style : how weights are written
    into : a Moses configuration whose ``[weight]`` section gets the weights, or ''
    reading : how its lists are read
    allow_empty : let sentences have no hypotheses
    """

    template: tuple[str, ...]
    k: int = 100
    seconds: float = 0.0
    style: WeightFormat = "text"
    into: str = ""
    reading: ReadOptions = dataclasses.field(default_factory=ReadOptions)
    allow_empty: bool = False

    def arguments(self, values: dict[str, str]) -> list[str]:
        """Return the arguments with their places filled; what a place gets stays one argument, whatever is in it."""
        return [_filled(argument, values) for argument in self.template]

    def has(self, place: str) -> bool:
        """Return whether the template has a place."""
        return any(f"{{{place}}}" in argument for argument in self.template)


@dataclasses.dataclass(frozen=True)
class ExternalDecoder(NumberedDecoder):
    """An external decoder on one set of sentences.

    Attributes
    ----------
    folder : where the command is started
    work : where its files stand while it runs; those of a run that failed stay
    """

    command: Command
    source: str
    refs: tuple[str, ...]
    part: str
    folder: str
    work: str

    def decode(self, weights: Weights, number: int) -> Pool:
        """Run the decoder once; return its lists.

        Raises
        ------
        ProgramError
            It failed, took too long, or its lists are not what they should be; its last words are in the error.
        """
        make_folder(self.work)
        # a folder for each attempt: what an orphan of a killed run still writes does no harm
        place = Path(tempfile.mkdtemp(prefix=f"{self.part}.{number:03d}.", dir=self.work))
        kbest, log = place / "kbest.txt", place / "log.txt"
        values = {
            "weights": str(self._write_weights(weights, place)),
            "source": str(Path(self.source).absolute()),
            "kbest": str(kbest),
            "k": str(self.command.k),
            "iteration": str(number),
        }
        what = f"the decoder ({self.command.template[0]})"
        run_program(
            self.command.arguments(values),
            log=log,
            folder=Path(self.folder),
            what=what,
            seconds=self.command.seconds,
            most_bytes=MOST_BYTES + len(read_lines(self.source)) * self.command.k * BYTES_OF_HYPOTHESIS,
            stdin=None if self.command.has("source") else Path(self.source),
            stdout=None if self.command.has("kbest") else kbest,
        )
        pool = self._read(kbest, log, what)
        for attempt in Path(self.work).glob(f"{self.part}.{number:03d}.*"):  # also those that failed or were killed
            shutil.rmtree(attempt, ignore_errors=True)
        with contextlib.suppress(OSError):  # attempts of the other part may be left
            Path(self.work).rmdir()
        return pool

    def identity(self) -> str:
        """Return what must be the same for a loop to be resumed: the command, the way of reading, and the sentences."""
        parts = [repr(dataclasses.replace(self.command, seconds=0.0)), *map(content_hash, (self.source, *self.refs))]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

    def _write_weights(self, weights: Weights, place: Path) -> Path:
        path = place / f"weights.{ENDINGS[self.command.style]}"
        if self.command.into:
            lines = read_lines(regular(Path(self.folder) / self.command.into))
            write_lines(path, replace_moses_section(lines, weights))
        else:
            write_weights(weights, path, style=self.command.style)
        return path

    def _read(self, kbest: Path, log: Path, what: str) -> Pool:
        if not kbest.is_file():
            raise ProgramError(f"{what} ended well, but wrote no lists to {kbest}. {last_lines(log)}")
        options = dataclasses.replace(self.command.reading, allow_empty=True)
        try:
            with unwarned("^[0-9]+ of [0-9]+ sentences have no hypotheses"):  # these are counted below
                pool = read_lists([str(kbest)], self.refs, self.source, options).pool
            self._check(pool)
        except LuthierError as error:
            said = OPTION.sub(r"'\1' of [decoder]", str(error))  # here options are keys of a file, not flags
            raise ProgramError(f"{what} ended well, but its lists cannot be used: {said} {last_lines(log)}") from None
        return pool

    def _check(self, pool: Pool) -> None:
        """Raise if a sentence that has words has no hypotheses."""
        assert pool.sources is not None
        empty = [i for i in np.flatnonzero(pool.list_lengths == 0).tolist() if pool.sources[i].strip()]
        if empty and not self.command.allow_empty:
            raise InputError(
                expected=f"hypotheses for each of {pool.n_sentences} sentences",
                found=f"none for {len(empty)}",
                path=self.source,
                line=empty[0] + 1,
                hint="allow_empty = true in [decoder] lets such sentences be left out",
            )


def _filled(argument: str, values: dict[str, str]) -> str:
    """Return an argument with its places filled, from left to right: what was filled in is not looked at again.

    >>> _filled("-w={weights};{k}{x}", {"weights": "{k}", "k": "5"})
    '-w={k};5{x}'
    """
    found, rest = "", argument
    while rest:
        places = [(rest.find(f"{{{name}}}"), name) for name in values if f"{{{name}}}" in rest]
        if not places:
            return found + rest
        at, name = min(places)
        found, rest = found + rest[:at] + values[name], rest[at + len(name) + 2 :]
    return found
