"""Ctrl-C in a process of ours: it waits for an import to end, and is not lost where Python cannot raise it.

An interrupt inside an import may leave half a library, or become another error on its way through compiled code.
One that strikes a callback (of the garbage collector, of a weak reference) would be printed and forgotten.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from types import FrameType
from typing import Any

AGAIN_SECONDS = 0.05
IMPORTING = "<frozen importlib._bootstrap>"


def hear() -> None:
    """Hear Ctrl-C in this way from now on, unless whoever started us had it ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    waiting = threading.Event()

    def again() -> None:
        waiting.clear()
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # which ends its sleep, too
        else:
            _thread.interrupt_main()

    def later() -> None:
        if not waiting.is_set():
            waiting.set()
            timer = threading.Timer(AGAIN_SECONDS, again)
            timer.daemon = True
            timer.start()

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's form
        if not _is_importing(frame):
            raise KeyboardInterrupt
        later()

    def unraisable(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            later()
        else:
            sys.__unraisablehook__(what)

    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = unraisable


def ignore() -> None:
    """Hear it no more: the process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            return True
        frame = frame.f_back
    return False
