# mypy: ignore-errors
"""Kernels that read the rules off the occurrences of patterns, and count them.

Of each pattern the distinct (variant, target side) are kept with their counts and, for each, the distinct links
between its symbols. A gap of the target side is −1 or −2, numbered by the source side.
"""

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.grammar.extraction._span_kernels import (
    FIRST_GAP,
    HIGH,
    IS_RULE,
    LOW,
    N_GAPS,
    SOURCE_BASE,
    SOURCE_LENGTH,
    SPAN_COLUMNS,
    TARGET_BASE,
    find_spans,
    project,
)

FREE = -1
N_RULES, N_SYMBOLS, N_LINKS, N_SETS, N_SET_LINKS = 0, 1, 2, 3, 4
EDGES = 6


@inner_kernel
def enter_sentence(corpus, pair, place):
    """Turn `pair` to the sentence of a place; return where that sentence begins."""
    number = corpus.sentence[place]
    start = corpus.source_start[number]
    pair.at[SOURCE_BASE] = start
    pair.at[SOURCE_LENGTH] = corpus.source_start[number + 1] - start - 1
    pair.at[TARGET_BASE] = corpus.target_start[number]
    return start, corpus.target_start[number + 1] - corpus.target_start[number]


@inner_kernel
def set_edges(pair, limits, target_length, span, order, edges):
    """Write the ranges of the edges of the target side and of its gaps, in the order of the target.

    Edge 0 and 5 are those of the whole, 1 and 2 of the first gap there, 3 and 4 of the second; a range is of one
    place where phrases are tight, else it takes in unlinked words. Edges of gaps that are not there are −1.
    `order` gets the number of the gap, by the source, that comes first and second.
    """
    base = pair.at[SOURCE_BASE]
    first, last = project(pair.source_low, pair.source_high, base, span[LOW], span[HIGH])
    edges[0, 0] = edges[0, 1] = first
    edges[5, 0] = edges[5, 1] = last
    n = span[N_GAPS]
    order[0], order[1] = 0, 1
    for k in range(2):
        a, b = -1, -1
        if k < n:
            a, b = project(
                pair.source_low, pair.source_high, base, span[FIRST_GAP + 2 * k], span[FIRST_GAP + 2 * k + 1]
            )
        edges[1 + 2 * k, 0] = edges[1 + 2 * k, 1] = a
        edges[2 + 2 * k, 0] = edges[2 + 2 * k, 1] = b
    if n == 2 and edges[3, 0] < edges[1, 0]:
        order[0], order[1] = 1, 0
        for k in range(1, 3):
            edges[k, 0], edges[k + 2, 0] = edges[k + 2, 0], edges[k, 0]
            edges[k, 1], edges[k + 2, 1] = edges[k, 0], edges[k + 2, 0]
    if not limits.tight:
        target = pair.at[TARGET_BASE]
        for k in range(EDGES):
            if edges[k, 0] < 0:
                continue
            if k == 0 or k == 1 or k == 3:  # a lower edge
                while edges[k, 0] > 0 and pair.target_low[target + edges[k, 0] - 1] < 0:
                    edges[k, 0] -= 1
            else:
                while edges[k, 1] < target_length and pair.target_low[target + edges[k, 1]] < 0:
                    edges[k, 1] += 1
    return n


@inner_kernel
def write_target(corpus, pair, n_gaps, order, chosen, out, at, where):
    """Write the symbols of the target side with the chosen edges; return how many, and a hash of them.

    `where[j]` becomes the number of the symbol that target word chosen[0] + j is.
    """
    target = pair.at[TARGET_BASE]
    h = np.uint64(0xCBF29CE484222325)
    j, n, k = chosen[0], 0, 0
    while j < chosen[5]:
        if k < n_gaps and j == chosen[1 + 2 * k]:
            symbol = np.int32(-1 - order[k])
            j = chosen[2 + 2 * k]
            k += 1
        else:
            symbol = corpus.target_words[target + j]
            where[j - chosen[0]] = n
            j += 1
        out[at + n] = symbol
        h = (h ^ np.uint64(np.int64(symbol) + 2)) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
        n += 1
    return n, h


