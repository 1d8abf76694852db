"""The one place that compiles: when a kernel is compiled, where it is kept, and who is told when it is.

A kernel is a plain function over arrays. A wheel may bring it compiled (`core/kernel_pack.py`); else it is compiled
when first called and kept on disk beside its file, so that only the first run on a machine pays.
`core/kernel_options.py` says how.

Kernels may call kernels of other kernel files: `core/kernel_cache.py` notices when one of those changes.
Where that cannot be had, kernels are compiled in every run, which is said.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc  # noqa: F401 - see below
import inspect
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy.random  # noqa: F401 - see below

from luthier.core.kernel_files import EVERY_RUN, NoStamp
from luthier.core.progress import notice, progress
from luthier.core.start_up import (
    arrays_unmasked,
    expected_compiling,
    is_command,
    link_first,
    load_array_functions,
    numba_alone,
    remember_calls,
)

# `importlib.abc` and `numpy.random` are loaded by now: Numba wants a part of each before the whole, SciPy the whole
# first, so of two threads that import one of them each, either would wait for the other.
with numba_alone() if is_command() else contextlib.nullcontext():
    import numba
    from numba.core import event
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.compiler import CompileResult, Flags
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    from luthier.core.kernel_options import COMMON, FAST, INNER, LEAN, eight_bytes, low_zeros, take_numbers_alike

__all__ = [
    "Stopwatch",
    "compiled_kernels",
    "compiler_seconds",
    "eight_bytes",
    "fast_kernel",
    "inner_kernel",
    "kernel",
    "lean_kernel",
    "low_zeros",
    "when_compiling",
]

FIRST_RUN = "compiling kernels{}, once: later runs find them ('luthier warm' compiles all) …"


def _before_compiling() -> None:
    """Load what only the compiler needs, in our own command without SciPy; kernels that were kept need none of it."""
    if is_command() and not numba.config.DISABLE_JIT:
        load_array_functions()
        link_first()
        remember_calls()


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once that the first kernel is really being compiled (not loaded), and if it is not kept as usual."""

    said = False
    trouble = ""
    count = most = 0

    def __init__(self) -> None:
        self._patience, self.clock = _Patience(), _CompilerClock()
        self.first: Callable[[], None] | None = None
        self._shown = contextlib.ExitStack()

    def on_start(self, event: event.Event) -> None:
        if not self.said:
            self.most, seconds = expected_compiling()
            notice(self.trouble or FIRST_RUN.format(f", up to {self.most} in {seconds} s or so" if self.most else ""))
        self.said = True
        first, self.first = self.first, None
        if first is not None:
            first()
        if not self.clock.is_running:
            name = event.data["dispatcher"].py_func.__module__.removeprefix("luthier.").replace("._", " ")
            of = f" of up to {self.most}" if self.most > self.count else ""
            self._shown.enter_context(progress(f"compiling {name}, {self.count}{of} done"))
        self._patience.begin()
        self.clock.begin()

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002 - Numba's own name
        self.clock.end()
        if not self.clock.is_running:
            self.count += 1
            self._shown.close()
        self._patience.end()

    def remember(self, trouble: str) -> None:
        """Say the first trouble when kernels are compiled, or now if that has been announced."""
        if not self.trouble:
            self.trouble = trouble
            if self.said:
                notice(trouble)


