# mypy: ignore-errors
"""The kernel of the usual line: all its fields and features found in one pass, as long as nothing is out of the way."""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.corpus._text_kernels import eight_bytes
from luthier.kbest.reading._pipe_kernels import EQUALS, PLAIN

TAB, SPACE, BAR = 9, 32, 124


class Known(NamedTuple):
    """Names met before: name k is ``labels[offsets[k]:offsets[k+1]]`` at `positions[k]`, −1 for a plain name.

    ``heads[k]`` is the first name with the same label, `complete` how many names with a position stand on every line.
    """

    labels: np.ndarray
    offsets: np.ndarray
    positions: np.ndarray
    heads: np.ndarray
    complete: int


@inner_kernel
def bars(data, i, stop):
    """Return whether `` ||| `` stands at `i`."""
    return (
        i + 5 <= stop
        and data[i] == SPACE
        and data[i + 1] == BAR
        and data[i + 2] == BAR
        and data[i + 3] == BAR
        and data[i + 4] == SPACE
    )


@inner_kernel
def next_byte(data, i, stop, wanted):
    """Return where the next byte `wanted` stands, `stop` if nowhere; eight bytes are looked at together."""
    ones, tops = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    pattern = ones * np.uint64(wanted)
    while i + 8 <= stop:
        v = eight_bytes(data, i) ^ pattern
        if (v - ones) & ~v & tops != np.uint64(0):  # one of the bytes is 0 now
            break
        i += 8
    while i < stop and data[i] != wanted:
        i += 1
    return i


@inner_kernel
def follows(data, i, stop, known, k):
    """Return where the label of known name k ends if it stands at `i`, else −1."""
    first, last = known.offsets[k], known.offsets[k + 1]
    end = i + last - first
    if end > stop:
        end = -1
    else:
        while first < last and known.labels[first] == data[i]:
            first += 1
            i += 1
        if first < last:
            end = -1
    return end


@kernel
def plain_rows(data, starts, stops, known, spans, row_starts, names, values):
    """Write of every line where id, text and score are, (R, 6), its names and where their values are, (E, 2).

    Lines are ``id ||| text ||| name=v name= v v ||| score``, single spaces between words, names known and mostly in
    the order in which they are known. Returns how many names there are, −1 if any line is not so: other kernels then
    see to the stretch. What stands where a value should be is taken for one; whoever reads the numbers will see.
    """
    n, room, n_known, heads = 0, len(names), len(known.heads), known.heads
    for row in range(len(starts)):
        begin, stop = starts[row], stops[row]
        i = next_byte(data, begin, stop, BAR) - 1
        if i <= begin or not bars(data, i, stop):
            return -1
        spans[row, 0], spans[row, 1] = begin, i
        begin = i + 5
        i = next_byte(data, begin, stop, BAR) - 1
        if i <= begin or not bars(data, i, stop):
            return -1
        spans[row, 2], spans[row, 3] = begin, i
        i += 5
        row_starts[row] = n
        positional, position, head, k = 0, PLAIN, -1, 0
        while i < stop and data[i] != BAR:
            if position < 0 or heads[k] != head or known.positions[k] != position:  # a name stands here
                end, tries = follows(data, i, stop, known, k), 1
                while tries < n_known and (end < 0 or end >= stop or data[end] != EQUALS):
                    k = k + 1 if k + 1 < n_known else 0
                    end, tries = follows(data, i, stop, known, k), tries + 1
                if end < 0 or end + 1 >= stop or data[end] != EQUALS:
                    return -1
                i, position = end + 1, known.positions[k]
                if (data[i] == SPACE) != (position == 0) or position > 0:
                    return -1
                head = heads[k]
                if position == 0:
                    i += 1
            if n == room:
                return -1
            names[n], values[n, 0] = k, i
            while i < stop and data[i] != SPACE:
                i += 1
            values[n, 1] = i
            n += 1
            i += 1
            k = k + 1 if k + 1 < n_known else 0
            if position >= 0:
                position += 1
                positional += 1
        if i >= stop or not bars(data, i - 1, stop) or positional != known.complete:
            return -1
        begin = i + 4
        i = next_byte(data, begin, stop, SPACE)
        if i == begin or (i < stop and not bars(data, i, stop)):
            return -1
        spans[row, 4], spans[row, 5] = begin, i
        for field in range(2):  # trimmed already, as fields are
            first, last = data[spans[row, 2 * field]], data[spans[row, 2 * field + 1] - 1]
            if first == SPACE or first == TAB or last == SPACE or last == TAB:
                return -1
    row_starts[len(starts)] = n
    return n
