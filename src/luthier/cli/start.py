"""The first step through the door: Ctrl-C ends in order also while the rest is being imported.

Here are tricks that let a small command start and end sooner. They are for a process of our own.
"""

from __future__ import annotations

import _thread
import atexit
import builtins
import dataclasses
import gc
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

# Ctrl-C in a process of ours: it waits for an import to end, and is not lost where Python cannot raise it.
#
# An interrupt inside an import may leave half a library, or become another error on its way through compiled code.
# One that strikes a callback (of the garbage collector, of a weak reference) would be printed and forgotten.

AGAIN_SECONDS = 0.05
IMPORTING = "<frozen importlib._bootstrap>"


def hear() -> None:
    """Hear Ctrl-C in this way from now on, unless whoever started us had it ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    waiting = threading.Event()

    def again() -> None:
        if not waiting.is_set():  # raised already, where an import ended
            return
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

    plain = builtins.__import__

    def importing(*arguments: Any, **options: Any) -> Any:
        """Import, and interrupt where the outermost import ends if Ctrl-C was pressed meanwhile."""
        try:
            return plain(*arguments, **options)
        finally:
            if waiting.is_set() and not _is_importing(sys._getframe(1)):
                _raise_in_main(waiting)

    def unraisable(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            later()
        else:
            sys.__unraisablehook__(what)

    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = unraisable
    builtins.__import__ = importing


def _raise_in_main(waiting: threading.Event) -> None:
    if threading.current_thread() is threading.main_thread():
        waiting.clear()
        raise KeyboardInterrupt


def ignore() -> None:
    """Hear it no more: the process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            return True
        frame = frame.f_back
    return False


OBJECTS_AT_START = 200_000  # an everyday command imports some 110,000


def command() -> int:
    """Run the command line and end the process; where that must take its time, return the exit code."""
    code = main()
    threads = [thread for thread in threading.enumerate() if not thread.daemon]
    if len(threads) == 1 and sys.getprofile() is None and sys.gettrace() is None:
        _end(code)
    return code


def _end(code: int) -> None:
    """End the process without taking apart all that was imported, which takes as long as a small job."""
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError):
        return  # Python's own way to end has an exit code for it
    os._exit(code)


def main() -> int:
    """Run the command line; return its exit code."""
    _collect_late()
    _compile_methods_late()
    try:
        hear()
        from luthier.cli.main import main as run

        code = run()
        ignore()
        return code
    except KeyboardInterrupt:
        print("luthier: interrupted; no output was written", file=sys.stderr)  # noqa: T201
        return 130
    finally:
        gc.freeze()  # the process ends: a last look through all that was imported took an eighth of a small command


def _collect_late() -> None:
    """Look for garbage only when more has been made than imports make: that took a tenth of a small command."""
    usual = gc.get_threshold()

    def at_first(phase: str, info: dict[str, int]) -> None:  # noqa: ARG001 - Python's form
        if phase == "start":
            gc.set_threshold(*usual)
            gc.callbacks.remove(at_first)

    gc.callbacks.append(at_first)
    gc.set_threshold(OBJECTS_AT_START, *usual[1:])


def _compile_methods_late() -> None:
    """Let Python compile what it writes for a data class, but for `__init__`, when it is called: most of it never is.

    That took a sixteenth of a small command. The function is not documented, and gone where Python does so faster.
    """
    compiled = getattr(dataclasses, "_create_fn", None)
    if compiled is None:
        return

    def create(name: str, *source: Any, **names: Any) -> Any:
        if name == "__init__":
            return compiled(name, *source, **names)
        made: Any = None

        def method(*arguments: Any) -> Any:
            nonlocal made
            made = made or compiled(name, *source, **names)
            return made(*arguments)

        method.__name__ = name
        return method

    dataclasses._create_fn = create  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(command())
