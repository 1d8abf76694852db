"""Programs of others, run without a shell: a time limit, what they said at last, and an end for all they started."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from luthier.core.errors import LuthierError, describe_os_error, printable

LAST_LINES, LAST_BYTES = 10, 4000
LOOK_SECONDS = 0.2  # between two looks at what a program has written
GRACE_SECONDS = 5.0  # between asking a program to end and ending it


class ProgramError(LuthierError):
    """A program of somebody else did not do what it was started for."""


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
            _end_group(process)
            raise ProgramError(f"{what} {error} and was ended. {last_lines(log)}") from None
        except BaseException:  # Ctrl-C above all: the program does not hear it, for it has a group of its own
            _end_group(process)
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


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started in its group: first by asking, then without."""
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
