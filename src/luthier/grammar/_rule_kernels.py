# mypy: ignore-errors
"""Kernels that cut the fields of rules into symbols, features and links."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.corpus._field_kernels import is_blank, word_start, word_stop

EQUALS, COMMA, HYPHEN, OPEN, CLOSE, ZERO, NINE, X = 61, 44, 45, 91, 93, 48, 57, 88
# What a symbol is: a word; [X,1] … [X,9] are 1 … 9; [1] … [9] are 11 … 19
WORD, BARE_GAP, PAIR_GAP, LABEL, OTHER_LABEL = 0, 10, 20, 21, 22
FINE, NOT_LINKS = 0, 1
GAPS_FIT, GAPS_DIFFER, GAPS_TOO_MANY, GAP_ALONE, NO_SOURCE = 0, 1, 2, 3, 4
MOST_GAPS = 2
LARGEST_PLACE = 255


@inner_kernel
def symbol_kind(data, a, b):
    """Return what the symbol ``data[a:b]`` is."""
    if b - a < 3 or data[a] != OPEN or data[b - 1] != CLOSE:
        return WORD
    if b - a == 3:
        if data[a + 1] == X:
            return LABEL
        return BARE_GAP + (data[a + 1] - ZERO) if ZERO < data[a + 1] <= NINE else WORD
    if b - a == 6 and data[a + 1] == X and data[a + 2] == CLOSE and data[a + 3] == OPEN and data[a + 4] == X:
        return PAIR_GAP
    k = b - 2
    while k > a and ZERO <= data[k] <= NINE:
        k -= 1
    if k == b - 2 or data[k] != COMMA or k == a + 1:
        return WORD
    if k == a + 2 and data[a + 1] == X and k == b - 3 and data[b - 2] > ZERO:
        return data[b - 2] - ZERO
    return OTHER_LABEL


@inner_kernel
def cut_words(data, starts, stops, offsets, word_starts, word_stops):
    """Write the spans of the words of each row; return how many there are."""
    n = 0
    for row in range(len(starts)):
        offsets[row] = n
        stop = stops[row]
        a = word_start(data, starts[row], stop)
        while a < stop:
            b = word_stop(data, a, stop)
            word_starts[n] = a
            word_stops[n] = b
            n += 1
            a = word_start(data, b, stop)
    offsets[len(starts)] = n
    return n


@kernel
def lex_symbols(data, starts, stops, offsets, kinds, symbol_starts, symbol_stops):
    """Write the symbols of each row: what they are, and their spans; return how many there are."""
    n = cut_words(data, starts, stops, offsets, symbol_starts, symbol_stops)
    for k in range(n):
        kinds[k] = symbol_kind(data, symbol_starts[k], symbol_stops[k])
    return n


@kernel
def lex_features(data, starts, stops, offsets, names, values):
    """Write the spans of names and values of each row's features; a value without a name has the span (−1, −1)."""
    n = cut_words(data, starts, stops, offsets, values[:, 0], values[:, 1])
    for k in range(n):
        a, equals = values[k, 0], -1
        for i in range(a, values[k, 1]):
            if data[i] == EQUALS:
                equals = i
        names[k, 0], names[k, 1] = (a, equals) if equals >= 0 else (-1, -1)
        if equals >= 0:
            values[k, 0] = equals + 1
    return n


@kernel
def lex_links(data, starts, stops, offsets, links, status):
    """Write the links ``i-j`` of each row; a row with anything else, or a place beyond 255, is marked."""
    n = 0
    for row in range(len(starts)):
        offsets[row] = n
        status[row] = FINE
        i, stop = starts[row], stops[row]
        while i < stop:
            if is_blank(data[i]):
                i += 1
                continue
            value, digits, side = 0, 0, 0
            while i < stop and not is_blank(data[i]):
                if data[i] == HYPHEN and digits > 0 and side == 0:
                    links[n, 0] = value
                    value, digits, side = 0, 0, 1
                elif ZERO <= data[i] <= NINE and value <= LARGEST_PLACE:
                    value = 10 * value + (np.int64(data[i]) - ZERO)
                    digits += 1
                else:
                    status[row] = NOT_LINKS
                if value > LARGEST_PLACE:
                    status[row] = NOT_LINKS
                i += 1
            if side == 0 or digits == 0:
                status[row] = NOT_LINKS
            else:
                links[n, 1] = value
                n += 1
    offsets[len(starts)] = n
    return n