@inner_kernel
def write_links(corpus, variant, starts, lengths, n_chunks, start, first, where, out, at):
    """Write the links between the symbols of the two sides, ``source << 8 | target``; return how many."""
    n = 0
    symbol = 1 if variant >= 2 else 0
    for k in range(n_chunks):
        for i in range(starts[k], starts[k] + lengths[k]):
            for link in range(corpus.link_offsets[start + i], corpus.link_offsets[start + i + 1]):
                out[at + n] = (symbol << 8) | where[corpus.link_target[link] - first]
                n += 1
            symbol += 1
        symbol += 1
    return n


@inner_kernel
def same_symbols(a, i, b, j, n):
    """Return whether ``a[i:i+n]`` is ``b[j:j+n]``."""
    for k in range(n):
        if a[i + k] != b[j + k]:
            return False
    return True


@inner_kernel
def find_rule(out, scratch, used, base, variant, n, h):
    """Return the row of the rule whose target side was written behind the last symbol; a new one if it is new."""
    mask = len(scratch.table) - 1
    slot = np.int64((h ^ np.uint64(variant)) & np.uint64(mask))
    at = used[N_SYMBOLS]
    while scratch.table[slot] != FREE:
        row = scratch.table[slot]
        if out.variant[row] == variant and out.symbol_offsets[row + 1] - out.symbol_offsets[row] == n:
            if same_symbols(out.symbols, out.symbol_offsets[row], out.symbols, at, n):
                return row
        slot = (slot + 1) & mask
    row = used[N_RULES]
    scratch.table[slot] = row
    scratch.slot[row - base] = slot
    scratch.first_set[row - base] = FREE
    out.variant[row] = variant
    out.pairs[row] = 0
    out.symbol_offsets[row + 1] = at + n
    used[N_SYMBOLS] = at + n
    used[N_RULES] = row + 1
    return row


@inner_kernel
def count_links(scratch, used, rule, n):
    """Count the set of links written behind the last one, for a rule of this pattern."""
    at = used[N_SET_LINKS]
    k = scratch.first_set[rule]
    while k != FREE:
        if scratch.set_offsets[k + 1] - scratch.set_offsets[k] == n:
            if same_symbols(scratch.set_links, scratch.set_offsets[k], scratch.set_links, at, n):
                scratch.set_count[k] += 1
                return
        k = scratch.next_set[k]
    k = used[N_SETS]
    scratch.set_count[k] = 1
    scratch.set_offsets[k + 1] = at + n
    scratch.next_set[k] = scratch.first_set[rule]
    scratch.first_set[rule] = k
    used[N_SETS] = k + 1
    used[N_SET_LINKS] = at + n


@inner_kernel
def has_room(out, scratch, used, base, limits):
    """Return whether one more rule, with its links, fits into the arrays."""
    most_links = limits.max_symbols * limits.max_span
    return (
        used[N_RULES] + 1 < len(out.variant)
        and used[N_SYMBOLS] + limits.max_span < len(out.symbols)
        and used[N_RULES] + 1 - base < len(scratch.slot)
        and 2 * (used[N_RULES] + 1 - base) < len(scratch.table)
        and used[N_SETS] + 1 < len(scratch.set_count)
        and used[N_SET_LINKS] + most_links < len(scratch.set_links)
    )


@kernel
def tally_variant(corpus, pair, limits, variant, chunks, span, work, out, scratch, base):
    """Count every target side of one rule of an occurrence; return False where an array was full."""
    starts, lengths, n_chunks = chunks
    edges, order, chosen, where, used = work
    start = pair.at[SOURCE_BASE]
    n_gaps = set_edges(pair, limits, pair.at[SOURCE_LENGTH + 1], span, order, edges)
    for a in range(edges[0, 0], edges[0, 1] + 1):
        for b in range(max(edges[1, 0], a if n_gaps > 0 else -1), edges[1, 1] + 1):
            for c in range(edges[2, 0], edges[2, 1] + 1):
                for d in range(max(edges[3, 0], c if n_gaps > 1 else -1), edges[3, 1] + 1):
                    for e in range(edges[4, 0], edges[4, 1] + 1):
                        last = e if n_gaps > 1 else c
                        for f in range(max(edges[5, 0], last), min(edges[5, 1], a + limits.max_span) + 1):
                            if not has_room(out, scratch, used, base, limits):
                                return False
                            chosen[0], chosen[1], chosen[2], chosen[3], chosen[4], chosen[5] = a, b, c, d, e, f
                            n, h = write_target(
                                corpus, pair, n_gaps, order, chosen, out.symbols, used[N_SYMBOLS], where
                            )
                            row = find_rule(out, scratch, used, base, variant, n, h)
                            out.pairs[row] += 1
                            n = write_links(
                                corpus, variant, starts, lengths, n_chunks, start, a, where,
                                scratch.set_links, used[N_SET_LINKS],
                            )  # fmt: skip
                            count_links(scratch, used, row - base, n)
    return True


