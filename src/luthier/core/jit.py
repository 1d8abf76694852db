"""The one place that compiles: how a kernel is compiled and kept, and who is told when it is.

A kernel is a plain function over arrays. It is compiled when first called and kept on disk beside
its file, so that only the first run on a machine pays. `kernel` takes no signature and no `parallel`:
both cost more than they give at our sizes. Kernels release the GIL; threads run above them.

Kernels may call kernels of other kernel files: `core/kernel_cache.py` notices when one of those changes.
Where that cannot be had, kernels are compiled in every run, which is said.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from luthier.core.kernel_files import EVERY_RUN, NoStamp
from luthier.core.progress import notice
from luthier.core.start_up import is_command, load_array_functions, numba_alone

with numba_alone() if is_command() else contextlib.nullcontext():
    import numba
    from numba.core import cgutils, event
    from numba.extending import intrinsic

FIRST_RUN = "compiling kernels, on the first run only ('luthier warm' does all at once) …"


def _before_compiling() -> None:
    """Load what only the compiler needs, in our own command without SciPy; kernels that were kept need none of it."""
    if is_command() and not numba.config.DISABLE_JIT:
        load_array_functions()


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once that the first kernel is really being compiled (not loaded), and if it is not kept as usual."""

    said = False
    trouble = ""

    def __init__(self) -> None:
        self._patience, self.clock = _Patience(), _CompilerClock()

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 - Numba's own name
        if not self.said:
            notice(self.trouble or FIRST_RUN)
        self.said = True
        self._patience.begin()
        self.clock.begin()

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self.clock.end()
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


_announcer = _Announcer()
event.register("numba:compile", _announcer)


def _keep(compiled: Any) -> None:
    """Give a kernel its cache; without one it is compiled in every run, but never out of date."""
    try:
        from luthier.core.kernel_cache import KernelCache  # rests on classes that Numba does not document

        compiled._cache = KernelCache(
            compiled.py_func, _announcer.remember, _before_compiling
        )  # for Numba's enable_caching()
    except NoStamp as error:
        _announcer.remember(EVERY_RUN + str(error))
    except Exception as error:  # such classes may change in any way
        _announcer.remember(f"{EVERY_RUN}Numba {numba.__version__} keeps them in a way not known here ({error!r})")


def _take_numbers_alike(compiled: Any) -> None:
    """Compile a kernel once for all numbers it is called with by others: Numba does so again for a literal 0."""
    resolve = getattr(compiled, "get_call_template", None)  # not documented; without it kernels compile longer
    if resolve is not None:
        compiled.get_call_template = lambda arguments, named: resolve(
            tuple(map(numba.types.unliteral, arguments)), {k: numba.types.unliteral(v) for k, v in named.items()}
        )


def _decorator(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function on its first call, and keeps it where that is safe."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
        if hasattr(compiled, "py_func"):  # with NUMBA_DISABLE_JIT it is the function itself
            _keep(compiled)
            _take_numbers_alike(compiled)
        return compiled

    return decorate


def compiler_seconds() -> tuple[float, float]:
    """Return CPU and wall-clock seconds that this process has spent on compiling kernels so far."""
    return _announcer.clock.spent


kernel = _decorator()

# For small kernels called per item by another kernel: a call that passes an array counts references
# atomically (10 ns a call), a body inlined into its caller does not.
inner_kernel = _decorator(inline="always")

# For kernels that make no array and lay larger bodies into their loops: there Numba fails to see that it need not count
# references, which takes longer than the work. The option is not documented; without it they are only slower.
lean_kernel = _decorator(**({"_nrt": False} if hasattr(numba.core.options.DefaultOptions, "_nrt") else {}))

# Reassociation lets a sum vectorise; infinities and NaN keep their meaning (plain fastmath deletes
# the tests for them). Only where a benchmark shows that it pays and the order of a sum is free.
fast_kernel = _decorator(fastmath={"reassoc", "contract", "nsz"})


@intrinsic  # type: ignore[untyped-decorator]
def _load_word(context: Any, data: Any, at: Any) -> Any:  # noqa: ARG001 - Numba's form
    """Load eight bytes from any place of an array of bytes: Numba itself has only loads from multiples of eight."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        word = context.get_value_type(numba.types.uint64).as_pointer()
        return builder.load(builder.bitcast(place, word), align=1)

    return numba.types.uint64(data, at), generate


@intrinsic  # type: ignore[untyped-decorator]
def _count_low_zeros(context: Any, word: Any) -> Any:  # noqa: ARG001
    """Count the bits 0 below the lowest bit 1, 64 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.cttz(arguments[0], cgutils.false_bit)

    return numba.types.int64(word), generate


def _eight_bytes(data: Any, at: int) -> Any:
    return np.frombuffer(data[at : at + 8].tobytes(), np.uint64)[0]


def _low_zeros(word: Any) -> int:
    return ((int(word) & -int(word)) or 1 << 64).bit_length() - 1


# Eight bytes of an array as one word, the first of them lowest; how many bits of a word are 0 below its lowest 1.
eight_bytes: Any = _eight_bytes if numba.config.DISABLE_JIT else _load_word
low_zeros: Any = _low_zeros if numba.config.DISABLE_JIT else _count_low_zeros


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
