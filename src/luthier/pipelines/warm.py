"""Compile every kernel of the package: each room has small jobs of the real kind that reach its own.

A room's jobs stand in its file ``warming.py``, as a tuple `JOBS`; nothing is registered.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import luthier
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.progress import progress


def warm() -> dict[str, int]:
    """Run all kernels; return how many each kernel file has.

    Raises
    ------
    LuthierError
        If a kernel was not reached: then its room needs another job.
    """
    with warnings.catch_warnings(), progress("compiling kernels") as advance:
        warnings.simplefilter("ignore", LuthierWarning)
        for job in warming_jobs():
            job()
            advance(1)
    modules = kernel_modules()
    counts = {module.__name__.removeprefix("luthier."): len(kernels_of(module)) for module in modules}
    missed = [name for name, kernel in entry_kernels(modules).items() if not kernel.signatures]
    if missed:
        raise LuthierError(f"these kernels are never run by 'luthier warm': {', '.join(missed)}")
    return counts


def warming_jobs() -> Iterator[Callable[[], None]]:
    """Yield the jobs of all rooms."""
    for path in sorted(Path(luthier.__path__[0]).glob("*/warming.py")):
        yield from importlib.import_module(f"luthier.{path.parent.name}.warming").JOBS


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
