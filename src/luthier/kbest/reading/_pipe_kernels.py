# mypy: ignore-errors
"""Kernels that find the features inside one field of a line ``field ||| field ||| …``."""

from typing import NamedTuple

import numpy as np

from luthier.core._bit_kernels import ONES, bytes_below, lowest_bytes, zero_bytes
from luthier.core._number_kernels import NUMBER_OK, read_number
from luthier.core.jit import eight_bytes, inner_kernel, kernel, lean_kernel
from luthier.corpus._field_kernels import is_blank, word_stop

# The kernel of the usual line: fields, names and numbers read in one pass, as long as nothing is out of the way.


TAB, SPACE, BAR = 9, 32, 124
BARS, BARS_LENGTH = np.uint64(0x207C7C7C20), 5  # `` ||| ``


class Known(NamedTuple):
    """Names met before: name k is written ``spelled[offsets[k]:offsets[k+1]]``, with what stands before its value.

    That is nothing for a further value of a label. ``numbers[k]`` is the name's number, ``further[k]`` the name of the
    label's next value, or −1. ``by_position[k]`` says that it stands on every line, as `complete` names do.
    Behind `spelled` there are at least eight bytes more.
    """

    spelled: np.ndarray
    offsets: np.ndarray
    numbers: np.ndarray
    further: np.ndarray
    by_position: np.ndarray
    complete: int


class Found(NamedTuple):
    """What lines hold: where id and text are, (R, 4), the score, (R,), and their features, (E,) numbers and values.

    Those of line r are ``row_starts[r]:row_starts[r+1]``.
    """

    spans: np.ndarray
    scores: np.ndarray
    row_starts: np.ndarray
    names: np.ndarray
    values: np.ndarray


@inner_kernel
def bars(data, i, stop):
    """Return whether `` ||| `` stands at `i`."""
    if i + 8 <= len(data):
        stands = i + BARS_LENGTH <= stop and lowest_bytes(eight_bytes(data, i), BARS_LENGTH) == BARS
    else:
        stands = (
            i + BARS_LENGTH <= stop
            and data[i] == SPACE
            and data[i + 1] == BAR
            and data[i + 2] == BAR
            and data[i + 3] == BAR
            and data[i + 4] == SPACE
        )
    return stands


@inner_kernel
def next_byte(data, i, stop, wanted):
    """Return where the next byte `wanted` stands, `stop` if nowhere; eight bytes are looked at together."""
    pattern, n = ONES * np.uint64(wanted), 8
    while n == 8 and i + 8 <= stop:
        n = bytes_below(zero_bytes(eight_bytes(data, i) ^ pattern))
        i += n
    while n == 8 and i < stop and data[i] != wanted:
        i += 1
    return i


@inner_kernel
def name_end(data, i, stop, spelled, offsets, k):
    """Return where name k and what stands before its value end if they stand at `i`, else −1."""
    first, n = offsets[k], offsets[k + 1] - offsets[k]
    same, at = 0 < n <= stop - i, 0
    if i + n + 8 <= len(data):
        while same and at + 8 <= n:
            same = eight_bytes(data, i + at) == eight_bytes(spelled, first + at)
            at += 8
        same = same and lowest_bytes(eight_bytes(data, i + at) ^ eight_bytes(spelled, first + at), n - at) == np.uint64(
            0
        )
    else:
        while same and at < n:
            same = data[i + at] == spelled[first + at]
            at += 1
    return i + n if same else -1


@lean_kernel
def plain_rows(data, starts, stops, known, powers, guesses, found):
    """Write into `found` what the lines hold.

    Lines are ``id ||| text ||| name=v name= v v ||| score``, single spaces between words, names known. ``guesses[k]``
    are two names that may stand behind name k, (K + 1, 2), in the last row at the begin.

    Returns
    -------
    int
        How many names there are, −1 if any line is not so or a number is none, or hard to round: other kernels
        then see to the stretch.
    """
    spelled, offsets, numbers, further, by_position, complete = known
    tens, high_powers, low_powers = powers
    spans, scores, row_starts, names, values = found
    n, n_known = 0, len(numbers)
    for row in range(len(starts)):
        begin, stop = starts[row], stops[row]
        for field in range(2):
            i = next_byte(data, begin, stop, BAR) - 1
            if i <= begin or not bars(data, i, stop):
                return -1
            spans[row, 2 * field], spans[row, 2 * field + 1] = begin, i
            first, last = data[begin], data[i - 1]
            if first == SPACE or first == TAB or last == SPACE or last == TAB:  # to be trimmed
                return -1
            begin = i + BARS_LENGTH
        i, row_starts[row] = begin, n
        positional, before, at_score = 0, n_known, False
        while not at_score:
            if i >= stop:
                return -1
            at_score, tries, end = data[i] == BAR, 0, -1
            if at_score:
                if not bars(data, i - 1, stop) or positional != complete:
                    return -1
                end = i + BARS_LENGTH - 1
            while end < 0:  # a name: the two guesses, then all
                if tries == n_known + 2:
                    return -1
                k = guesses[before, tries] if tries < 2 else tries - 2
                end = name_end(data, i, stop, spelled, offsets, k)
                tries += 1
            if tries > 1:
                guesses[before, 0], guesses[before, 1] = k, guesses[before, 0]
            more = True
            while more:
                i = end
                end = next_byte(data, i, stop, SPACE)
                state, value = read_number(data, i, end, tens, high_powers, low_powers)
                if state != NUMBER_OK or n == len(names):
                    return -1
                if at_score:
                    scores[row], more = value, False
                else:
                    names[n], values[n] = numbers[k], value
                    n, before, more = n + 1, k, further[k] >= 0
                    positional += by_position[k]
                    k = further[k]
                    end += 1
            i = end
        if end < stop and not bars(data, end, stop):
            return -1
    row_starts[len(starts)] = n
    return n


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
