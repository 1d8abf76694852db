# mypy: ignore-errors
"""Kernels of the lexicon: how often words are linked, and what that gives for the words of a rule."""

import math

import numpy as np

from luthier.core.jit import inner_kernel, kernel

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
