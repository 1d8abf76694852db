"""Whose process this is: that of our own command, or that of a host who has imported the library.

A host's modules, signal handlers and garbage collector are its own: the library leaves them alone. The command has its
process to itself, and may use all of them to start sooner and to end in order when Ctrl-C is pressed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_COMMAND = threading.Event()  # seen by all threads


@contextmanager
def as_command() -> Iterator[None]:
    """Take the process for our own inside the block."""
    if _COMMAND.is_set():
        yield
        return
    _COMMAND.set()
    try:
        yield
    finally:
        _COMMAND.clear()


def take_process() -> None:
    """Take the process for our own to its end: one that we have started for our own work."""
    _COMMAND.set()


def is_command() -> bool:
    """Return whether the process is our own command's, or one that does its work."""
    return _COMMAND.is_set()
