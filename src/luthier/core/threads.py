"""Threads of this process: fine-grained parallel work on shared arrays, and what they must agree on.

Kernels release the GIL, so threads share the work of one call (blocks of sentences, of rows, of edges) and
write into the same arrays. Coarse work that may leave this process goes through `core/tasks.py` instead.
Results depend on neither.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from luthier.core.errors import LuthierError
from luthier.core.start_up import is_command

if TYPE_CHECKING:
    from concurrent.futures import Executor

BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def available_threads() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def hold_blas(threads: int) -> None:
    """Keep every BLAS of this process to `threads` threads, loaded already or yet to be loaded."""
    for variable in BLAS_VARIABLES:
        os.environ[variable] = str(threads)
    import sys

    if "numpy" in sys.modules:  # the variables above come too late for a library that is loaded
        from threadpoolctl import threadpool_limits

        threadpool_limits(limits=threads)


# A second Ctrl-C within this time is taken for the first one, heard twice (a terminal and a wrapper).
ECHO_SECONDS = 1.0


@contextmanager
def stopping_gently(stop: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C inside the block set `stop`; a later one interrupts as usual.

    An interrupt that strikes anywhere can strike inside a lock; work that looks at `stop` between its
    steps ends whole. So it is in our own command; in a host's process, in threads that hear no signals, and where
    Ctrl-C is ignored, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or not is_command() or before == signal.SIG_IGN:
        yield
        return
    heard: list[float] = []

    def listen(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        heard.append(time.monotonic())
        if stop.is_set() and heard[-1] - heard[0] > ECHO_SECONDS:
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, listen)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block ends, and keep it for good from processes that are started inside.

    Half of a group of processes cannot be ended in order, and a child that hears Ctrl-C by itself says so. Only the
    main thread hears signals; elsewhere nothing changes.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which lets signals through again in the thread that starts it
    heard = threading.Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.set())  # noqa: ARG005 - some thread may hear it
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # threads and processes inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if heard.is_set():
            signal.raise_signal(signal.SIGINT)


class _OneBlasThread:
    """Counts who wants BLAS held to one thread; the last to leave gives back what the first has found."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limits: Any = None
        self._first: threading.Thread | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it inside the block, whichever threads are in such a block."""
        from threadpoolctl import threadpool_limits

        with self._lock:
            if not self._inside:
                self._limits, self._first = threadpool_limits(limits=1), threading.current_thread()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._give_back()

    def _give_back(self) -> None:
        import threadpoolctl

        # newer versions let nobody but the thread that has set a limit change it, until it is freed
        free = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
        if free is not None and self._first is not threading.current_thread():
            free(force=True)
        self._limits.restore_original_limits()
        if free is not None:
            free()
        self._limits = self._first = None


_one_blas_thread = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Hold BLAS to one thread inside the block.

    Its sums depend on how many threads share them; where the last bit of a result must not depend on
    the number of threads, they must not. Parallel work runs above, in whole runs.
    """
    return _one_blas_thread.held()


@contextmanager
def executor(threads: int) -> Iterator[Executor]:
    """Yield an executor of `threads` workers."""
    if threads < 1:
        raise LuthierError(f"the number of threads must be at least 1, got {threads}")
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=threads) as pool:
        yield pool


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield ``work(item)`` for each item, in their order; with one thread in the caller's own.

    When the caller stops early, or is interrupted, what has not begun is not begun.
    """
    if threads == 1:
        yield from map(work, items)
        return
    with executor(threads) as pool:
        yield from pool.map(work, items)
