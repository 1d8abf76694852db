# mypy: ignore-errors
"""Kernels that couple lists through the weights: lines over a box that no joint choice exceeds.

A list's open rows are ordered by their value under the majorant, v_0 ≥ v_1 ≥ …. The value of the row that wins is
v_last + Σ_i (v_i − v_{i+1})·[the winner is one of the first i + 1]. One of these wins only where row 0, raised by e_i,
is not below any later row q: with g(u) = height of row 0 − height of q + e_i, only where g(u) ≥ 0. So the bracket is
at most min(1, 1 + g(u)/M) for M = −min g over the box, which is linear in u where it is not 1. Summed over the lists
this is a concave function of the weights; at every u it has a tangent plane, a *cut*. Coordinates u run from −1 to 1.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.landscape.certified._box_kernels import UNIT, value_of
from luthier.landscape.certified._moment_kernels import bound_by_moments, scratch_of

# M must be at least this share of what g varies by: a cut steeper than that is all rounding and no use.
LEAST_SHARE = 1e-4
# No list takes part; no joint choice reaches the target; something of the box is left; nothing is.
NO_CUT, BELOW, LEFT, EMPTY = 0, 1, 2, 3


class Steps(NamedTuple):
    """Open rows of lists in the order of their values, as seen from each list's first row.

    starts (L+1,) int64; values (n,); lines (n, d+1), g without e_i; depths (n,), −min of that over the box; raises
    (n,), e_i.
    """

    starts: np.ndarray
    values: np.ndarray
    lines: np.ndarray
    depths: np.ndarray
    raises: np.ndarray


class Lines(NamedTuple):
    """Lines over the sums of W boxes.

    slopes (W, S); bases (W,): what a line has at rows that are fixed, constant and rounding included; levels (W,): what
    is at or below does not count.
    """

    slopes: np.ndarray
    bases: np.ndarray
    levels: np.ndarray


class Cut(NamedTuple):
    """What cuts make of W boxes.

    state (W,) int8, one of those below; fixed, peak (W,): no joint choice is higher than their sum; left, right (W, d):
    the ends that stay, from −1 to 1; impact (W, d): how much each axis moves all cuts together; moments (W, d+1, d+1):
    of 1 and the axes, to begin with and as they were reached.
    """

    state: np.ndarray
    fixed: np.ndarray
    peak: np.ndarray
    left: np.ndarray
    right: np.ndarray
    impact: np.ndarray
    moments: np.ndarray


@inner_kernel
def order_values(stats, rows, slopes, values, order):
    """Write the values of rows under a line, and their places in descending order, as they come where equal."""
    for i in range(len(rows)):
        value = value_of(stats, rows[i], slopes)
        values[i] = value
        at = i
        while at > 0 and values[order[at - 1]] < value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i


@inner_kernel
def add_list(heights, rows, order, values, room, centre, radius, n, steps):
    """Add the rows of a list to the steps, from step n on."""
    first, raised = rows[order[0]], 0.0
    for i in range(len(rows)):
        row = rows[order[i]]
        steps.values[n + i] = values[order[i]]
        middle, swing = 0.0, 0.0
        for k in range(len(centre)):
            apart = heights[first, k] - heights[row, k]
            part = apart * radius[k]
            middle += apart * centre[k]
            swing += abs(part)
            steps.lines[n + i, k + 1] = part
        if i > 0:
            raised = max(raised, swing - middle + room)
        steps.raises[n + i] = raised
        steps.lines[n + i, 0] = middle + room
        steps.depths[n + i] = swing - middle - room


@kernel
def order_steps(heights, stats, slack, found, box, slopes, centre, radius, most_rows, steps):
    """Order the rows of lists with at most `most_rows` of them; return the sum of their worst values, and their number.

    A longer list is left out; its best value is in the sum.
    """
    base, n, n_lists = 0.0, 0, 0
    values, order = np.empty(most_rows), np.empty(most_rows, np.int64)
    steps.starts[0] = 0
    for s in range(found.ends[box], found.ends[box + 1]):
        rows = found.rows[found.starts[s] : found.starts[s + 1]]
        if len(rows) > most_rows:
            top = -np.inf
            for i in range(len(rows)):
                top = max(top, value_of(stats, rows[i], slopes))
            base += top
            continue
        order_values(stats, rows, slopes, values, order)
        base += values[order[len(rows) - 1]]
        add_list(heights, rows, order, values, slack[found.lists[s]], centre, radius, n, steps)
        n += len(rows)
        n_lists += 1
        steps.starts[n_lists] = n
    return base, n_lists


@inner_kernel
def tightest_rival(steps, above, i, stop, place):
    """Return the row after i that most forbids the first ones to win at a point, its g/M there, and M; or −1."""
    lowest, rival, depth = 0.0, -1, 1.0
    raised = steps.raises[i]
    for q in range(i + 1, stop):
        room = steps.depths[q] - raised
        if room <= LEAST_SHARE * (abs(steps.lines[q, 0]) + abs(steps.depths[q]) + raised):
            continue
        room *= 1 + 16 * UNIT
        value = (place[q - above] + raised) / room
        if value < lowest:
            lowest, rival, depth = value, q, room
    return rival, depth


@inner_kernel
def cut_at(steps, n_lists, u, gradient):
    """Write the gradient of the cut at a point; return its constant, with all that rounding may take off it added."""
    n_axes = len(u)
    gradient[:] = 0.0
    constant, size = 0.0, 0.0
    longest = 0
    for s in range(n_lists):
        longest = max(longest, steps.starts[s + 1] - steps.starts[s])
    place = np.empty(longest)
    for s in range(n_lists):
        start, stop = steps.starts[s], steps.starts[s + 1]
        for q in range(start, stop):
            value = steps.lines[q, 0]
            for a in range(n_axes):
                value += steps.lines[q, a + 1] * u[a]
            place[q - start] = value
        for i in range(start, stop - 1):
            step = steps.values[i] - steps.values[i + 1]
            if step <= 0.0:
                continue
            constant += step
            size += step
            rival, depth = tightest_rival(steps, start, i, stop, place)
            if rival >= 0:
                constant += step * ((steps.lines[rival, 0] + steps.raises[i]) / depth)
                size += step * ((abs(steps.lines[rival, 0]) + steps.raises[i]) / depth)
                for a in range(n_axes):
                    part = step * (steps.lines[rival, a + 1] / depth)
                    gradient[a] += part
                    size += abs(part)
    # every sum here has at most as many terms as there are rows
    return constant + (2 * steps.starts[n_lists] + 64) * UNIT * size


@inner_kernel
def peak(constant, gradient):
    """Return the highest value of a cut over the box."""
    total = constant
    for a in range(len(gradient)):
        total += abs(gradient[a])
    return total


@kernel
def find_cuts(steps, n_lists, rounds, target, constants, gradients):
    """Write cuts, the last of them a mean of the others that is lowest over the box; return how many and its peak.

    It stops where the peak is not above the target. Constants (rounds+1,), gradients (rounds+1, d).
    """
    n_axes = gradients.shape[1]
    u, gradient, mixed, trial = np.zeros(n_axes), np.empty(n_axes), np.zeros(n_axes), np.empty(n_axes)
    level, best, count = 0.0, np.inf, 0
    for turn in range(rounds):
        constant = cut_at(steps, n_lists, u, gradient)
        constants[count] = constant
        for a in range(n_axes):
            gradients[count, a] = gradient[a]
        count += 1
        share = 1.0 if turn == 0 else best_share(level, mixed, constant, gradient, trial)
        for a in range(n_axes):
            trial[a] = (1 - share) * mixed[a] + share * gradient[a]
        height = (1 - share) * level + share * constant
        height += 8 * UNIT * (abs(level) + abs(constant) + peak(0.0, mixed) + peak(0.0, gradient))
        if peak(height, trial) < best:
            best, level = peak(height, trial), height
            for a in range(n_axes):
                mixed[a] = trial[a]
        if best <= target:
            break
        for a in range(n_axes):
            u[a] += (np.sign(mixed[a]) - u[a]) / (turn + 2.0)
    constants[count] = level
    for a in range(n_axes):
        gradients[count, a] = mixed[a]
    return count + 1, best


@inner_kernel
def best_share(level, mixed, constant, gradient, trial):
    """Return the share of a second cut in the mean of two whose peak is lowest, by trisection."""
    low, high = 0.0, 1.0
    for _ in range(20):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        for a in range(len(mixed)):
            trial[a] = (1 - left) * mixed[a] + left * gradient[a]
        at_left = peak((1 - left) * level + left * constant, trial)
        for a in range(len(mixed)):
            trial[a] = (1 - right) * mixed[a] + right * gradient[a]
        at_right = peak((1 - right) * level + right * constant, trial)
        if at_left < at_right:
            high = right
        else:
            low = left
    return (low + high) / 2


@kernel
def shrink_box(constants, gradients, count, target, low, high):
    """Move the ends −1 and 1 inwards past what cuts keep below the target; return whether anything is left."""
    n_axes = len(low)
    low[:] = -1.0
    high[:] = 1.0
    for _ in range(3):
        for c in range(count):
            total, size = constants[c], abs(constants[c]) + abs(target)
            for a in range(n_axes):
                total += max(gradients[c, a] * low[a], gradients[c, a] * high[a])
                size += abs(gradients[c, a])
            level = target - 64 * UNIT * size
            if total <= level:
                return False
            for a in range(n_axes):
                steep = gradients[c, a]
                if abs(steep) <= 1e-9 * size:
                    continue
                rest = total - max(steep * low[a], steep * high[a])
                end = (level - rest) / steep
                if steep > 0 and end > low[a]:
                    low[a] = min(end, high[a])
                elif steep < 0 and end < high[a]:
                    high[a] = max(end, low[a])
                total = rest + max(steep * low[a], steep * high[a])
    return True


@kernel
def weigh_axes(steps, n_lists, impact):
    """Write how much each axis moves all cuts together."""
    impact[:] = 0.0
    for s in range(n_lists):
        start, stop = steps.starts[s], steps.starts[s + 1]
        for q in range(start + 1, stop):
            weight = 0.0
            for i in range(start, q):
                step = steps.values[i] - steps.values[i + 1]
                room = steps.depths[q] - steps.raises[i]
                if step > 0.0 and room > LEAST_SHARE * (abs(steps.lines[q, 0]) + steps.raises[i]):
                    weight += step / room
            for a in range(len(impact)):
                impact[a] += weight * abs(steps.lines[q, a + 1])


@kernel
def cut_boxes(table, found, which, lines, centres, radii, limits, steps, out):
    """Write what cuts make of some boxes of a bundle, each under its line.

    `limits` are the rows of a list that takes part, how many cuts, and how many rounds of moments where these do not
    suffice. Steps have room for the box with the most rows.
    """
    heights, stats, slack = table
    slopes, bases, levels = lines
    most_rows, rounds, moment_rounds = limits
    n_axes = centres.shape[1]
    constants, gradients = np.empty(rounds + 1), np.empty((rounds + 1, n_axes))
    scratch = scratch_of(len(steps.values), n_axes + 1)
    for w in range(len(which)):
        b = which[w]
        worst, n_lists = order_steps(heights, stats, slack, found, b, slopes[w], centres[b], radii[b], most_rows, steps)
        out.state[w] = NO_CUT
        if n_lists == 0:
            continue
        fixed = bases[w] + worst
        count, peak = find_cuts(steps, n_lists, rounds, levels[w] - fixed, constants, gradients)
        if peak > levels[w] - fixed and moment_rounds[0] > 0:
            extends = np.flatnonzero(radii[b] > 0.0)
            if len(extends) + 1 != len(scratch.moments):
                scratch = scratch_of(len(steps.values), len(extends) + 1)
            least = levels[w] - fixed
            peak = min(peak, bound_by_moments(steps, n_lists, extends, moment_rounds, least, out.moments[w], scratch))
        out.fixed[w], out.peak[w] = fixed, peak
        out.state[w] = BELOW
        if peak <= levels[w] - fixed:
            continue
        room = 4 * UNIT * (abs(fixed) + abs(levels[w]))
        some_left = shrink_box(constants, gradients, count, levels[w] - fixed - room, out.left[w], out.right[w])
        out.state[w] = LEFT if some_left else EMPTY
        weigh_axes(steps, n_lists, out.impact[w])
