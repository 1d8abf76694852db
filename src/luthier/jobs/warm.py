"""Compile every kernel of the package, by small jobs of the real kind that stand in `jobs/warmup/`."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from types import ModuleType
from typing import Any

import luthier
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.jit import compiler_seconds
from luthier.core.progress import progress
from luthier.core.tasks import Processes, Shared, find, path_of, run_units

# The rooms whose jobs reach what a group of commands needs, as the list of commands has these groups.
ROOMS = {
    "lists": ("kbest",),
    "features": ("kbest", "features"),
    "metrics": ("kbest", "metrics", "evaluation"),
    "tuning": ("kbest", "metrics", "evaluation", "landscape", "tuning"),
    "geometry": ("kbest", "metrics", "geometry", "landscape"),
    "translation models": ("alignment", "lm", "grammar", "features", "decoding"),
}
LONGEST = "luthier.jobs.warmup.landscape"  # more than half of all that is compiled


@dataclasses.dataclass(frozen=True)
class Warmed:
    """How many kernels of each file are ready, and the CPU seconds that compiling took (0 where all were kept)."""

    counts: dict[str, int]
    compile_seconds: float


def warm(groups: Sequence[str] = (), processes: int = 1) -> Warmed:
    """Run all kernels, or those of some groups of commands.

    With several processes each compiles what its jobs need; this one then loads all that they kept.

    Raises
    ------
    LuthierError
        If a kernel was not reached: then its room needs another job. Or for an unknown group.
    """
    for group in groups:
        if group not in ROOMS:
            raise LuthierError(f"there is no group {group!r}. known: {', '.join(ROOMS)}")
    rooms = {room for group in groups for room in ROOMS[group]}
    jobs = dict(enumerate(warmup_jobs(rooms)))
    elsewhere: dict[int, float] = {}
    with progress("compiling kernels") as advance:
        if processes > 1:
            longest_first = dict(sorted(jobs.items(), key=lambda job: not job[1].startswith(LONGEST)))
            engine = Processes(processes)
            elsewhere = run_units(run_job, Shared(None), longest_first, engine=engine, keep=lambda *_: advance(1))
        here = run_units(run_job, Shared(None), jobs, keep=lambda *_: advance(1))
    seconds = sum(here.values()) + sum(elsewhere.values())
    if groups:
        return Warmed(_ready(), seconds)
    modules = kernel_modules()
    counts = {module.__name__.removeprefix("luthier."): len(kernels_of(module)) for module in modules}
    missed = [name for name, kernel in entry_kernels(modules).items() if not kernel.signatures]
    if missed:
        raise LuthierError(f"these kernels are never run by 'luthier warm': {', '.join(missed)}")
    return Warmed(counts, seconds)


def _ready() -> dict[str, int]:
    """Return how many kernels of each file that was imported have been run."""
    modules = [m for name, m in sorted(sys.modules.items()) if name.startswith("luthier.") and name.endswith("kernels")]
    counts = {
        m.__name__.removeprefix("luthier."): sum(bool(k.signatures) for k in kernels_of(m).values()) for m in modules
    }
    return {name: count for name, count in counts.items() if count}


def warmup_jobs(rooms: Collection[str] = ()) -> Iterator[str]:
    """Yield the import paths of the jobs of all rooms, or of some."""
    for part in ("lists", "landscape", "engine"):
        for room, jobs in importlib.import_module(f"luthier.jobs.warmup.{part}").JOBS.items():
            if not rooms or room in rooms:
                yield from map(path_of, jobs)


def run_job(_: None, path: str) -> float:
    """Run one job; return the CPU seconds that compiling took."""
    before = compiler_seconds()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuthierWarning)
        find(path)()
    return compiler_seconds()[0] - before


def kernel_modules() -> list[ModuleType]:
    """Import and return every module whose name ends in ``kernels``."""
    names = [
        info.name
        for info in pkgutil.walk_packages(luthier.__path__, "luthier.")
        if info.name.rsplit(".", 1)[-1].startswith("_") and info.name.endswith("kernels")
    ]
    return [importlib.import_module(name) for name in names]


def kernels_of(module: ModuleType) -> dict[str, Any]:
    """Return the kernels a module defines, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if hasattr(value, "py_func") and value.py_func.__module__ == module.__name__
    }


def entry_kernels(modules: list[ModuleType]) -> dict[str, Any]:
    """Return the kernels that Python calls; those that only other kernels call come along with them."""
    kernels = {f"{m.__name__}.{name}": kernel for m in modules for name, kernel in kernels_of(m).items()}
    inner = {
        id(kernel.py_func.__globals__.get(name))
        for kernel in kernels.values()
        for name in kernel.py_func.__code__.co_names
    }
    return {name: kernel for name, kernel in kernels.items() if id(kernel) not in inner}
