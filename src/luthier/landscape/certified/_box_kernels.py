# mypy: ignore-errors
"""Kernels that find which rows can win in a box of weights, and the best choice among them under a line.

The height of row r at z is Σ_k heights[r, k]·z[k]. A box is its centre and its radius, by coordinate. A row is left out
if another is higher everywhere in the box by more than the list's slack, so that neither rounding nor ties can let it
win: what a re-rank selects is always among the rows that stay.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

UNIT = 2.0**-53


class Table(NamedTuple):
    """All rows: heights (R, P), statistics (R, S), and the slack of each list, (N,)."""

    heights: np.ndarray
    stats: np.ndarray
    slack: np.ndarray


class Open(NamedTuple):
    """Rows that can win, of lists whose statistics are not decided; and the sums of those that are.

    rows (n,) int32, starts (L+1,) int64, lists (L,) int32, fixed (S,) float64.
    """

    rows: np.ndarray
    starts: np.ndarray
    lists: np.ndarray
    fixed: np.ndarray


class Bundle(NamedTuple):
    """The same of B boxes, one after another: the lists of box b are those from ends[b] to ends[b + 1].

    rows (n,) int32, starts (L+1,) int64, lists (L,) int32, ends (B+1,) int64, fixed (B, S) float64.
    """

    rows: np.ndarray
    starts: np.ndarray
    lists: np.ndarray
    ends: np.ndarray
    fixed: np.ndarray


class Sums(NamedTuple):
    """Sums of statistics, (B, S) each: of the winners at the centre, and the lowest and highest of any choice."""

    centre: np.ndarray
    low: np.ndarray
    high: np.ndarray


@inner_kernel
def height_at(heights, row, centre):
    """Return the height of a row at a point."""
    total = 0.0
    for k in range(len(centre)):
        total += heights[row, k] * centre[k]
    return total


@inner_kernel
def lead_in_box(heights, row, other, radius):
    """Return by how much the difference of two rows can exceed its value at the centre."""
    total = 0.0
    for k in range(len(radius)):
        total += abs(heights[row, k] - heights[other, k]) * radius[k]
    return total


@inner_kernel
def drop_dominated(heights, rows, first, last, middle, radius, slack):
    """Keep rows[first:last] that no other of them exceeds everywhere; return where they end now."""
    count = last - first
    keep = np.ones(count, np.bool_)
    for i in range(count):
        for j in range(count):
            if keep[j] and middle[j] > middle[i]:
                gap = middle[i] - middle[j] + lead_in_box(heights, rows[first + i], rows[first + j], radius)
                if gap < -slack:
                    keep[i] = False
                    break
    n = first
    for i in range(count):
        if keep[i]:
            rows[n] = rows[first + i]
            n += 1
    return n


@inner_kernel
def same_statistics(stats, rows, first, last):
    """Return whether rows[first:last] all have the same statistics."""
    for i in range(first + 1, last):
        for k in range(stats.shape[1]):
            if stats[rows[i], k] != stats[rows[first], k]:
                return False
    return True


@kernel
def find_survivors(table, given, parents, centres, radii, most_compared, decide, out, sums):
    """Write the rows that can win in each box and their sums; return how many rows and lists are open in all.

    Box b takes its rows from box parents[b] of those given. They are compared with the winner at the centre, and with
    each other in lists where at most `most_compared` stay. With `decide` a list whose rows have the same statistics is
    closed, and its statistics are added to those fixed.
    """
    heights, stats, slack = table
    n_stats = stats.shape[1]
    longest = 0
    for s in range(len(given.lists)):
        longest = max(longest, given.starts[s + 1] - given.starts[s])
    middle = np.empty(longest)
    n, n_lists = 0, 0
    out.starts[0] = out.ends[0] = 0
    for b in range(len(parents)):
        parent, centre, radius = parents[b], centres[b], radii[b]
        for k in range(n_stats):
            out.fixed[b, k] = sums.centre[b, k] = given.fixed[parent, k]
        for s in range(given.ends[parent], given.ends[parent + 1]):
            start, stop = given.starts[s], given.starts[s + 1]
            room = slack[given.lists[s]]
            top, at = -np.inf, 0
            for i in range(stop - start):
                middle[i] = height_at(heights, given.rows[start + i], centre)
                if middle[i] > top:
                    top, at = middle[i], i
            winner = given.rows[start + at]
            for k in range(n_stats):
                sums.centre[b, k] += stats[winner, k]
            first = n
            for i in range(stop - start):
                row = given.rows[start + i]
                if i == at or middle[i] - top + lead_in_box(heights, row, winner, radius) >= -room:
                    out.rows[n] = row
                    middle[n - first] = middle[i]
                    n += 1
            if 1 < n - first <= most_compared:
                n = drop_dominated(heights, out.rows, first, n, middle, radius, room)
            if decide and same_statistics(stats, out.rows, first, n):
                for k in range(n_stats):
                    out.fixed[b, k] += stats[winner, k]
                n = first
            else:
                out.lists[n_lists] = given.lists[s]
                n_lists += 1
                out.starts[n_lists] = n
        out.ends[b + 1] = n_lists
    return n, n_lists


@kernel
def find_ranges(stats, found, sums):
    """Write the lowest and the highest sum of each statistic over all choices of open rows, box by box."""
    n_stats = stats.shape[1]
    low, high = np.empty(n_stats), np.empty(n_stats)
    for b in range(len(found.ends) - 1):
        for k in range(n_stats):
            sums.low[b, k] = sums.high[b, k] = found.fixed[b, k]
        for s in range(found.ends[b], found.ends[b + 1]):
            for k in range(n_stats):
                low[k] = high[k] = stats[found.rows[found.starts[s]], k]
            for i in range(found.starts[s] + 1, found.starts[s + 1]):
                row = found.rows[i]
                for k in range(n_stats):
                    low[k] = min(low[k], stats[row, k])
                    high[k] = max(high[k], stats[row, k])
            for k in range(n_stats):
                sums.low[b, k] += low[k]
                sums.high[b, k] += high[k]


@inner_kernel
def value_of(stats, row, slopes):
    """Return the value of a row under a line."""
    total = 0.0
    for k in range(len(slopes)):
        total += slopes[k] * stats[row, k]
    return total


@kernel
def best_choices(stats, found, which, slopes, totals, sums):
    """Write for some boxes the best choice of open rows under a line of each: its value, (W,), and sums, (W, S)."""
    n_stats = stats.shape[1]
    for w in range(len(which)):
        b, line = which[w], slopes[w]
        total = 0.0
        for k in range(n_stats):
            sums[w, k] = found.fixed[b, k]
            total += line[k] * found.fixed[b, k]
        for s in range(found.ends[b], found.ends[b + 1]):
            top, best = -np.inf, found.rows[found.starts[s]]
            for i in range(found.starts[s], found.starts[s + 1]):
                value = value_of(stats, found.rows[i], line)
                if value > top:
                    top, best = value, found.rows[i]
            total += top
            for k in range(n_stats):
                sums[w, k] += stats[best, k]
        totals[w] = total


@kernel
def first_of_equals(dense, indptr, indices, values, offsets, first):
    """Write for each row the lowest row of its list that has the same features."""
    for s in range(len(offsets) - 1):
        for row in range(offsets[s], offsets[s + 1]):
            first[row] = row
            for other in range(offsets[s], row):
                if first[other] != other:
                    continue
                same = indptr[row + 1] - indptr[row] == indptr[other + 1] - indptr[other]
                d = 0
                while same and d < dense.shape[1]:
                    same = dense[row, d] == dense[other, d]
                    d += 1
                e = 0
                while same and e < indptr[row + 1] - indptr[row]:
                    a, b = indptr[row] + e, indptr[other] + e
                    same = indices[a] == indices[b] and values[a] == values[b]
                    e += 1
                if same:
                    first[row] = other
                    break


@kernel
def clear_margin(heights, offsets, slack, point):
    """Return the least lead of a list's winner at a point over its next row, in multiples of the list's slack."""
    least = np.inf
    for s in range(len(offsets) - 1):
        top, second = -np.inf, -np.inf
        for row in range(offsets[s], offsets[s + 1]):
            height = height_at(heights, row, point)
            if height > top:
                top, second = height, top
            elif height > second:
                second = height
        if second > -np.inf:
            least = min(least, (top - second) / slack[s] if slack[s] > 0 else np.inf)
    return least
