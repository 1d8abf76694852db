# mypy: ignore-errors
"""Kernels that exchange or permute what systems have of every sentence, and sum what lands where.

The exchange of sentence i in shuffle b is a function of (key, b, i) alone: random words are hashes
of counters (SplitMix64), not the states of a generator. So no result depends on how shuffles are
shared out among threads, or on which sentences are left out.
"""

import numpy as np

from luthier.core._hash_kernels import GOLDEN, mixed
from luthier.core.jit import kernel

DRAWS_PER_WORD = 6
# Shuffles worked on together: their sums stay in the first cache while the sentences pass by.
GROUP = 32


@kernel
def permute(stream, counter, order):
    """Write a permutation of 0 … K-1, the one that belongs to this stream and counter.

    Fisher and Yates' shuffle, from the last place down. Each 32-bit half of a word serves three
    places: (half · n) >> 32 is the choice among n, the low half of that product is what is left for
    the next. No choice is off its probability by more than a part in 2³²/K³.
    """
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    n_words = (len(order) + DRAWS_PER_WORD - 2) // DRAWS_PER_WORD
    word, rest = np.uint64(0), np.uint64(0)
    for k in range(len(order)):
        order[k] = k
    for step in range(len(order) - 1):
        phase = step % DRAWS_PER_WORD
        if phase == 0:
            tick = counter * n_words + step // DRAWS_PER_WORD + 1
            # the output of SplitMix64 at a place of a stream is a mixture of its start and that multiple of GOLDEN
            word = mixed(stream + np.uint64(tick) * GOLDEN)
            rest = word & low
        elif phase == DRAWS_PER_WORD // 2:
            rest = word >> half
        last = len(order) - 1 - step
        product = rest * np.uint64(last + 1)
        rest = product & low
        chosen = np.int64(product >> half)
        order[last], order[chosen] = order[chosen], order[last]


@kernel
def keeps(stream, counter):
    """Return whether a sentence stays as it is: the bit by which `permute` leaves two items in place."""
    return (mixed(stream + np.uint64(counter + 1) * GOLDEN) >> np.uint64(31)) & np.uint64(1)


@kernel
def add_kept(statistics, sentences, key, first, kept):
    """Add, for shuffles ``first + b``, the statistics of the sentences that are not exchanged.

    `statistics` (n, W) are those of n sentences, numbered `sentences` (n,); `kept` (B, W) is added to, sentence by
    sentence. Both are C-contiguous.
    """
    streams = np.empty(len(kept), dtype=np.uint64)
    for b in range(len(streams)):
        streams[b] = mixed(key + np.uint64(first + b + 1) * GOLDEN)
    for start in range(0, len(streams), GROUP):
        stop = min(start + GROUP, len(streams))
        for i in range(len(sentences)):
            row = statistics[i]
            for b in range(start, stop):
                # 0 or 1: a branch would be guessed wrong half the time
                share = np.float64(keeps(streams[b], sentences[i]))
                out = kept[b]
                for s in range(len(row)):
                    out[s] += share * row[s]


@kernel
def add_multeval(items, sentences, key, first, sums):
    """Add, for shuffles ``first + b``, the statistics that MultEval's deal gives to both pseudo-systems.

    `items` (n, 2R, S) are R replicas of one system, then R of the other; `sums` (B, 2, S) is added to. With a random
    permutation π of the replicas and a random bit for each r, the first pseudo-system receives replica π(r) of the
    system that the bit names, the second replica π⁻¹(r) of the other.
    """
    n_replicas, n_stats = items.shape[1] // 2, items.shape[2]
    order = np.empty(n_replicas, dtype=np.int64)
    inverse = np.empty(n_replicas, dtype=np.int64)
    n_words = (n_replicas + 63) // 64
    for b in range(len(sums)):
        stream = mixed(key + np.uint64(first + b + 1) * GOLDEN)
        bits = mixed(stream)  # the start of another stream, of which each word decides 64 exchanges
        for i in range(len(sentences)):
            permute(stream, sentences[i], order)
            for r in range(n_replicas):
                inverse[order[r]] = r
            word = np.uint64(0)
            for r in range(n_replicas):
                if r % 64 == 0:
                    word = mixed(bits + np.uint64(sentences[i] * n_words + r // 64 + 1) * GOLDEN)
                swap = np.int64((word >> np.uint64(r % 64)) & np.uint64(1))
                for s in range(n_stats):
                    sums[b, 0, s] += items[i, swap * n_replicas + order[r], s]
                    sums[b, 1, s] += items[i, (1 - swap) * n_replicas + inverse[r], s]
