"""What a worker does with a unit: it opens what all units share, runs it, and says how that went.

Whatever happens becomes an outcome, a plain record: no exception of ours travels, so that none can be lost or
misread on the way. A worker that has other versions of what computes refuses, before it reads anything else.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import pickle
import platform
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from luthier import __version__
from luthier.core.errors import LuthierError, LuthierWarning, describe_os_error
from luthier.core.tasks import Recipe, deserialized, find, opened, serialized
from luthier.core.threads import hold_blas

OPENING = threading.Lock()  # threads of a worker wait for the first of them to open what they share
COMPUTING = ("numpy", "numba", "scipy", "pyarrow", "distributed")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a unit went.

    Attributes
    ----------
    value : its result
    fault : what went wrong, in a sentence; '' if nothing did
    trace : where, if it is a fault of the program
    killed : whether workers died of it, or beside it
    where : host and process
    seconds : wall-clock seconds that it took there
    """

    value: Any = None
    fault: str = ""
    trace: str = ""
    killed: bool = False
    where: str = ""
    seconds: float = 0.0


@functools.cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return name and version of all that has a say in the bytes of a result."""
    found = {"luthier": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    for name in COMPUTING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return tuple(found.items())


def differing(mine: tuple[tuple[str, str], ...], others: tuple[tuple[str, str], ...]) -> str:
    """Return in words which versions differ; '' if none does.

    >>> differing((("numpy", "1"), ("numba", "3")), (("numpy", "2"), ("numba", "3")))
    'numpy 2 in place of 1'
    """
    theirs = dict(others)
    return ", ".join(f"{n} {theirs.get(n, 'none')} in place of {v}" for n, v in mine if theirs.get(n) != v)


def pack(path: str | None, recipe: Recipe, unit: Any = None) -> bytes:
    """Return a unit as it travels: names and plain records, pickled; without a path of work, to be opened only."""
    return pickle.dumps((versions(), serialized((path, recipe, unit))))


@dataclasses.dataclass(frozen=True)
class Several:
    """Short units of the same work that travel together."""

    path: str
    units: tuple[Any, ...]


def pack_several(path: str, recipe: Recipe, units: tuple[Any, ...]) -> bytes:
    """Return units as they travel together; one is packed as ever."""
    if len(units) == 1:
        return pack(path, recipe, units[0])
    return pack(f"{__name__}:run_several", recipe, Several(path, units))


def run_several(given: Any, several: Several) -> list[bytes]:
    """Return how each unit went, packed: one that fails does no harm to the others."""
    return [_timed(functools.partial(_told, several.path, given, unit)) for unit in several.units]


def outcomes_of(outcome: Outcome, count: int) -> list[Outcome]:
    """Return the outcome of each of `count` units that travelled together."""
    if count == 1 or outcome.fault:
        return [outcome] * count
    return [deserialized(data) for data in outcome.value]


def unit_key(path: str, unit: Any) -> str:
    """Return 16 digits by which a unit is known, in any process."""
    return hashlib.blake2b(path.encode() + b"\0" + pickle.dumps(unit, protocol=5), digest_size=8).hexdigest()


def run_packed(packed: bytes) -> bytes:
    """Run a unit as it came; return its outcome, pickled."""
    return _timed(lambda: _outcome(packed))


def _timed(run: Callable[[], Outcome]) -> bytes:
    """Return an outcome, pickled, with how long it took and where."""
    began = time.perf_counter()
    outcome = run()
    whole = dataclasses.replace(outcome, where=whereabouts(), seconds=time.perf_counter() - began)
    try:
        return serialized(whole)
    except LuthierError:
        return serialized(dataclasses.replace(whole, value=None, fault="its result cannot be given to other processes"))


def _outcome(packed: bytes) -> Outcome:
    theirs, inner = pickle.loads(packed)
    differ = differing(theirs, versions())
    if differ:
        return Outcome(fault=f"expected the same versions on every worker, found {differ}")

    def run() -> Any:
        _settle()
        path, recipe, unit = deserialized(inner)
        with OPENING:
            given = opened(recipe)
        return None if path is None else find(path)(given, unit)

    return _guarded(run)


def _told(path: str, given: Any, unit: Any) -> Outcome:
    return _guarded(lambda: find(path)(given, unit))


def _guarded(run: Callable[[], Any]) -> Outcome:
    """Return the outcome of what is run, whatever it raises."""
    try:
        return Outcome(run())
    except LuthierError as error:
        return Outcome(fault=str(error))
    except OSError as error:
        return Outcome(fault=describe_os_error(error))
    except MemoryError:
        return Outcome(fault="not enough memory for this unit")
    except Exception as error:
        return Outcome(fault=f"{type(error).__name__}: {error}", trace=traceback.format_exc())


@functools.cache
def _settle() -> None:
    """Leave BLAS one thread in this process, for good, and warnings to whoever asks: they have been said there."""
    hold_blas(1)
    warnings.simplefilter("ignore", LuthierWarning)


def whereabouts() -> str:
    """Return host and process, for messages."""
    return f"{platform.node() or 'this host'}, process {os.getpid()}"
