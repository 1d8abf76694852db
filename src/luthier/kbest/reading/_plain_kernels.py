# mypy: ignore-errors
"""The kernel of the usual line: fields, names and numbers read in one pass, as long as nothing is out of the way."""

from typing import NamedTuple

import numpy as np

from luthier.core._bit_kernels import ONES, bytes_below, lowest_bytes, zero_bytes
from luthier.core._number_kernels import NUMBER_OK, read_number
from luthier.core.jit import eight_bytes, inner_kernel, lean_kernel

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
