# mypy: ignore-errors
"""Kernels that merge the links of two directions, one sentence pair at a time.

The points of a pair are the union of both, ascending by (source, target); `sides` says of each whether it is in
the forward links (1), the backward links (2) or both (3).
"""

from luthier.core.jit import inner_kernel, kernel

FORWARD, BACKWARD, BOTH = 1, 2, 3


@kernel
def unite(first, second, offsets, source, target, sides):
    """Merge the links of two alignments, each as (offsets, source, target); return how many there are."""
    n = 0
    for k in range(len(first[0]) - 1):
        offsets[k] = n
        a, b = first[0][k], second[0][k]
        while a < first[0][k + 1] or b < second[0][k + 1]:
            if b == second[0][k + 1]:
                order = -1
            elif a == first[0][k + 1]:
                order = 1
            else:
                order = first[1][a] - second[1][b]
                if order == 0:
                    order = first[2][a] - second[2][b]
            if order <= 0:
                source[n], target[n] = first[1][a], first[2][a]
                a += 1
            else:
                source[n], target[n] = second[1][b], second[2][b]
            sides[n] = BOTH if order == 0 else FORWARD if order < 0 else BACKWARD
            if order >= 0:
                b += 1
            n += 1
    offsets[len(first[0]) - 1] = n
    return n


@inner_kernel
def find(source, target, low, high, s, t):
    """Return where point (s, t) stands among the points ``low:high``, or −1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if source[middle] < s or (source[middle] == s and target[middle] < t):
            low = middle + 1
        else:
            high = middle
    return low if low < end and source[low] == s and target[low] == t else -1


@inner_kernel
def touches(source, target, taken, low, high, row):
    """Return whether one of the eight neighbours of a point is taken."""
    for ds in range(-1, 2):
        for dt in range(-1, 2):
            if ds != 0 or dt != 0:
                at = find(source, target, low, high, source[row] + ds, target[row] + dt)
                if at >= 0 and taken[at]:
                    return True
    return False


@inner_kernel
def take(row, source, target, taken, source_linked, target_linked, stamp):
    """Take a point: its two words have a link now."""
    taken[row] = True
    source_linked[source[row]] = stamp
    target_linked[target[row]] = stamp


@kernel
def grow_pair(low, high, source, target, taken, source_linked, target_linked, stamp):
    """Take, pass by pass, points that touch a taken one and have a word without link."""
    grown = True
    while grown:
        grown = False
        for row in range(low, high):
            s, t = source[row], target[row]
            if taken[row] or (source_linked[s] == stamp and target_linked[t] == stamp):
                continue
            if touches(source, target, taken, low, high, row):
                take(row, source, target, taken, source_linked, target_linked, stamp)
                grown = True


@kernel
def grow(offsets, source, target, sides, least_free, taken, source_linked, target_linked):
    """Grow all pairs from the points that are taken; then take points of which `least_free` words have no link.

    ``source_linked[i] == k + 1`` says that word i of pair k has a link: so nothing is cleared between pairs.
    `least_free` is 2 or 1; 3 takes no further points.
    """
    for k in range(len(offsets) - 1):
        low, high, stamp = offsets[k], offsets[k + 1], k + 1
        for row in range(low, high):
            if taken[row]:
                take(row, source, target, taken, source_linked, target_linked, stamp)
        grow_pair(low, high, source, target, taken, source_linked, target_linked, stamp)
        for side in (FORWARD, BACKWARD):
            for row in range(low, high):
                if sides[row] & side and not taken[row]:
                    free = int(source_linked[source[row]] != stamp) + int(target_linked[target[row]] != stamp)
                    if free >= least_free:
                        take(row, source, target, taken, source_linked, target_linked, stamp)
