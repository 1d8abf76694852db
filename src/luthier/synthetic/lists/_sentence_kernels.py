# mypy: ignore-errors
"""Kernels that draw, spell out and score the derivations of one synthetic sentence.

A sentence of L slots has T = 2L decisions: decision l < L chooses what slot l becomes, decision L + l
whether something happens between the slots l and l + 1 (0: nothing). A derivation is a row of T
choices. Option c of slot l is the words ``words[l, c, 0]`` and ``words[l, c, 1]``, −1 being none.
Where ``swap_sites[l]`` holds, choice 1 of decision L + l exchanges the slots l and l + 1; no two such
sites are neighbours.
"""

import numpy as np

from luthier.core.jit import kernel


@kernel
def draw(cumulative, uniforms, choices):
    """Write one draw per row and decision; `cumulative` (T, C) are the options' summed probabilities."""
    last = cumulative.shape[1] - 1
    for r in range(uniforms.shape[0]):
        for t in range(uniforms.shape[1]):
            c = 0
            while c < last and uniforms[r, t] >= cumulative[t, c]:
                c += 1
            choices[r, t] = c


@kernel
def put_slot(words, slot, choice, out, n):
    """Append the words of one slot to `out`, which holds n; return how many it holds then."""
    for part in range(2):
        word = words[slot, choice, part]
        if word >= 0:
            out[n] = word
            n += 1
    return n


@kernel
def spell(choice, words, swap_sites, out):
    """Write the words of one derivation; return how many there are."""
    length = len(swap_sites)
    n, slot = 0, 0
    while slot < length:
        if swap_sites[slot] and choice[length + slot] == 1:
            n = put_slot(words, slot + 1, choice[slot + 1], out, n)
            n = put_slot(words, slot, choice[slot], out, n)
            slot += 2
        else:
            n = put_slot(words, slot, choice[slot], out, n)
            slot += 1
    return n


@kernel
def chain_score(sentence, n, table):
    """Return the sum of ``table[previous, word]`` over n words, from boundary to boundary.

    The table's last row and column are the boundary, those before are all words beyond the table.
    """
    boundary, unknown = table.shape[0] - 1, table.shape[0] - 2
    total, before = 0.0, boundary
    for i in range(n):
        word = min(sentence[i], unknown)
        total += table[before, word]
        before = word
    return total + table[before, boundary]


@kernel
def measure(choices, words, swap_sites, option_features, table, out, lengths):
    """Write the features of each derivation, the chain's score first, and its number of words."""
    buffer = np.empty(2 * len(swap_sites), dtype=np.int32)
    n_features = option_features.shape[2]
    for r in range(choices.shape[0]):
        for j in range(n_features):
            out[r, 1 + j] = 0.0
        for t in range(choices.shape[1]):
            for j in range(n_features):
                out[r, 1 + j] += option_features[t, choices[r, t], j]
        lengths[r] = spell(choices[r], words, swap_sites, buffer)
        out[r, 0] = chain_score(buffer, lengths[r], table)


@kernel
def spell_rows(choices, words, swap_sites, offsets, ids):
    """Write the words of each derivation to its place in `ids`."""
    for r in range(choices.shape[0]):
        spell(choices[r], words, swap_sites, ids[offsets[r] : offsets[r + 1]])


@kernel
def climb(choice, words, swap_sites, option_scores, table, chain_weight, sweeps, losses):
    """Improve one derivation by single changes; write what every single change to the result costs.

    `option_scores` (T, C) is −inf where a decision lacks an option. `choice` is changed in place;
    `losses` (T, C) becomes the score after a change minus the best one, at most 0 if nothing helps.
    """
    buffer = np.empty(2 * len(swap_sites), dtype=np.int32)
    n_decisions, n_options = option_scores.shape
    for sweep in range(sweeps + 1):
        for t in range(n_decisions):
            kept = choice[t]
            for c in range(n_options):
                losses[t, c] = option_scores[t, c]
                if option_scores[t, c] > -np.inf:
                    choice[t] = c
                    n = spell(choice, words, swap_sites, buffer)
                    losses[t, c] += chain_weight * chain_score(buffer, n, table)
            best = kept
            for c in range(n_options):
                if sweep < sweeps and losses[t, c] > losses[t, best]:
                    best = c
            choice[t] = best
            base = losses[t, best]
            for c in range(n_options):
                losses[t, c] -= base


@kernel
def joined_lengths(ids, offsets, word_offsets, out):
    """Write how many bytes each sequence of words takes as text, one space between words."""
    for r in range(len(offsets) - 1):
        total = max(offsets[r + 1] - offsets[r] - 1, 0)
        for i in range(offsets[r], offsets[r + 1]):
            total += word_offsets[ids[i] + 1] - word_offsets[ids[i]]
        out[r] = total


@kernel
def join_words(ids, offsets, word_data, word_offsets, text_offsets, out):
    """Write each sequence of words as text, one space between words."""
    for r in range(len(offsets) - 1):
        at = text_offsets[r]
        for i in range(offsets[r], offsets[r + 1]):
            if i > offsets[r]:
                out[at] = 32
                at += 1
            for b in range(word_offsets[ids[i]], word_offsets[ids[i] + 1]):
                out[at] = word_data[b]
                at += 1
