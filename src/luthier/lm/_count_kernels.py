# mypy: ignore-errors
"""Kernels that count n-grams: places of a text grouped by the n-gram that ends there, one word longer each time."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

SHORT = 24  # so few keys are sorted by insertion: a call of a sort takes longer


@kernel
def group_by_word(stream, starts, places):
    """Write all places sorted by their word; `starts` has the first place of each word, and is used up."""
    for i in range(len(stream)):
        word = stream[i]
        places[starts[word]] = i
        starts[word] += 1


@inner_kernel
def sort_keys(keys, n):
    """Sort the first n keys."""
    if n > SHORT:
        keys[:n].sort()
    else:
        for a in range(1, n):
            key = keys[a]
            b = a
            while b > 0 and keys[b - 1] > key:
                keys[b] = keys[b - 1]
                b -= 1
            keys[b] = key


@kernel
def lengthen(stream, end, places, starts, here, keys, grown, numbers, columns, last):
    """Group places by n-grams one word longer; return how many places and how many n-grams there are.

    Group g of the shorter n-grams is ``places[starts[g]:starts[g + 1]]``, and `here` has the group of every place.
    What follows them, but for the word `end`, behind which nothing follows, is sorted group by group: so the new
    n-grams are sorted by their beginnings, then by their last words. Places of new n-grams go to `grown`, their
    numbers to `numbers`; for each n-gram how often it occurs and the shorter n-grams it begins with and ends in go
    to the rows of `columns`, its last word to `last`. `keys` is as long as the largest group.
    """
    raw, prefix, suffix = columns[0], columns[1], columns[2]
    used, n_grams = 0, 0
    for group in range(len(starts) - 1):
        n = 0
        for k in range(starts[group], starts[group + 1]):
            i = places[k]
            if stream[i] != end:
                keys[n] = (np.int64(stream[i + 1]) << 32) | np.int64(i + 1)
                n += 1
        sort_keys(keys, n)
        word = np.int64(-1)
        for k in range(n):
            i = keys[k] & 0xFFFFFFFF
            if keys[k] >> 32 != word:
                word = keys[k] >> 32
                raw[n_grams] = 0
                prefix[n_grams] = group
                suffix[n_grams] = here[i]
                last[n_grams] = word
                n_grams += 1
            raw[n_grams - 1] += 1
            numbers[i] = n_grams - 1
            grown[used] = i
            used += 1
    return used, n_grams
