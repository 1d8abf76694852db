# mypy: ignore-errors
"""A kernel that copies bytes with some stretches exchanged."""

from luthier.core.jit import kernel
from luthier.grammar._print_kernels import put


@kernel
def exchange(data, starts, stops, which, text_offsets, texts, out):
    """Write `data` with the stretches ``starts[e]:stops[e]``, which ascend, exchanged for texts; return the length."""
    at, done = 0, 0
    for e in range(len(starts)):
        at = put(out, at, data, done, starts[e])
        t = which[e]
        at = put(out, at, texts, text_offsets[t], text_offsets[t + 1])
        done = stops[e]
    return put(out, at, data, done, len(data))
