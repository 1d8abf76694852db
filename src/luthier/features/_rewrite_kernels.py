# mypy: ignore-errors
"""A kernel that copies bytes with some stretches exchanged."""

from luthier.core.jit import inner_kernel, kernel


@inner_kernel
def copy(out, at, data, first, last):
    """Copy ``data[first:last]``; return the place behind it."""
    for i in range(last - first):
        out[at + i] = data[first + i]
    return at + last - first


@kernel
def exchange(data, starts, stops, which, text_offsets, texts, out):
    """Write `data` with the stretches ``starts[e]:stops[e]``, which ascend, exchanged for texts; return the length."""
    at, done = 0, 0
    for e in range(len(starts)):
        at = copy(out, at, data, done, starts[e])
        t = which[e]
        at = copy(out, at, texts, text_offsets[t], text_offsets[t + 1])
        done = stops[e]
    return copy(out, at, data, done, len(data))
