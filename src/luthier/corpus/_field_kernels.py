# mypy: ignore-errors
"""Kernels that cut lines of ``field ||| field ||| …``, and fields into words: lists and grammars are written so."""

from luthier.core.jit import inner_kernel, kernel

BAR, SPACE, TAB = 124, 32, 9


@inner_kernel
def is_blank(c):
    """Return whether a byte separates words inside a field."""
    return c == SPACE or c == TAB


@inner_kernel
def word_start(data, i, stop):
    """Return where the next word begins at `i` or behind it; `stop` if there is none."""
    while i < stop and is_blank(data[i]):
        i += 1
    return i


@inner_kernel
def word_stop(data, i, stop):
    """Return where the word that begins at `i` ends."""
    while i < stop and not is_blank(data[i]):
        i += 1
    return i


@inner_kernel
def is_separator(data, i, start, stop, glued):
    """Return whether ``|||`` stands at `i` as a separator.

    It is a word of its own, unless it may be `glued` to what stands before it. Three bars inside a longer word belong
    to that word.
    """
    if i + 3 > stop or data[i] != BAR or data[i + 1] != BAR or data[i + 2] != BAR:
        return False
    if i + 3 < stop and not is_blank(data[i + 3]):
        return False
    return i == start or is_blank(data[i - 1]) or glued


@kernel
def split_fields(data, starts, stops, glued_first, field_starts, field_stops, counts):
    """Write the trimmed spans of each line's fields, as many as fit, and count all of them.

    With `glued_first` the first separator may follow the first field without a space.
    """
    room = field_starts.shape[1]
    for row in range(len(starts)):
        start, stop = starts[row], stops[row]
        begin, fields, i = start, 0, start
        while i <= stop:
            while i < stop and data[i] != BAR:
                i += 1
            if i == stop or is_separator(data, i, start, stop, glued_first and fields == 0):
                if fields < room:
                    first, last = word_start(data, begin, i), i
                    while last > first and is_blank(data[last - 1]):
                        last -= 1
                    field_starts[row, fields] = first
                    field_stops[row, fields] = last
                fields += 1
                i += 3
                begin = i
            else:
                i += 1
        counts[row] = fields
