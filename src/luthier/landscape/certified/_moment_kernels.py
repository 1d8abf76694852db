# mypy: ignore-errors
"""Kernels that couple lists through second moments of the weights: one quadratic form that no joint choice exceeds.

Symbols are those of `_cut_kernels`; l = c·u is a line over the box without its constant, |l| ≤ S = Σ|c_a|, and a row
wins only where l ≥ t. The step [l ≥ t] lies under a quadratic in l: 1, or ((l − z)/(t − z))² for a z < t, or
1 − α(l − t)(l − S) with α = 1/((t + S)·2S). Summed over all lists they are a form (1, u)ᵀC(1, u). Where diag(D) − C,
without C_00, is positive semidefinite and no D_k is negative, no u of the box has more than C_00 + ΣD_k. Moments Y of
(1, u) that are tried decide which quadratics are best; that each lies above its step, and the sum below its peak, does
not hang on them. `docs/geometry/certified.md` has the rounding.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.geometry.lp._form_kernels import RANK, Form, copy_form, empty_form, prove_peak
from luthier.landscape.certified._box_kernels import UNIT

MOST_PAIRS = 5  # rows of a list up to which each of them may be compared with each
LEAST_STEP = 1e-4  # of S, between z or −S and t: quadratics that are steeper are all rounding
LEAST, MOST = 1e-100, 1e100  # swings in between have squares
TRIALS = 4  # shares of a new form in the mean with those before


class Scratch(NamedTuple):
    """Where forms are made.

    lines (R, n): as in `Steps`, of axes along which the box extends; found, best, trial, kept: forms; factor (n, n);
    pairs (5, MOST_PAIRS, MOST_PAIRS); chosen (2·MOST_PAIRS, 7); moments (n, n); rows (5, R).
    """

    lines: np.ndarray
    found: Form
    best: Form
    trial: Form
    kept: Form
    factor: np.ndarray
    pairs: np.ndarray
    chosen: np.ndarray
    moments: np.ndarray
    rows: np.ndarray


@kernel
def scratch_of(n_rows, n):
    """Return where forms of n coordinates over so many rows are made."""
    return Scratch(
        np.empty((n_rows, n)), empty_form(n), empty_form(n), empty_form(n), empty_form(n), np.zeros((n, n)),
        np.empty((5, MOST_PAIRS, MOST_PAIRS)), np.empty((2 * MOST_PAIRS, 7)), np.zeros((n, n)), np.empty((5, n_rows)),
    )  # fmt: skip


@inner_kernel
def lowest_quadratic(mean, square, t, swing):
    """Return the least mean of a quadratic above [l ≥ t] on [−S, S], given those of l and l², and its coefficients."""
    best, a0, a1, a2 = 1.0, 1.0, 0.0, 0.0
    t = min(t, swing)
    if LEAST < swing < MOST and t + swing > LEAST_STEP * swing:
        alpha = 1.0 / ((t + swing) * (2.0 * swing))
        value = 1.0 + alpha * ((swing + t) * mean - square - t * swing)
        if value < best:
            best, a0, a1, a2 = value, 1.0 - alpha * t * swing, alpha * (swing + t), -alpha
        z = max(mean - max(square - mean * mean, 0.0) / (t - mean), -swing) if mean < t else t
        if t - z > LEAST_STEP * swing:
            alpha = 1.0 / ((t - z) * (t - z))
            value = (square - 2.0 * z * mean + z * z) * alpha
            if value < best:
                best, a0, a1, a2 = value, z * z * alpha, -2.0 * z * alpha, alpha
    return best, a0, a1, a2


@inner_kernel
def line_moments(lines, row, other, moments):
    """Return mean, mean square and swing of a row's line less that of another; the line of a list's first row is 0."""
    n = len(moments)
    mean, square, swing = 0.0, 0.0, 0.0
    for a in range(1, n):
        c = lines[row, a] - lines[other, a]
        mean += c * moments[0, a]
        swing += abs(c)
        inner = 0.5 * c * moments[a, a]
        for b in range(1, a):
            inner += (lines[row, b] - lines[other, b]) * moments[a, b]
        square += 2.0 * c * inner
    return mean, square, swing * (1.0 + 2 * (n + 2) * UNIT)


@inner_kernel
def add_line(form, lines, row, other, w1, w2):
    """Add w1·l + w2·l² to a form, of which the lower half is kept."""
    for a in range(1, len(form.d)):
        c = lines[row, a] - lines[other, a]
        form.c[a, 0] += 0.5 * w1 * c
        w2c = w2 * c
        for b in range(1, a + 1):
            form.c[a, b] += w2c * (lines[row, b] - lines[other, b])


@inner_kernel
def weigh(form, weight, a0, a1, a2, swing):
    """Add the constant of a quadratic, with its weight, to a form, and what rounding may take off it."""
    size = weight * (abs(a0) + abs(a1) * swing + abs(a2) * swing * swing)
    form.c[0, 0] += weight * a0 + 32 * UNIT * size
    form.extent[0] += size


@kernel
def add_long_list(steps, start, stop, scratch):
    """Add the quadratics of a list whose rows are all compared with its first one."""
    lines, form, moments = scratch.lines, scratch.found, scratch.moments
    means, squares, swings = scratch.rows[0], scratch.rows[1], scratch.rows[2]
    first, second = scratch.rows[3], scratch.rows[4]
    for q in range(start + 1, stop):
        means[q], squares[q], swings[q] = line_moments(lines, q, start, moments)
        first[q] = second[q] = 0.0
    for i in range(start, stop - 1):
        step = steps.values[i] - steps.values[i + 1]
        if step <= 0.0:
            continue
        best, b0, b1, b2, rival = 1.0, 1.0, 0.0, 0.0, -1
        for q in range(i + 1, stop):
            t = -(steps.lines[q, 0] + steps.raises[i])
            value, a0, a1, a2 = lowest_quadratic(means[q], squares[q], t, swings[q])
            if value < best:
                best, b0, b1, b2, rival = value, a0, a1, a2, q
        weigh(form, step, b0, b1, b2, swings[rival] if rival >= 0 else 0.0)
        if rival >= 0:
            first[rival] += step * b1
            second[rival] += step * b2
    for q in range(start + 1, stop):
        if first[q] != 0.0 or second[q] != 0.0:
            add_line(form, lines, q, start, first[q], second[q])


@inner_kernel
def measure_pairs(start, n, scratch):
    """Write mean, mean square and swing of row j less row q, and weights of 0, for all pairs of a list."""
    mean, square, swing = scratch.pairs[0], scratch.pairs[1], scratch.pairs[2]
    for j in range(n):
        for q in range(j + 1, n):
            m, s, extent = line_moments(scratch.lines, start + q, start + j, scratch.moments)
            mean[j, q], square[j, q], swing[j, q] = m, s, extent
            mean[q, j], square[q, j], swing[q, j] = -m, s, extent
    scratch.pairs[3:5] = 0.0


@inner_kernel
def threshold(steps, start, j, q, raised):
    """Return t for row j less row q: j, raised by so much, is not below q only where l ≥ t."""
    # each of two lines is wrong by a slack, two scores of a re-rank by another, and so is what is raised
    room = steps.lines[start, 0]
    return -(steps.lines[start + q, 0] - steps.lines[start + j, 0] + 6.0 * room + raised)


@inner_kernel
def choose(option, value, a0, a1, a2, j, q, kind):
    """Put what is best into an option."""
    option[0], option[1], option[2], option[3], option[4], option[5], option[6] = value, a0, a1, a2, j, q, kind


@kernel
def choose_quadratics(steps, start, n, scratch):
    """Write for each prefix of a short list, and for each of its rows, the quadratic with the least mean.

    Options are those of prefixes, then those of rows: value, coefficients, j, q, and 1 for a pair, 2 for the prefix one
    shorter and the row, 0 for none.
    """
    mean, square, swing, options = scratch.pairs[0], scratch.pairs[1], scratch.pairs[2], scratch.chosen
    for i in range(n - 1):
        choose(options[MOST_PAIRS + i], 1.0, 1.0, 0.0, 0.0, i, -1, 0.0)
        for q in range(n):
            if q != i:
                t = threshold(steps, start, i, q, 0.0)
                value, a0, a1, a2 = lowest_quadratic(mean[i, q], square[i, q], t, swing[i, q])
                if value < options[MOST_PAIRS + i, 0]:
                    choose(options[MOST_PAIRS + i], value, a0, a1, a2, i, q, 1.0)
        choose(options[i], 1.0, 1.0, 0.0, 0.0, -1, -1, 0.0)
        for j in range(i + 1):
            raised = 0.0
            for p in range(i + 1):
                if p != j:
                    raised = max(raised, swing[p, j] - threshold(steps, start, p, j, 0.0))
            for q in range(i + 1, n):
                t = threshold(steps, start, j, q, raised)
                value, a0, a1, a2 = lowest_quadratic(mean[j, q], square[j, q], t, swing[j, q])
                if value < options[i, 0]:
                    choose(options[i], value, a0, a1, a2, j, q, 1.0)
        if i > 0 and options[i - 1, 0] + options[MOST_PAIRS + i, 0] < options[i, 0]:
            options[i, 0], options[i, 6] = options[i - 1, 0] + options[MOST_PAIRS + i, 0], 2.0


@inner_kernel
def take_option(form, scratch, option, weight):
    """Add the constant of an option to a form, and note how much of its lines comes with it."""
    j, q = int(option[4]), int(option[5])
    pair = option[6] == 1.0
    weigh(form, weight, option[1], option[2], option[3], scratch.pairs[2, j, q] if pair else 0.0)
    if pair:
        scratch.pairs[3, j, q] += weight * option[2]
        scratch.pairs[4, j, q] += weight * option[3]


@kernel
def add_short_list(steps, start, stop, scratch):
    """Add the quadratics of a list of a few rows, each compared with each."""
    n, form, options = stop - start, scratch.found, scratch.chosen
    measure_pairs(start, n, scratch)
    choose_quadratics(steps, start, n, scratch)
    passed = 0.0
    for back in range(n - 1):
        i = n - 2 - back
        weight = max(steps.values[start + i] - steps.values[start + i + 1], 0.0) + passed
        passed = 0.0
        if weight > 0.0:
            if options[i, 6] == 2.0:
                passed = weight
                take_option(form, scratch, options[MOST_PAIRS + i], weight)
            else:
                take_option(form, scratch, options[i], weight)
    first, second = scratch.pairs[3], scratch.pairs[4]
    for j in range(n):
        for q in range(j + 1, n):
            w1, w2 = first[j, q] - first[q, j], second[j, q] + second[q, j]
            if w1 != 0.0 or w2 != 0.0:
                add_line(form, scratch.lines, start + q, start + j, w1, w2)


@kernel
def find_form(steps, n_lists, scratch):
    """Write the form over all lists that is least in the mean at the moments."""
    form = scratch.found
    form.c[:] = 0.0
    form.extent[0] = 0.0
    n = len(form.d)
    for s in range(n_lists):
        start, stop = steps.starts[s], steps.starts[s + 1]
        if 2 < stop - start <= MOST_PAIRS:
            add_short_list(steps, start, stop, scratch)
        else:
            add_long_list(steps, start, stop, scratch)
    # no entry is a sum of more terms than there are pairs; C_00 takes what all entries may be wrong by
    terms = 8.0 * (steps.starts[n_lists] + 2) * MOST_PAIRS + 64.0
    form.c[0, 0] += terms * UNIT * form.extent[0] + 1.0 / MOST
    form.extent[0] *= 1.0 + terms * UNIT
    for a in range(n):
        for b in range(a):
            form.c[b, a] = form.c[a, b]


@kernel
def mix(scratch, best):
    """Put into `best` the mean of its form and that found whose peak is lowest, if that is lower; return its peak."""
    found, old, trial, kept = scratch.found, scratch.best, scratch.trial, scratch.kept
    share, lowest = 0.6, best
    extent = old.extent[0] + found.extent[0]
    for _ in range(TRIALS):
        trial.c[:] = (1.0 - share) * old.c + share * found.c
        trial.c[0, 0] += 16 * UNIT * extent  # shares and products are rounded
        trial.v[:], trial.extent[0] = old.v, max(old.extent[0], found.extent[0]) * (1.0 + 32 * UNIT)
        peak = prove_peak(trial, scratch.factor)
        if peak >= lowest:
            if lowest < best:
                break
        else:
            lowest = peak
            copy_form(trial, kept)
        share *= 0.5
    if lowest < best:
        copy_form(kept, old)
    else:
        old.v[:] = trial.v
    return lowest


@kernel
def bound_by_moments(steps, n_lists, extends, rounds, target, start, scratch):
    """Return what no joint choice exceeds; `start` (P+1, P+1) are moments to begin with, and those reached.

    `extends` are the axes along which the box extends. It stops where the peak is not above the target, or will not be
    below it soon.
    """
    n = len(extends) + 1
    for q in range(steps.starts[n_lists]):
        for a in range(1, n):
            scratch.lines[q, a] = steps.lines[q, extends[a - 1] + 1]
    for a in range(n):
        for b in range(n):
            scratch.moments[a, b] = start[extends[a - 1] + 1 if a else 0, extends[b - 1] + 1 if b else 0]
        size = 0.0
        for r in range(RANK):
            scratch.best.v[a, r] = ((7 * a + 3 * r * r + 5 * a * r) % 11 - 5) + 0.5
            size += scratch.best.v[a, r] ** 2
        scratch.best.v[a] /= np.sqrt(size)
    most, best = 0.0, np.inf
    for s in range(n_lists):
        most += steps.values[steps.starts[s]] - steps.values[steps.starts[s + 1] - 1]
    n_rounds, hope, pace = rounds
    for turn in range(n_rounds):
        find_form(steps, n_lists, scratch)
        if turn == 0:
            scratch.best.c[:], scratch.best.extent[0] = scratch.found.c, scratch.found.extent[0]
            best = prove_peak(scratch.best, scratch.factor)
        else:
            best = mix(scratch, best)
        if best <= target or best - target > hope * (most - best):
            break
        step = 1.0 / (turn + pace)
        for a in range(n):
            for b in range(n):
                y = 0.0
                for r in range(RANK):
                    y += scratch.best.v[a, r] * scratch.best.v[b, r]
                scratch.moments[a, b] += step * (y - scratch.moments[a, b])
    for a in range(n):
        for b in range(n):
            start[extends[a - 1] + 1 if a else 0, extends[b - 1] + 1 if b else 0] = scratch.moments[a, b]
    return best
