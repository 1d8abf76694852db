"""Coarse parallel work: units that may run here, in threads, or in other processes, with the same results.

A *unit* is a small frozen record of plain values. The *work* is a function of a module, known by its import
path, so that nothing but names and records ever travels; it gets what all units share, and one unit. What
is shared is *given* once: in this process as it is, elsewhere by a recipe (a pool by path and digest) from
which a worker opens it itself. A unit that needs chance brings its own generator. Callers put results
together in the order of their numbers, so that it does not matter who was first.

An engine hands out units. Those here are this process, its threads, and processes of this machine; an engine
for other machines needs the method `results` and nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from luthier.core.errors import LuthierError
from luthier.core.start_up import take_process
from luthier.core.threads import hold_blas, uninterrupted

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Work = Callable[[Any, Any], Any]
Units = Mapping[int, Any]
Keep = Callable[[int, Any], None]

KEPT_THINGS = 2  # what a worker process keeps open: jobs on two pools at a time do not open them again and again
LOOK_SECONDS = 0.2  # how long a wait for other processes may be deaf to `stop`


class Recipe(Hashable, Protocol):
    """How another process gets what all units share: a small frozen record, hashable and picklable."""

    def open(self) -> Any:
        """Return the thing; raise if what is found is not what was meant."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shared:
    """What all units share: as it is here, and how another process gets it.

    Without a recipe the value itself is pickled, once, into a private temporary file. Where units write files of
    their own, none may run `twice` at a time, not even for the sake of a slow worker.
    """

    value: Any
    recipe: Recipe | None = None
    twice: bool = True


