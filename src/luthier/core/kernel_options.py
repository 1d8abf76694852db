"""How kernels are compiled: what stands here is in their machine code, so the stamp of every kernel holds this file.

An edit here makes every kernel be compiled again; `core/jit.py`, which says when and where, can be edited freely.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

# Kernels release the GIL; threads run above them. No signatures, no `parallel`: both cost more than they give here.
COMMON: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

# For small kernels called per item by another kernel: a call that passes an array counts references
# atomically (10 ns a call), a body inlined into its caller does not.
INNER: dict[str, Any] = {"inline": "always"}

# For kernels that make no array and lay larger bodies into their loops: there Numba fails to see that it need not count
# references, which takes longer than the work. The option is not documented; without it they are only slower.
LEAN: dict[str, Any] = {"_nrt": False} if hasattr(numba.core.options.DefaultOptions, "_nrt") else {}

# Reassociation lets a sum vectorise; infinities and NaN keep their meaning (plain fastmath deletes
# the tests for them). Only where a benchmark shows that it pays and the order of a sum is free.
FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}


def take_numbers_alike(compiled: Any) -> None:
    """Compile a kernel once for all numbers it is called with by others: Numba does so again for a literal 0."""
    resolve = getattr(compiled, "get_call_template", None)  # not documented; without it kernels compile longer
    if resolve is not None:
        compiled.get_call_template = lambda arguments, named: resolve(
            tuple(map(numba.types.unliteral, arguments)), {k: numba.types.unliteral(v) for k, v in named.items()}
        )


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