@kernel
def resolve_bare_gaps(source_offsets, source_kinds, target_offsets, target_kinds):
    """Make ``[1]`` on a target side the gap 1 where the source side has it, else a word; on a source side a word.

    A target side that has ``[X,1]`` or ``[X,2]`` writes its gaps so, and ``[1]`` is a word.
    """
    for row in range(len(source_offsets) - 1):
        plain = False
        for i in range(target_offsets[row], target_offsets[row + 1]):
            plain = plain or WORD < target_kinds[i] < BARE_GAP
        for i in range(target_offsets[row], target_offsets[row + 1]):
            if BARE_GAP < target_kinds[i] < PAIR_GAP:
                known = False
                if plain:
                    target_kinds[i] = WORD
                    continue
                for j in range(source_offsets[row], source_offsets[row + 1]):
                    known = known or source_kinds[j] == target_kinds[i] - BARE_GAP
                target_kinds[i] = target_kinds[i] - BARE_GAP if known else WORD
    for j in range(len(source_kinds)):
        if BARE_GAP < source_kinds[j] < PAIR_GAP:
            source_kinds[j] = WORD


@kernel
def number_paired_gaps(source_offsets, source_kinds, target_offsets, target_kinds, link_offsets, links):
    """Number the gaps ``[X][X]`` from left to right on the source side, on the target side by the links."""
    for row in range(len(source_offsets) - 1):
        first, last = source_offsets[row], source_offsets[row + 1]
        begin, end = target_offsets[row], target_offsets[row + 1]
        k = 0
        for i in range(first, last):
            if source_kinds[i] != PAIR_GAP:
                continue
            k += 1
            source_kinds[i] = min(k, 9)
            for k_link in range(link_offsets[row], link_offsets[row + 1]):
                j = begin + links[k_link, 1]
                if links[k_link, 0] == i - first and j < end and target_kinds[j] == PAIR_GAP:
                    target_kinds[j] = min(k, 9)


@kernel
def match_gaps(source_offsets, source_kinds, target_offsets, target_kinds, status):
    """Turn kinds into symbols, −1 and −2 for gaps numbered by the source side, and say which rows do not fit."""
    for row in range(len(source_offsets) - 1):
        first, second, n_gaps, n_words, repeated = 0, 0, 0, 0, False
        for i in range(source_offsets[row], source_offsets[row + 1]):
            k = source_kinds[i]
            if k == WORD:
                n_words += 1
                continue
            n_gaps += 1
            repeated = repeated or k == first
            if n_gaps == 1:
                first = k
            elif n_gaps == 2:
                second = k
            source_kinds[i] = -n_gaps
        ones, twos, others = 0, 0, 0
        for i in range(target_offsets[row], target_offsets[row + 1]):
            k = target_kinds[i]
            if k == WORD:
                continue
            if k == first:
                ones += 1
                target_kinds[i] = -1
            elif k == second:
                twos += 1
                target_kinds[i] = -2
            else:
                others += 1
        status[row] = GAPS_FIT
        if n_words + n_gaps == 0:
            status[row] = NO_SOURCE
        elif n_gaps > MOST_GAPS:
            status[row] = GAPS_TOO_MANY
        elif repeated or others > 0 or ones != (n_gaps >= 1) or twos != (n_gaps == 2):
            status[row] = GAPS_DIFFER
        elif n_gaps == 1 and n_words == 0:
            status[row] = GAP_ALONE


@kernel
def links_within(offsets, links, source_offsets, target_offsets):
    """Return the first row with a link to a symbol that is not there, −1 if there is none."""
    for row in range(len(offsets) - 1):
        for k_link in range(offsets[row], offsets[row + 1]):
            if links[k_link, 0] >= source_offsets[row + 1] - source_offsets[row]:
                return row
            if links[k_link, 1] >= target_offsets[row + 1] - target_offsets[row]:
                return row
    return -1
