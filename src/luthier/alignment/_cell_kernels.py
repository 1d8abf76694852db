# mypy: ignore-errors
"""Kernels that number the pairs of words which stand in a sentence pair together.

A *cell* is a source place and a target place of one sentence pair; a *type* is a source word and a target
word that share a cell somewhere. Cells of pair k are ``cells[cell_offsets[k]:]``, target by target, and in
each the n source places.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel


class Places(NamedTuple):
    """The places of source words grouped by word, where each group starts, and the sentence of each place."""

    order: np.ndarray
    word_starts: np.ndarray
    sentence_of: np.ndarray


class Types(NamedTuple):
    """The type of each cell; the types of source word f are ``offsets[f]:offsets[f + 1]``, with their target words."""

    cells: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray


@kernel
def order_by_word(ids, starts, order):
    """Write the places of all words grouped by word, in text order within a group.

    `starts` holds, and loses, the first free place of each group.
    """
    for p in range(len(ids)):
        word = ids[p]
        order[starts[word]] = p
        starts[word] += 1


@kernel
def number_cells(places, source_offsets, target_offsets, target_ids, cell_offsets, stamps, slots, out):
    """Give each cell the number of its type; return how many types there are.

    One source word at a time: `stamps[e]` says whether target word e was met beside it already, `slots[e]`
    the number the two got. No sorting, no hashing: each cell is visited once.
    """
    order, word_starts, sentence_of = places
    cells, type_offsets, type_targets = out
    n_types = 0
    for word in range(len(word_starts) - 1):
        for r in range(word_starts[word], word_starts[word + 1]):
            p = order[r]
            k = sentence_of[p]
            n = source_offsets[k + 1] - source_offsets[k]
            at = cell_offsets[k] + p - source_offsets[k]
            for q in range(target_offsets[k], target_offsets[k + 1]):
                e = target_ids[q]
                if stamps[e] != word:
                    stamps[e] = word
                    slots[e] = n_types
                    type_targets[n_types] = e
                    n_types += 1
                cells[at] = slots[e]
                at += n
        type_offsets[word + 1] = n_types
    return n_types


@kernel
def find_types(type_offsets, type_targets, kept_offsets, kept_targets, stamps, slots, found):
    """Write the number that each type has in a kept table, or −1."""
    for word in range(len(type_offsets) - 1):
        known = word < len(kept_offsets) - 1
        if known:
            for t in range(kept_offsets[word], kept_offsets[word + 1]):
                stamps[kept_targets[t]] = word
                slots[kept_targets[t]] = t
        for t in range(type_offsets[word], type_offsets[word + 1]):
            e = type_targets[t]
            found[t] = slots[e] if known and stamps[e] == word else -1
