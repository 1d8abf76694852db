# mypy: ignore-errors
"""A kernel that copies bytes with some stretches exchanged."""

import numpy as np

from luthier.core.jit import kernel
from luthier.grammar._print_kernels import put


@kernel
def exchange(data, starts, stops, which, text_offsets, texts, out):
    """Write `data` with the stretches ``starts[e]:stops[e]``, which ascend, exchanged for texts; return the length."""
    at, done = 0, 0
    for e in range(len(starts)):
        at = put(out, at, data, done, starts[e])
        t = which[e]
        at = put(out, at, texts, text_offsets[t], text_offsets[t + 1])
        done = stops[e]
    return put(out, at, data, done, len(data))


# Kernels that cut an ordered row of masses into stretches of like sum; numbers are whole, so nothing is rounded.


FAR = np.int64(1) << np.int64(62)


@kernel
def fill_bins(masses, ideal, ends):
    """Write where each bin ends, filling them from the left (Algorithm 1 of Clark et al., 2014).

    A bin takes values while they fit into what is wanted up to its end, and one that straddles that end if less than
    half of it is beyond; it has at least one, and leaves one for each later bin.
    """
    n_bins, n = len(ends), len(masses)
    i, filled = 0, np.int64(0)
    for j in range(n_bins - 1):
        last = n - (n_bins - 1 - j)
        filled += masses[i]
        i += 1
        while i < last:
            wanted = (j + 1) * ideal - filled
            mass = masses[i]
            if mass > wanted and 2 * (mass - wanted) >= mass:
                break
            filled += mass
            i += 1
            if mass > wanted:
                break
        ends[j] = i
    ends[n_bins - 1] = n


@kernel
def next_layer(sums, ideal, before, first, after, choices):
    """Write the least cost of cutting the first i values into one bin more, and where that bin begins.

    `sums` (n+1,) are the sums of the first values, `before` the costs with one bin less, from `first` values on. A bin
    from k to i costs |sums[i] − sums[k] − ideal|. The least over the k on one side of the kink is a running minimum;
    that over those on the other is the head of a queue, since both ends of that window only move on.
    """
    n = len(sums) - 1
    queue = np.empty(n + 1, dtype=np.int64)
    head, tail, kink = 0, 0, first
    least, place = FAR, -1
    for i in range(first + 1, n + 1):
        k = i - 1
        cost = before[k] + sums[k]
        while tail > head and before[queue[tail - 1]] + sums[queue[tail - 1]] > cost:
            tail -= 1
        queue[tail] = k
        tail += 1
        while kink < i and sums[i] - sums[kink] >= ideal:
            if before[kink] - sums[kink] < least:
                least, place = before[kink] - sums[kink], kink
            kink += 1
        while head < tail and queue[head] < kink:
            head += 1
        after[i] = FAR
        if place >= 0:
            after[i] = least + sums[i] - ideal
            choices[i] = place
        if head < tail:
            over = before[queue[head]] + sums[queue[head]] + ideal - sums[i]
            if over < after[i]:
                after[i] = over
                choices[i] = queue[head]


@kernel
def best_bins(sums, ideal, choices, ends):
    """Write where bins end whose sum of |mass − ideal| is the least of all ways to cut; return that sum.

    `choices` is scratch, (bins, n+1).
    """
    n_bins, n = len(ends), len(sums) - 1
    before, after = np.full(n + 1, FAR), np.full(n + 1, FAR)
    for i in range(1, n + 1):
        before[i] = abs(sums[i] - ideal)
    for j in range(1, n_bins):
        next_layer(sums, ideal, before, j, after, choices[j])
        before, after = after, before
    i = n
    for j in range(n_bins - 1, -1, -1):
        ends[j] = i
        i = choices[j, i] if j > 0 else 0
    return before[n]
