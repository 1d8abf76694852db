# mypy: ignore-errors
"""Kernels that find the features inside one field of a line ``field ||| field ||| …``."""

from luthier.core.jit import inner_kernel, kernel
from luthier.corpus._field_kernels import is_blank, word_stop

EQUALS, COLON, UNDERSCORE = 61, 58, 95
PLAIN = -1  # the position of a feature written name=value
ROW_OK, STRAY_VALUE, NO_NAME = 0, 1, 2


@inner_kernel
def last_equals(data, start, stop):
    """Return where the last ``=`` of a word stands, −1 if there is none; names may contain more."""
    i = stop - 1
    while i >= start:
        if data[i] == EQUALS:
            return i
        i -= 1
    return -1


@inner_kernel
def has_underscore(data, start, stop):
    """Return whether a label has an underscore in it, by which Moses tells sparse features."""
    for i in range(start, stop):
        if data[i] == UNDERSCORE:
            return True
    return False


@kernel
def lex_features(data, starts, stops, row_starts, names, positions, values, status):
    """Write the features of each row: spans of name and value, and the position under a label.

    ``name=v`` has position PLAIN, and so has Moses' sparse ``a_name= v``, with an underscore and one value.
    ``name= v v`` and the old ``name: v v`` have positions 0, 1, …; bare values before any name have an empty
    name. `names` and `values` are (E, 2) spans.

    Returns
    -------
    int
        How many entries were written.
    """
    n = 0
    for row in range(len(starts)):
        row_starts[row] = n
        status[row] = ROW_OK
        i, stop = starts[row], stops[row]
        label_start = label_stop = i
        position, sparse = 0, False
        while i < stop:
            if is_blank(data[i]):
                i += 1
                continue
            start = i
            i = word_stop(data, i, stop)
            equals = last_equals(data, start, i)
            if equals == start:
                status[row] = NO_NAME
            elif equals == i - 1 or (equals < 0 and data[i - 1] == COLON and i - 1 > start):
                label_start, label_stop, position = start, i - 1, 0
                sparse = has_underscore(data, start, i - 1)
            elif equals >= 0:
                names[n, 0], names[n, 1], positions[n] = start, equals, PLAIN
                values[n, 0], values[n, 1] = equals + 1, i
                n += 1
                position = PLAIN
            elif position == PLAIN:
                status[row] = STRAY_VALUE
            else:
                if sparse and position == 1:
                    positions[n - 1] = 0  # a second value: by position after all
                names[n, 0], names[n, 1] = label_start, label_stop
                positions[n] = PLAIN if sparse and position == 0 else position
                values[n, 0], values[n, 1] = start, i
                n += 1
                position += 1
    row_starts[len(starts)] = n
    return n