@inner_kernel
def comes_first(scratch, k, best):
    """Return whether a set of links is commoner than another; among equals the smaller one comes first."""
    if scratch.set_count[k] != scratch.set_count[best]:
        return scratch.set_count[k] > scratch.set_count[best]
    i, j = scratch.set_offsets[k], scratch.set_offsets[best]
    while i < scratch.set_offsets[k + 1] and j < scratch.set_offsets[best + 1]:
        if scratch.set_links[i] != scratch.set_links[j]:
            return scratch.set_links[i] < scratch.set_links[j]
        i += 1
        j += 1
    return i == scratch.set_offsets[k + 1]


@kernel
def finish_pattern(out, scratch, used, base):
    """Keep the commonest links of each rule of a pattern; leave the scratch clean. False where there is no room."""
    if used[N_LINKS] + used[N_SET_LINKS] > len(out.links):
        return False
    for row in range(base, used[N_RULES]):
        best = scratch.first_set[row - base]
        k = scratch.next_set[best]
        while k != FREE:
            if comes_first(scratch, k, best):
                best = k
            k = scratch.next_set[k]
        at = used[N_LINKS]
        n = scratch.set_offsets[best + 1] - scratch.set_offsets[best]
        for i in range(n):
            out.links[at + i] = scratch.set_links[scratch.set_offsets[best] + i]
        out.link_offsets[row + 1] = at + n
        used[N_LINKS] = at + n
    return True


@kernel
def tally(corpus, pair, limits, patterns, first, work, out, scratch):
    """Count the rules of the patterns from `first` on; return the pattern before which an array was full.

    ``work.used`` holds how much of the arrays is filled; a pattern that did not fit leaves no trace.
    """
    used = work.used
    lengths, starts = np.empty(3, np.int64), np.empty(3, np.int64)
    gaps, spans = np.empty(4, np.int64), np.empty((4, SPAN_COLUMNS), np.int64)
    for p in range(first, len(patterns.lengths)):
        base, symbols, links = used[N_RULES], used[N_SYMBOLS], used[N_LINKS]
        used[N_SETS] = used[N_SET_LINKS] = 0
        n_chunks = 0
        while n_chunks < 3 and patterns.lengths[p, n_chunks] > 0:
            lengths[n_chunks] = patterns.lengths[p, n_chunks]
            n_chunks += 1
        fits = True
        for v in range(4):
            out.having[p, v] = 0
        for row in range(patterns.offsets[p], patterns.offsets[p + 1]):
            start, target_length = enter_sentence(corpus, pair, patterns.places[row, 0])
            pair.at[SOURCE_LENGTH + 1] = target_length
            for k in range(n_chunks):
                starts[k] = patterns.places[row, k] - start
            find_spans(pair, limits, starts, lengths, n_chunks, gaps, spans)
            for v in range(4):
                if fits and spans[v, IS_RULE]:
                    out.having[p, v] += 1
                    chunks = (starts, lengths, n_chunks)
                    fits = tally_variant(corpus, pair, limits, v, chunks, spans[v], work, out, scratch, base)
            if not fits:
                break
        fits = fits and finish_pattern(out, scratch, used, base)
        for row in range(base, used[N_RULES]):
            scratch.table[scratch.slot[row - base]] = FREE
        if not fits:
            used[N_RULES], used[N_SYMBOLS], used[N_LINKS] = base, symbols, links
            return p
        out.rule_offsets[p + 1] = used[N_RULES]
    return len(patterns.lengths)
