"""Programs of others, run without a shell: a time limit, what they said at last, and an end for all they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from luthier.core.errors import LuthierError, describe_os_error, printable

LAST_LINES, LAST_BYTES = 10, 4000
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

    Raises
    ------
    ProgramError
        It cannot be started, did not end in time, or ended with another exit code than 0.
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
            code = process.wait(seconds or None)
        except subprocess.TimeoutExpired:
            _end_group(process)
            raise ProgramError(
                f"{what} did not end within {seconds:g} seconds and was ended. {last_lines(log)}"
            ) from None
        except BaseException:  # Ctrl-C above all: the program does not hear it, for it has a group of its own
            _end_group(process)
            raise
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise ProgramError(f"{what} {how}. {last_lines(log)}")


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
