# mypy: ignore-errors
"""Kernels of the index: the places of a text sorted by the words that begin there.

A text is one row of word numbers, from 1; a 0 stands behind every sentence, and enough of them at the end.
"""

import math

import numpy as np

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


# Kernels of the lexicon: how often words are linked, and what that gives for the words of a rule.


NEVER = 99.0  # the cost of a word that none of the others was ever linked with


@inner_kernel
def pair_count(offsets, targets, counts, f, e):
    """Return how often the words f and e are linked."""
    a, b = offsets[f], offsets[f + 1]
    while a < b:
        middle = (a + b) >> 1
        if targets[middle] < e:
            a = middle + 1
        else:
            b = middle
    return counts[a] if a < offsets[f + 1] and targets[a] == e else 0


@inner_kernel
def cost(probability):
    """Return −log10 of a probability, 99 for none."""
    return -math.log10(probability) if probability > 0.0 else NEVER


@kernel
def lexical_costs(lexicon, source_offsets, source_words, rule_pattern, offsets, symbols, forward, backward):
    """Write MaxLexEgivenF and MaxLexFgivenE of each rule: its pattern's source words against its target words.

    Source word 0 and target symbols below 0 are gaps. `best` keeps, for each source word, the largest t(f|e) so far.
    """
    best = np.empty(64)
    for row in range(len(rule_pattern)):
        first, last = source_offsets[rule_pattern[row]], source_offsets[rule_pattern[row] + 1]
        for i in range(first, last):
            f = source_words[i]  # at a gap that of NULL, which is never asked for
            best[i - first] = lexicon.source_null[f] / max(lexicon.target_total[0], 1)
        total = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            e = symbols[k]
            if e < 0:
                continue
            largest = lexicon.target_null[e] / max(lexicon.source_total[0], 1)
            for i in range(first, last):
                f = source_words[i]
                if f == 0:
                    continue
                n = pair_count(lexicon.offsets, lexicon.targets, lexicon.counts, f, e)
                if n > 0:
                    largest = max(largest, n / lexicon.source_total[f])
                    best[i - first] = max(best[i - first], n / lexicon.target_total[e])
            total += cost(largest)
        forward[row] = total
        total = 0.0
        for i in range(first, last):
            if source_words[i] > 0:
                total += cost(best[i - first])
        backward[row] = total
