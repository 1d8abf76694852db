"""Compile every kernel of the package, by small jobs of the real kind that stand in `jobs/warmup/`; pack them."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import pkgutil
import platform
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import luthier
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.jit import compiler_seconds, when_compiling
from luthier.core.progress import progress
from luthier.core.start_up import is_command, take_process
from luthier.core.tasks import Processes, Serial, Shared, find, path_of, run_units

# The rooms whose jobs reach what a group of commands needs, as the list of commands has these groups.
ROOMS = {
    "lists": ("kbest",),
    "features": ("kbest", "features"),
    "metrics": ("kbest", "metrics", "evaluation"),
    "tuning": ("kbest", "metrics", "evaluation", "landscape", "tuning"),
    "geometry": ("kbest", "metrics", "geometry", "landscape"),
    "translation models": ("alignment", "lm", "grammar", "features", "decoding"),
}
# two thirds of all that is compiled, the longest first: processes that share the jobs then end at about the same time
LONGEST = (
    "tune_every_way",
    "divide_planes",
    "score_pairs",
    "search_boxes",
    "_search",
    "sum_polytopes",
    "_extract_rules",
)


@dataclasses.dataclass(frozen=True)
class Warmed:
    """How many kernels of each file are ready, and the CPU seconds that compiling took (0 where all were kept)."""

    counts: dict[str, int]
    compile_seconds: float


def warm(groups: Sequence[str] = (), processes: int = 1) -> Warmed:
    """Run all kernels, or those of some groups of commands.

    With several processes each compiles what its jobs need.

    Raises
    ------
    LuthierError
        If a kernel was not reached: then its room needs another job. Or for an unknown group.
    """
    for group in groups:
        if group not in ROOMS:
            raise LuthierError(f"there is no group {group!r}. known: {', '.join(ROOMS)}")
    rooms = {room for group in groups for room in ROOMS[group]}
    jobs = dict(enumerate(sorted(warmup_jobs(rooms), key=_turn)))
    with progress("compiling kernels", len(jobs)) as advance:
        engine = Processes(processes) if processes > 1 else Serial()
        done = run_units(run_job, Shared(None), jobs, engine=engine, keep=lambda *_: advance(1))
    seconds, reached = sum(job[0] for job in done.values()), {name for job in done.values() for name in job[1]}
    if not groups:
        modules = kernel_modules()
        missed = [name for name in entry_kernels(modules) if name not in reached]
        if missed:
            raise LuthierError(f"these kernels are never run by 'luthier warm': {', '.join(missed)}")
        reached = {f"{module.__name__}.{name}" for module in modules for name in kernels_of(module)}
    counts = Counter(name.rpartition(".")[0].removeprefix("luthier.") for name in reached)
    return Warmed(dict(sorted(counts.items())), seconds)


def _turn(path: str) -> int:
    name = path.rpartition(":")[2]
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def warmup_jobs(rooms: Collection[str] = ()) -> Iterator[str]:
    """Yield the import paths of the jobs of all rooms, or of some."""
    for part in ("lists", "landscape", "engine"):
        for room, jobs in importlib.import_module(f"luthier.jobs.warmup.{part}").JOBS.items():
            if not rooms or room in rooms:
                yield from map(path_of, jobs)


def run_job(_: None, path: str) -> tuple[float, list[str]]:
    """Run one job; return the CPU seconds that compiling took, and the kernels that have been run in this process."""
    before = compiler_seconds()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuthierWarning)
        find(path)()
    modules = [m for name, m in sorted(sys.modules.items()) if name.startswith("luthier.") and name.endswith("kernels")]
    run = [f"{m.__name__}.{name}" for m in modules for name, one in kernels_of(m).items() if one.signatures]
    return compiler_seconds()[0] - before, run


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


# Kernels while something else is done: a process of its own compiles what is needed last.

AHEAD = "luthier.jobs.warmup.ahead"
SURFACE_OF_FEW, TUNE_FEW, WALK_PLANES = f"{AHEAD}:surface_of_few", f"{AHEAD}:tune_few", f"{AHEAD}:walk_planes"


@contextlib.contextmanager
def compile_ahead(job: str, module: str, *arguments: str, threads: int) -> Iterator[Callable[[], None]]:
    """Run a job, ``module:name``, in a process of its own for the sake of its kernels, if `module` has none ready.

    It is started when this process compiles its first kernel, and ends with the block, which gets a function that waits
    for it. Nothing is started in a host's process, or for one thread.
    """
    helpers: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        if any(not (state.packed or state.kept) for state in kernel_states(module)[0]):
            imports = "from luthier.jobs.warm import end_with_input, run_apart"
            code = f"{imports}; end_with_input(); run_apart({job!r}, *{arguments!r})"
            quiet, pipe = subprocess.DEVNULL, subprocess.PIPE  # the pipe ends with this process, however that ends
            helpers.append(subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=quiet, stderr=quiet))

    def wait() -> None:
        for helper in helpers:
            with progress("waiting for kernels that another process compiles"):
                helper.wait()

    when_compiling(start if threads > 1 and is_command() else None)
    try:
        yield wait
    finally:
        when_compiling(None)
        for helper in helpers:
            helper.kill()
            helper.communicate()


def run_apart(path: str, *arguments: str) -> None:
    """Run one job in a process that was started for it."""
    take_process()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuthierWarning)
        find(path)(*arguments)


def end_with_input() -> None:
    """Have this process end where its standard input does."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


