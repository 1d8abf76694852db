"""ROVER: a confusion network of each list, in which every slot votes for its word [fiscus1997]."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int32, flat
from luthier.core.errors import LuthierError
from luthier.features.consensus import _rover_kernels as kernels
from luthier.features.consensus.evidence import Evidence, list_weights
from luthier.kbest.pool import Pool


def rover(pool: Pool, evidence: Evidence | None = None) -> list[str]:
    """Return the words that win the votes of each list, a text for each sentence, '' where there is no list.

    Hypotheses are aligned to the network one after another, in the order of the list. They vote with as much as they
    count as evidence. The text need not be one of the list.
    """
    shown = evidence or Evidence()
    if shown.pool is not None or shown.leave_self_out:
        raise LuthierError("a confusion network is made of the hypotheses of a list themselves, all of them")
    if len(shown.temperatures) > 1 and shown.posterior is not None:
        raise LuthierError("a confusion network needs one temperature")
    counted, offsets, _ = list_weights(pool, shown)
    lengths, texts = pool.tokens.lengths, []
    weights = np.zeros(pool.n_hypotheses)
    rank = np.arange(pool.n_hypotheses) - np.repeat(pool.offsets[:-1], pool.list_lengths)
    weights[rank < np.repeat(np.diff(offsets), pool.list_lengths)] = counted[:, 0]
    for first, last in zip(pool.offsets[:-1].tolist(), pool.offsets[1:].tolist(), strict=True):
        words, slots = np.zeros(0, dtype=np.int32), int(lengths[first:last].max(initial=0)) + 16
        used = -1
        while used < 0:
            words, slots = np.empty(slots, dtype=np.int32), 2 * slots
            used = _vote(pool, weights, first, last, words)
        texts.append(" ".join(pool.vocab[word] for word in words[:used].tolist()))
    return texts


def _vote(pool: Pool, weights: Float64, first: int, last: int, out: Int32) -> int:
    """Write the words of one list to `out`, which has a place for each slot; return how many, −1 if more are needed."""
    slots, longest = len(out), int(pool.tokens.lengths[first:last].max(initial=0))
    begin, end = pool.tokens.offsets[first], pool.tokens.offsets[last]
    width = 1 + min(last - first, len(np.unique(pool.tokens.ids[begin:end])))
    network = kernels.Network(
        words=np.empty((2, slots, width), dtype=np.int32),
        votes=np.empty((2, slots, width)),
        counts=np.zeros((2, slots), dtype=np.int64),
        cost=np.empty((longest + 1, slots + 1), dtype=np.int32),
        step=np.empty((longest + 1, slots + 1), dtype=np.int32),
    )
    tokens = pool.tokens
    return int(kernels.vote_list(flat(tokens.offsets), flat(tokens.ids), weights, first, last, network, out))