class _Patience:
    """Lets Ctrl-C wait until a kernel is compiled: inside the compiler it may be swallowed, or leave half a thing.

    So it is in our own command; a host's Ctrl-C is heard as the host wants it.
    """

    def __init__(self) -> None:
        self._depth, self._heard = 0, False
        self._before: Any = None

    def begin(self) -> None:
        """Hold Ctrl-C back; only the main thread hears it."""
        if threading.current_thread() is threading.main_thread() and (self._depth or is_command()):
            self._depth += 1
            if self._depth == 1:
                self._heard = False
                self._before = signal.signal(signal.SIGINT, self._listen)

    def _listen(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._heard = True

    def end(self) -> None:
        """Let it through, after the outermost of kernels that call each other."""
        if threading.current_thread() is threading.main_thread() and self._depth:
            self._depth -= 1
            if self._depth == 0:
                signal.signal(signal.SIGINT, signal.SIG_DFL if self._before is None else self._before)
                if self._heard:
                    signal.raise_signal(signal.SIGINT)


class _CompilerClock:
    """Adds up what compiling takes; our own command collects no garbage meanwhile: that was a seventh of it.

    Numba compiles one kernel at a time, whichever thread asks; kernels that it calls come within it.
    """

    def __init__(self) -> None:
        self._depth, self._collects = 0, False  # whether collecting is to begin again
        self._began = self.spent = (0.0, 0.0)

    @property
    def is_running(self) -> bool:
        """Whether a kernel is being compiled."""
        return self._depth > 0

    def begin(self) -> None:
        """Start the clock, of the outermost of kernels that call each other."""
        self._depth += 1
        if self._depth == 1:
            self._began = time.thread_time(), time.perf_counter()
            self._collects = is_command() and gc.isenabled()
            if self._collects:
                gc.disable()

    def end(self) -> None:
        """Stop it."""
        self._depth -= 1
        if self._depth == 0:
            now = time.thread_time(), time.perf_counter()
            self.spent = (self.spent[0] + now[0] - self._began[0], self.spent[1] + now[1] - self._began[1])
            if self._collects:
                gc.enable()


# Kernels that other kernels call are compiled without machine code of their own: their callers have it inside. Machine
# code and a wrapper for Python took a sixth of all compiling. Where Python calls such a kernel later, it is compiled in
# full. What is used of Numba here is not documented: where it is missing, all goes on as ever. Only our own kernels are
# treated so, in a host's process as well.

NEEDED = (
    (CPUCodeLibrary, "_finalize_final_module _finalize_dynamic_globals _verify_declare_only_symbols"),
    (CompileResult, "_replace _find_referenced_environments"),
    (Flags, "no_compile no_cpython_wrapper no_cfunc_wrapper"),
    (Dispatcher, "compile add_overload"),
)


class _NoCode:
    """Stands where Numba has the function that Python calls; it cannot be called, nor kept."""


class _InnerKernels:
    """Knows whether a kernel of ours is being compiled; Numba compiles one at a time, whichever thread asks."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_known = all(hasattr(kind, name) for kind, names in NEEDED for name in names.split())

    def treat(self, compiled: Any) -> None:
        """Let a kernel be compiled without code of its own wherever another kernel of ours asks for it."""
        if not self._is_known or not hasattr(compiled._compiler, "_customize_flags"):
            return
        compiler, context, overloads = compiled._compiler, compiled.targetctx, compiled.overloads
        compile_whole, add, find, usual_flags = (
            compiler.compile,
            compiled.add_overload,
            compiled.compile,
            compiler._customize_flags,
        )

        def flags(given: Any) -> Any:
            given = usual_flags(given)
            if self._depth > 1:
                given.no_compile = given.no_cpython_wrapper = given.no_cfunc_wrapper = True
            return given

        def compile_one(arguments: Any, return_type: Any) -> Any:
            self._depth += 1
            try:
                result = compile_whole(arguments, return_type)
            finally:
                self._depth -= 1
            if result.entry_point is None:
                return _without_code(result, context)
            if not self._depth:
                for environment in result._find_referenced_environments():  # of the kernels inside
                    context.codegen().set_env(environment.env_name, environment)
            return result

        def add_one(result: Any) -> None:
            if isinstance(result.entry_point, _NoCode):
                overloads[tuple(result.signature.args)] = result
            else:
                add(result)

        def find_one(types: Any) -> Any:
            with global_compiler_lock:  # who has it knows that no other thread is compiling
                known = overloads.get(types) if isinstance(types, tuple) and not self._depth else None
                if known is not None and isinstance(known.entry_point, _NoCode):
                    del overloads[types]
                try:
                    return find(types)
                finally:
                    getattr(compiled._cache, "release", int)()

        compiler._customize_flags, compiler.compile = flags, compile_one
        compiled.add_overload, compiled.compile = add_one, find_one


def _without_code(result: Any, context: Any) -> Any:
    """Return a result that other kernels can call, and whose library is linked into theirs without being emitted."""
    library, stand_in = result.library, _NoCode()

    def finish() -> None:
        library._finalize_dynamic_globals()
        library._verify_declare_only_symbols()
        library._finalized = True

    library._finalize_final_module = finish
    context.insert_user_function(stand_in, result.fndesc, [library])
    return result._replace(entry_point=stand_in)


if is_command():
    arrays_unmasked()
_announcer, _inner = _Announcer(), _InnerKernels()
event.register("numba:compile", _announcer)


def _keep(compiled: Any) -> None:
    """Give a kernel its cache; without one it is compiled in every run, but never out of date."""
    try:
        from luthier.core.kernel_cache import KernelCache  # rests on classes that Numba does not document

        compiled._cache = KernelCache(  # for Numba's enable_caching()
            compiled.py_func,
            complain=_announcer.remember,
            prepare=_before_compiling,
            compile_again=lambda arguments: compiled._compiler.compile(arguments, None),
            is_compiling=lambda: _announcer.clock.is_running,
            waiting=lambda: progress("waiting for a kernel that another process compiles"),
        )
    except NoStamp as error:
        _announcer.remember(EVERY_RUN + str(error))
    except Exception as error:  # such classes may change in any way
        _announcer.remember(f"{EVERY_RUN}Numba {numba.__version__} keeps them in a way not known here ({error!r})")


def _decorator(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function on its first call, and keeps it where that is safe."""

    def decorate(function: Callable[..., Any]) -> Any:
        function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined] # Numba asks for it twice
        compiled = numba.njit(**COMMON, **options)(function)
        if hasattr(compiled, "py_func"):  # with NUMBA_DISABLE_JIT it is the function itself
            _keep(compiled)
            take_numbers_alike(compiled)
            _inner.treat(compiled)
        return compiled

    return decorate


def when_compiling(call: Callable[[], None] | None) -> None:
    """Have something done when the next kernel is really being compiled; None to forget it."""
    _announcer.first = call


def compiler_seconds() -> tuple[float, float]:
    """Return CPU and wall-clock seconds that this process has spent on compiling kernels so far."""
    return _announcer.clock.spent


def compiled_kernels() -> tuple[int, bool]:
    """Return how many kernels this process has compiled for Python, and whether they are kept as usual."""
    return _announcer.count, not _announcer.trouble


kernel = _decorator()
inner_kernel = _decorator(**INNER)
lean_kernel = _decorator(**LEAN)
fast_kernel = _decorator(**FAST)


class Stopwatch:
    """How long a job takes from when this is made, without what compiling took: that is paid once on a machine."""

    def __init__(self) -> None:
        self._began = _without_compiling()

    def seconds(self) -> tuple[float, float]:
        """Return CPU and wall-clock seconds of this process so far."""
        cpu, wall = (max(now - then, 0.0) for now, then in zip(_without_compiling(), self._began, strict=True))
        return cpu, wall


def _without_compiling() -> tuple[float, float]:
    compiler = compiler_seconds()
    return time.process_time() - compiler[0], time.perf_counter() - compiler[1]