class Engine(Protocol):
    """Whoever runs units."""

    def results(self, work: Work, given: Shared, units: Units, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield number and result of each unit as it is done; begin no more units once `stop` is set.

        An exception of a unit is raised here; units not begun by then are dropped.
        """


def run_units(
    work: Work,
    given: Shared,
    units: Units,
    *,
    engine: Engine | None = None,
    keep: Keep | None = None,
    stop: threading.Event | None = None,
) -> dict[int, Any]:
    """Return the results of all units by number, in ascending order.

    Parameters
    ----------
    work
        ``work(given value, unit) -> result``, a function of a module.
    units
        By number.
    engine
        Default: this process, one unit after another.
    keep
        Is called with number and result as soon as a unit is done, in this thread.
    stop
        When set, no more units are begun; those of this process may look at it too. Results are then those
        that there are.
    """
    path_of(work)  # whatever the engine, so that no job depends on where it runs
    found: dict[int, Any] = {}
    ended = stop or threading.Event()
    with contextlib.closing(_results(engine or Serial(), work, given, units, ended)) as results:
        for number, result in results:
            found[number] = result
            if keep is not None:
                keep(number, result)
    if stop is None and ended.is_set():  # Ctrl-C, and nobody said that a part of the results is welcome
        raise KeyboardInterrupt
    return dict(sorted(found.items()))


def each_result(work: Work, given: Shared, units: Units, engine: Engine) -> Generator[Any, None, None]:
    """Yield the results of all units in the order of `units`; none is kept longer than the order needs."""
    path_of(work)
    early: dict[int, Any] = {}
    ended, numbers = threading.Event(), iter(units)
    wanted = next(numbers, None)
    with contextlib.closing(_results(engine, work, given, units, ended)) as results:
        for number, result in results:
            early[number] = result
            while wanted in early:
                yield early.pop(wanted)
                wanted = next(numbers, None)
    if ended.is_set():
        raise KeyboardInterrupt


def _results(
    engine: Engine, work: Work, given: Shared, units: Units, stop: threading.Event
) -> Generator[tuple[int, Any], None, None]:
    yield from engine.results(work, given, units, stop)


def path_of(work: Callable[..., Any]) -> str:
    """Return the import path of a function, ``module:name``, under which any process finds it."""
    path = f"{work.__module__}:{work.__qualname__}"
    try:
        found = find(path)
    except (ImportError, AttributeError):
        found = None
    if found is not work:
        raise LuthierError(f"expected a function that a module has by name, found {path}")
    return path


def find(path: str) -> Any:
    """Return what stands under an import path."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


@dataclasses.dataclass(frozen=True)
class Serial:
    """Units one after another, in this thread."""

    def results(self, work: Work, given: Shared, units: Units, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield results in the order of the units."""
        for number, unit in units.items():
            if stop.is_set():
                return
            yield number, work(given.value, unit)


@dataclasses.dataclass(frozen=True)
class Threads:
    """Units in so many threads of this process."""

    count: int

    def results(self, work: Work, given: Shared, units: Units, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield results as they come; Ctrl-C sets `stop`, and what is under way is waited for."""
        count = max(1, min(self.count, len(units)))
        with ThreadPoolExecutor(count) as workers:
            yield from _as_finished(lambda unit: workers.submit(work, given.value, unit), units, stop, room=2 * count)


@dataclasses.dataclass(frozen=True)
class Processes:
    """Units in so many processes of this machine, each with one BLAS thread."""

    count: int

    def hold(self, value: Any) -> contextlib.AbstractContextManager[Recipe]:
        """Return how workers get a value that is in no file."""
        return pickled(value)

    def results(self, work: Work, given: Shared, units: Units, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield results as they come; when `stop` is set, units under way are given up."""
        import multiprocessing
        from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

        context = multiprocessing.get_context("spawn")  # a fork would copy locks in whatever state they are
        with contextlib.ExitStack() as stack:
            recipe = given.recipe or stack.enter_context(pickled(given.value))
            path, count = path_of(work), max(1, min(self.count, len(units)))
            others = set(multiprocessing.active_children())
            workers = ProcessPoolExecutor(count, mp_context=context, initializer=_begin_worker)
            stack.callback(_end_workers, workers, others)
            try:
                yield from _as_finished(
                    lambda unit: _submit(workers, path, recipe, unit),
                    units,
                    stop,
                    room=2 * count,
                    look=LOOK_SECONDS,
                )
            except BrokenProcessPool:
                raise LuthierError(
                    "a worker process ended before its unit was done. hint: it may have run out of memory; "
                    "fewer processes need less"
                ) from None


def _as_finished(
    submit: Callable[[Any], Future[Any]],
    units: Units,
    stop: threading.Event,
    *,
    room: int,
    look: float | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield results as they come, with at most `room` units submitted at a time.

    With `look` seconds, units cannot see `stop` themselves: when it is set, they are not waited for.
    """
    waiting = iter(units.items())
    running: dict[Future[Any], int] = {}
    try:
        while True:
            while not stop.is_set() and len(running) < room:
                number, unit = next(waiting, (None, None))
                if number is None:
                    break
                running[submit(unit)] = number
            if stop.is_set():
                for future in [f for f in running if f.cancel()]:
                    del running[future]
            if not running or (look is not None and stop.is_set()):
                return
            try:
                done, _ = wait(running, timeout=look, return_when=FIRST_COMPLETED)
            except KeyboardInterrupt:
                stop.set()
                continue
            for future in sorted(done, key=running.__getitem__):
                yield running.pop(future), future.result()
    except (KeyboardInterrupt, GeneratorExit):
        stop.set()  # units of this process that look at it end after their present step
        raise
    finally:  # an error, or nobody listens any more
        for future in running:
            future.cancel()


def _submit(workers: ProcessPoolExecutor, path: str, recipe: Recipe, unit: Any) -> Future[Any]:
    """Hand a unit to worker processes, which may be started by that."""
    with uninterrupted():
        return workers.submit(_in_worker, path, recipe, unit)


def _begin_worker() -> None:
    """Make a worker process leave Ctrl-C to the process that started it, and BLAS to one thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    take_process()
    hold_blas(1)


def _end_workers(workers: ProcessPoolExecutor, others: Set[Any]) -> None:
    """End worker processes, also in the middle of a unit that nobody waits for; what ran before, the `others`, stays.

    The pool does not know of a process that was being started when Ctrl-C was pressed; the system does.
    """
    import multiprocessing

    workers.shutdown(wait=False, cancel_futures=True)
    processes = set(multiprocessing.active_children()) - others
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _in_worker(path: str, recipe: Recipe, unit: Any) -> Any:
    return find(path)(opened(recipe), unit)


@functools.lru_cache(maxsize=KEPT_THINGS)
def opened(recipe: Recipe) -> Any:
    """Return what a recipe opens; a worker process keeps the last two things open."""
    return recipe.open()


@dataclasses.dataclass(frozen=True)
class _PickledFile:
    """A value that this process wrote for its own workers."""

    path: str
    digest: str

    def open(self) -> Any:
        data = Path(self.path).read_bytes()
        if hashlib.blake2b(data, digest_size=16).hexdigest() != self.digest:
            raise LuthierError(f"{self.path}: what workers share was changed while they ran")
        return deserialized(data)


def serialized(value: Any) -> bytes:
    """Return a value as it travels; arrays that are read-only stay so: kernels are compiled for one or the other."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise LuthierError(f"this job cannot be given to other processes: {error}") from None
    return pickle.dumps((body, [bytearray(buffer.raw()) for buffer in buffers]), protocol=5)


def deserialized(data: bytes) -> Any:
    """Return the value."""
    body, buffers = pickle.loads(data)
    return pickle.loads(body, buffers=buffers)


def _not_shared(error: OSError, path: str) -> LuthierError:
    why = (error.strerror or str(error)).lower()
    return LuthierError(f"{path}: what workers share cannot be written: {why}. hint: name another folder in TMPDIR")


@contextlib.contextmanager
def held(engine: Engine, given: Shared) -> Iterator[Shared]:
    """Yield what is given so that many calls of `run_units` share it: it is written, or sent, once for all of them."""
    hold = getattr(engine, "hold", None)  # of engines that have anything to write or to send
    if given.recipe is not None or hold is None:
        yield given
        return
    with hold(given.value) as recipe:
        yield dataclasses.replace(given, recipe=recipe)


@contextlib.contextmanager
def pickled(value: Any) -> Iterator[_PickledFile]:
    """Yield the recipe of a value that is in no file: it is written to one, which only this user can read."""
    data = serialized(value)
    try:
        handle, path = tempfile.mkstemp(prefix="luthier-given-")
    except OSError as error:
        raise _not_shared(error, tempfile.gettempdir()) from None
    try:
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except OSError as error:
            raise _not_shared(error, path) from None
        yield _PickledFile(path, hashlib.blake2b(data, digest_size=16).hexdigest())
    finally:
        Path(path).unlink(missing_ok=True)
