"""Whose process this is: that of our own command, or that of a host who has imported the library.

A host's modules, signal handlers and garbage collector are its own: the library leaves them alone. The command has its
process to itself, and may use all of them to start sooner and to end in order when Ctrl-C is pressed.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from luthier.core.plugins import may_be_declared

_COMMAND = threading.Event()  # seen by all threads
_compiling: ContextVar[tuple[int, int]] = ContextVar("luthier_compiling", default=(0, 0))


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


def expect_compiling(kernels: int, seconds: int) -> None:
    """Say how many kernels this command compiles at most where none is there yet, about, and how long; 0 if unknown."""
    _compiling.set((kernels, seconds))


def expected_compiling() -> tuple[int, int]:
    """Return what was said last."""
    return _compiling.get()


# How our own command loads Numba: without what none of our kernels needs. A host's Numba is loaded as it is.

EXTENSIONS, EXPERIMENTAL = "numba.core.entrypoints", "numba.experimental"
BLAS = ("scipy", "scipy.linalg", "scipy.linalg.cython_blas")


class _Absent:
    """Refuses modules to the thread that made it; all others find them. A base class would take 4 ms to import."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names, self._thread = frozenset(names), threading.get_ident()

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:  # noqa: ARG002 - Python's form
        """Raise for a name that is refused here; leave all else to the finders that follow."""
        if name in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{name} is not loaded here", name=name)


@contextlib.contextmanager
def absent(*names: str) -> Iterator[None]:
    """Let modules look to this thread as if they were not installed, unless they are loaded already."""
    finder = _Absent(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@contextlib.contextmanager
def _extensions_later() -> Iterator[None]:
    """Let Numba look for packages that extend it only if there may be any: what looks takes a tenth of its import."""
    if EXTENSIONS in sys.modules:
        yield
        return
    standing_in = types.ModuleType(EXTENSIONS)

    def init_all() -> None:
        if not may_be_declared("numba_extensions"):
            standing_in.init_all = lambda: None  # type: ignore[attr-defined]
            return
        if sys.modules.get(EXTENSIONS) is standing_in:
            del sys.modules[EXTENSIONS]
        importlib.import_module(EXTENSIONS).init_all()

    standing_in.init_all = init_all  # type: ignore[attr-defined]
    sys.modules[EXTENSIONS] = standing_in
    yield
    sys.modules["numba.core"].entrypoints = standing_in  # type: ignore[attr-defined]


@contextlib.contextmanager
def _parts_later() -> Iterator[None]:
    """Let Numba be imported without its classes and without NumPy's polynomials, of which it wants the type only."""
    import numpy as np

    if EXPERIMENTAL in sys.modules or "numpy.polynomial" in sys.modules:
        yield
        return
    standing_in = types.ModuleType(EXPERIMENTAL)
    sys.modules[EXPERIMENTAL] = standing_in
    np.polynomial = types.SimpleNamespace(polynomial=types.SimpleNamespace(Polynomial=_Absent))  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[EXPERIMENTAL], np.polynomial
    if getattr(sys.modules["numba"], "experimental", None) is standing_in:
        del sys.modules["numba"].experimental


@contextlib.contextmanager
def numba_alone() -> Iterator[None]:
    """Let Numba be imported in the block without SciPy, of which it asks the version only.

    Nor does it get YAML, for settings that hardly anybody has in a file, and Colorama, for colours of its complaints.
    """
    yaml = [] if Path(".numba_config.yaml").exists() else ["yaml"]
    with _extensions_later(), _parts_later(), _no_lock_events(), absent("scipy", "colorama", *yaml):
        yield


@contextlib.contextmanager
def _no_lock_events() -> Iterator[None]:
    """Let Numba not have itself told of every call of LLVM, of which there are hundreds for a kernel that was kept."""
    ffi: Any = importlib.import_module("llvmlite.binding.ffi")
    register = ffi.register_lock_callback
    ffi.register_lock_callback = lambda *_: None
    try:
        yield
    finally:
        ffi.register_lock_callback = register


def arrays_unmasked() -> None:
    """Let Numba tell an array's type without a look whether it is masked: `numpy.ma` takes 7 ms, no kernel gets such.

    The names are not documented: where they are others, all goes on as ever.
    """
    known = importlib.import_module("numba.core.typing.typeof")
    support, types_ = importlib.import_module("numba.np.numpy_support"), importlib.import_module("numba.types")
    if not hasattr(known, "_typeof_ndarray"):
        return

    def type_of(array: Any, context: Any) -> Any:
        try:
            dtype = support.from_dtype(array.dtype)
        except known.errors.NumbaNotImplementedError:
            return known._typeof_ndarray(array, context)  # which says what is wrong
        return types_.Array(dtype, array.ndim, support.map_layout(array), readonly=not array.flags.writeable)

    known.typeof_impl.register(known.np.ndarray, type_of)


def load_array_functions() -> None:
    """Load Numba's functions on arrays without SciPy: no kernel calls BLAS, and SciPy takes longer than they do.

    Numba looks for BLAS once, for `np.kron` alone; where it finds none it has a loop of its own.
    """
    with absent(*BLAS), contextlib.suppress(ImportError):  # another Numba may name it otherwise
        importlib.import_module("numba.np.arraymath")


def link_first() -> None:
    """Let Numba optimise a kernel once, when all that it calls is linked into it: so it compiles a tenth faster.

    Numba runs passes over every function before linking and over the whole after; the second find all there is to find.
    The method is not documented: where there is none, all goes on as ever.
    """
    codegen = importlib.import_module("numba.core.codegen")
    if hasattr(codegen.CPUCodeLibrary, "_optimize_functions"):
        codegen.CPUCodeLibrary._optimize_functions = _only_layout


def _only_layout(library: Any, module: Any) -> None:
    module.data_layout = library._codegen._data_layout


def remember_calls() -> None:
    """Let Numba find only once which of its functions serves a call by types: that was an eighth of compiling.

    For each sum and each index it tries dozens, whatever it found for the same types before. And it compares options of
    kernels by writing all of them out, tens of thousands of times. Where names are others, all goes on as ever.
    """
    options = importlib.import_module("numba.core.targetconfig")
    functions = importlib.import_module("numba.core.types.functions")
    try:
        usual, find, current = options.TargetConfig.__eq__, functions.BaseFunction.get_call_type, options.ConfigStack
        current.top_or_none()
    except AttributeError:
        return
    if hasattr(find, "usual"):
        return
    known: dict[int, tuple[Any, dict[Any, Any]]] = {}  # by the id of a function, which is held

    def are_equal(one: Any, other: Any) -> Any:
        alike = one is other or (
            type(one) is type(other) and getattr(one, "_values", 0) == getattr(other, "_values", 1)
        )
        return True if alike else usual(one, other)

    def find_once(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        calls = known.setdefault(id(function), (function, {}))[1]
        key = context, tuple(arguments), tuple(named.items()), current.top_or_none()
        if key in calls:
            signature, function._impl_keys[signature.args] = calls[key]
            return signature
        signature = find(function, context, arguments, named)
        if signature is not None:
            calls[key] = signature, function._impl_keys[signature.args]
        return signature

    find_once.usual = find  # type: ignore[attr-defined]
    options.TargetConfig.__eq__ = are_equal
    options.TargetConfig.__hash__ = lambda flags: hash(tuple(sorted(flags.options)))
    functions.BaseFunction.get_call_type = find_once