# Kernels for others: compiled for every processor of a kind, in a process of its own, and put into one file.


def pack(folder: str | os.PathLike[str], processes: int = 1) -> Path:
    """Compile every kernel for the portable processor, and write the pack of this Python, Numba and platform.

    Raises
    ------
    LuthierError
        If this platform has no portable processor, or a kernel was not reached.
    """
    from luthier.core.kernel_pack import CHOSEN, PORTABLE, pack_name

    if platform.machine() not in PORTABLE or sys.platform != "linux":
        raise LuthierError(f"expected Linux on {' or '.join(PORTABLE)} for a pack, found {platform.platform()}")
    cpu, features = PORTABLE[platform.machine()]
    path = Path(folder, pack_name())
    with tempfile.TemporaryDirectory() as kept:
        settings = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": kept, CHOSEN: "none"}
        code = f"from luthier.jobs.warm import write_here; write_here({os.fspath(path)!r}, {processes})"
        child = subprocess.run([sys.executable, "-c", code], env={**os.environ, **settings}, check=False)
    if child.returncode or not path.exists():
        raise LuthierError("the kernels could not be packed; what went wrong is said above")
    return path


def write_here(path: str, processes: int) -> None:
    """Compile every kernel in this process and its workers, and write all that was kept into a pack."""
    from luthier.core.kernel_pack import write_pack

    take_process()
    warm(processes=processes)
    kernels = [kernel for module in kernel_modules() for kernel in kernels_of(module).values()]
    write_pack((one for kernel in kernels for one in kernel._cache.packable()), Path(path))


@dataclasses.dataclass(frozen=True)
class KernelState:
    """Whether a kernel that Python calls is packed or kept; `why` says what makes it be compiled, else ''."""

    name: str
    packed: bool
    kept: bool
    why: str


def kernel_states(only: str = "") -> tuple[list[KernelState], str]:
    """Return the state of every kernel that Python calls, and where the pack is, or why there is none.

    `only` names the one file of kernels to look at.
    """
    from luthier.core.kernel_pack import Pack, find_pack

    found = find_pack()
    packed = found.kernels() if isinstance(found, Pack) else {}
    states = []
    modules = [importlib.import_module(only)] if only else kernel_modules()
    for name, kernel in entry_kernels(modules).items():
        cache = kernel._cache
        state = cache.kept() if hasattr(cache, "kept") else "no kernel is kept here"
        in_pack = packed.get(name) == getattr(cache, "_stamp", None)
        kept = state == "kept"
        why = "" if in_pack or kept else f"its source is not that of the pack; {state}" if name in packed else state
        states.append(KernelState(name.removeprefix("luthier."), in_pack, kept, why))
    return states, str(found.path) if isinstance(found, Pack) else found
