# mypy: ignore-errors
"""Kernels of the index: the places of a text sorted by the words that begin there.

A text is one row of word numbers, from 1; a 0 stands behind every sentence, and enough of them at the end.
"""

from luthier.core.jit import inner_kernel, kernel


@kernel
def sort_pass(words, shift, starts, before, after):
    """Sort the places `before` by the word `shift` further on, stably, into `after`; `starts` is scratch, (V+2,)."""
    starts[:] = 0
    for i in range(len(before)):
        starts[words[before[i] + shift] + 1] += 1
    for v in range(1, len(starts)):
        starts[v] += starts[v - 1]
    for i in range(len(before)):
        v = words[before[i] + shift]
        after[starts[v]] = before[i]
        starts[v] += 1


@inner_kernel
def narrow(words, places, low, high, shift, word):
    """Return the part of ``places[low:high]``, sorted by the word `shift` further on, that has `word` there."""
    a, b = low, high
    while a < b:
        middle = (a + b) >> 1
        if words[places[middle] + shift] < word:
            a = middle + 1
        else:
            b = middle
    first, b = a, high
    while a < b:
        middle = (a + b) >> 1
        if words[places[middle] + shift] <= word:
            a = middle + 1
        else:
            b = middle
    return first, a


@kernel
def find_chunks(words, places, text, lows, highs):
    """Write the range of places of every chunk of a text: row i, column k is the chunk of k + 1 words from i on.

    A range is empty, low = high, where the chunk does not occur or ends behind its sentence.
    """
    depth = lows.shape[1]
    for i in range(len(text)):
        low, high = 0, len(places)
        for k in range(depth):
            if low < high:
                word = text[i + k] if i + k < len(text) else 0
                low, high = narrow(words, places, low, high, k, word) if word > 0 else (low, low)
            lows[i, k] = low
            highs[i, k] = high
