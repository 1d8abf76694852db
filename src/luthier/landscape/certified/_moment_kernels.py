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

from luthier.core.jit import fast_kernel, inner_kernel, kernel, lean_kernel
from luthier.geometry.lp._form_kernels import RANK, Form, copy_entries, copy_form, copy_vectors, empty_form, prove_peak
from luthier.landscape.certified._box_kernels import UNIT

MOST_PAIRS = 5  # rows of a list up to which each of them may be compared with each
LEAST_STEP = 1e-4  # of S, between z or −S and t: quadratics that are steeper are all rounding
LEAST, MOST = 1e-100, 1e100  # swings in between have squares
TRIALS = 4  # shares of a new form in the mean with those before
NONE, CHORD, SQUARE = 0, 1, 2  # the quadratic 1; through −S, t and S; with its least value at z


class Scratch(NamedTuple):
    """Where forms are made of L lines: those of a list's rows less its first, or of each of its rows less each other.

    coefs (n, L), of axes along which the box extends, the first row is spare; swings (L,), S; means, squares (L,), of
    l; first, second (L,), what l and l² have in the form; limits (T,), t of all pairs of short lists, as they are
    looked at; found, best, trial, kept: forms; factor (n, n); chosen (2·MOST_PAIRS, 4); moments (n, n); n_lines (1,).
    """

    coefs: np.ndarray
    swings: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    first: np.ndarray
    second: np.ndarray
    limits: np.ndarray
    found: Form
    best: Form
    trial: Form
    kept: Form
    factor: np.ndarray
    chosen: np.ndarray
    moments: np.ndarray
    n_lines: np.ndarray


@kernel
def scratch_of(n_rows, n):
    """Return where forms of n coordinates over so many rows are made."""
    n_lines = (MOST_PAIRS - 1) * n_rows // 2 + 1
    return Scratch(
        np.zeros((n, n_lines)), np.empty(n_lines), np.empty(n_lines), np.empty(n_lines), np.empty(n_lines),
        np.empty(n_lines), np.empty(2 * MOST_PAIRS * n_rows), empty_form(n), empty_form(n), empty_form(n),
        empty_form(n), np.zeros((n, n)), np.empty((2 * MOST_PAIRS, 4)), np.zeros((n, n)), np.zeros(1, np.int64),
    )  # fmt: skip


@inner_kernel
def pair_line(j, q, n):
    """Return where the line of rows j < q stands among those of a list of n."""
    return j * n - j * (j + 1) // 2 + q - j - 1


@inner_kernel
def put_line(steps, extends, row, other, scratch, line):
    """Write the line of a row less another, and what it reaches; that of a list's first row is 0."""
    swing = 0.0
    for a in range(len(extends)):
        c = steps.lines[row, extends[a] + 1] - steps.lines[other, extends[a] + 1]
        scratch.coefs[a + 1, line] = c
        swing += abs(c)
    scratch.swings[line] = swing * (1.0 + 2 * (len(extends) + 3) * UNIT)


@inner_kernel
def usable(t, swing):
    """Return t, at most S, where quadratics that reach 1 there are not too steep, else no number."""
    t = min(t, swing)
    return t if LEAST < swing < MOST and t + swing > LEAST_STEP * swing else np.nan


@inner_kernel
def threshold(steps, start, j, q):
    """Return t for row j less row q: j is not below q only where l ≥ t."""
    # each of two lines is wrong by a slack, two scores of a re-rank by another, and so is what is raised
    return -(steps.lines[start + q, 0] - steps.lines[start + j, 0] + 6.0 * steps.lines[start, 0])


@lean_kernel
def put_short_list(steps, start, n, extends, scratch, base, at):
    """Write the lines of all pairs of a list, from `base` on, and their thresholds, from `at`; return where these end.

    For each row but the last these are: of the row less each other, if it is not the first; of each row up to it,
    raised so that it stands for all of them, less each later one.
    """
    for j in range(n):
        for q in range(j + 1, n):
            put_line(steps, extends, start + q, start + j, scratch, base + pair_line(j, q, n))
    for i in range(n - 1):
        if i > 0:
            for q in range(n):
                if q != i:
                    swing = scratch.swings[base + pair_line(min(i, q), max(i, q), n)]
                    scratch.limits[at] = usable(threshold(steps, start, i, q), swing)
                    at += 1
        for j in range(i + 1):
            raised = 0.0
            for p in range(i + 1):
                if p != j:
                    swing = scratch.swings[base + pair_line(min(p, j), max(p, j), n)]
                    raised = max(raised, swing - threshold(steps, start, p, j))
            for q in range(i + 1, n):
                t = threshold(steps, start, j, q) - raised
                scratch.limits[at] = usable(t, scratch.swings[base + pair_line(j, q, n)])
                at += 1
    return at


@lean_kernel
def put_lines(steps, n_lists, extends, scratch):
    """Write the lines of all lists."""
    line, at = 0, 0
    for s in range(n_lists):
        start, stop = steps.starts[s], steps.starts[s + 1]
        n = stop - start
        if 2 < n <= MOST_PAIRS:
            at = put_short_list(steps, start, n, extends, scratch, line, at)
            line += n * (n - 1) // 2
        else:
            for q in range(start + 1, stop):
                put_line(steps, extends, q, start, scratch, line)
                line += 1
    scratch.n_lines[0] = line


@lean_kernel
def measure_lines(scratch):
    """Write the mean and the mean square of each line by the moments, and that nothing of it is in the form."""
    coefs, moments, n_lines = scratch.coefs, scratch.moments, scratch.n_lines[0]
    means, squares, inner = scratch.means, scratch.squares, scratch.first
    for k in range(n_lines):
        means[k] = squares[k] = 0.0
    for a in range(1, len(moments)):
        own, mean = 0.5 * moments[a, a], moments[0, a]
        for k in range(n_lines):
            means[k] += mean * coefs[a, k]
            inner[k] = own * coefs[a, k]
        for b in range(1, a):
            y = moments[a, b]
            for k in range(n_lines):
                inner[k] += y * coefs[b, k]
        for k in range(n_lines):
            squares[k] += 2.0 * coefs[a, k] * inner[k]
    for k in range(n_lines):
        scratch.first[k] = scratch.second[k] = 0.0


@inner_kernel
def lower_mean(best, kind, mean, square, t, swing):
    """Return the least mean of a quadratic above [l ≥ t] on [−S, S] and its kind, if below `best`; else what was given.

    No comparison divides. Where t is no number, none holds.
    """
    height = (swing + t) * mean - square - t * swing
    scale = (t + swing) * (2.0 * swing)
    if height < (best - 1.0) * scale:
        best, kind = 1.0 + height / scale, CHORD
    ahead = t - mean
    if ahead > 0.0:
        variance = max(square - mean * mean, 0.0)
        whole = variance + ahead * ahead
        if variance < best * whole and whole > LEAST_STEP * swing * ahead:
            best, kind = variance / whole, SQUARE
    return best, kind


@inner_kernel
def take_quadratic(scratch, line, sign, t, kind, weight):
    """Add a quadratic in ±l with its weight: its constant to the form, what rounding may take off it, and its line."""
    a0, a1, a2, swing = 1.0, 0.0, 0.0, 0.0
    if kind == CHORD:
        swing = scratch.swings[line]
        alpha = 1.0 / ((t + swing) * (2.0 * swing))
        a0, a1, a2 = 1.0 - alpha * t * swing, alpha * (swing + t), -alpha
    elif kind == SQUARE:
        swing, mean = scratch.swings[line], sign * scratch.means[line]
        z = mean - max(scratch.squares[line] - mean * mean, 0.0) / (t - mean)
        if t - z > LEAST_STEP * swing:
            alpha = 1.0 / ((t - z) * (t - z))
            a0, a1, a2 = z * z * alpha, -2.0 * z * alpha, alpha
    size = weight * (abs(a0) + abs(a1) * swing + abs(a2) * swing * swing)
    scratch.found.c[0, 0] += weight * a0 + 32 * UNIT * size
    scratch.found.extent[0] += size
    if kind != NONE:
        scratch.first[line] += sign * (weight * a1)
        scratch.second[line] += weight * a2


@lean_kernel
def add_long_list(steps, start, stop, base, scratch):
    """Add the quadratics of a list whose rows are all compared with its first one."""
    means, squares, swings = scratch.means, scratch.squares, scratch.swings
    for i in range(start, stop - 1):
        step = steps.values[i] - steps.values[i + 1]
        if step <= 0.0:
            continue
        best, kind, rival, at = 1.0, NONE, base, 0.0
        for q in range(i + 1, stop):
            line = base + q - start - 1
            t = usable(-(steps.lines[q, 0] + steps.raises[i]), swings[line])
            value, found = lower_mean(best, NONE, means[line], squares[line], t, swings[line])
            if found != NONE:
                best, kind, rival, at = value, found, line, t
        take_quadratic(scratch, rival, 1.0, at, kind, step)


@inner_kernel
def try_pair(scratch, base, j, q, n, at, option):
    """Take the quadratic of row j less row q for an option, if it has a lower mean: value, ±(1 + line), t, kind."""
    line = base + pair_line(min(j, q), max(j, q), n)
    sign = 1.0 if j < q else -1.0
    t = scratch.limits[at]
    mean, square, swing = sign * scratch.means[line], scratch.squares[line], scratch.swings[line]
    value, kind = lower_mean(option[0], NONE, mean, square, t, swing)
    if kind != NONE:
        option[0], option[1], option[2], option[3] = value, sign * (1.0 + line), t, kind


@lean_kernel
def choose_quadratics(scratch, base, n, at):
    """Write for each prefix of a short list, and for each of its rows, the quadratic with the least mean.

    Options are those of prefixes, then those of rows; a prefix may also be the one before and a row, of kind −1.
    Returns where thresholds end.
    """
    options = scratch.chosen
    for i in range(n - 1):
        prefix, row = options[i], options[MOST_PAIRS + i]
        prefix[0] = row[0] = 1.0
        prefix[1] = row[1] = 1.0 + base
        prefix[2] = row[2] = prefix[3] = row[3] = 0.0
        if i > 0:
            for q in range(n):
                if q != i:
                    try_pair(scratch, base, i, q, n, at, row)
                    at += 1
        for j in range(i + 1):
            for q in range(i + 1, n):
                try_pair(scratch, base, j, q, n, at, prefix)
                at += 1
        if i > 0 and options[i - 1, 0] + row[0] < prefix[0]:
            prefix[0], prefix[3] = options[i - 1, 0] + row[0], -1.0
    return at


@inner_kernel
def take_option(scratch, option, weight):
    """Add the quadratic of an option to the form."""
    line = int(abs(option[1])) - 1
    take_quadratic(scratch, line, 1.0 if option[1] > 0.0 else -1.0, option[2], int(option[3]), weight)


@lean_kernel
def add_short_list(steps, start, stop, base, at, scratch):
    """Add the quadratics of a list of a few rows, each compared with each; return where thresholds end."""
    n, options = stop - start, scratch.chosen
    at = choose_quadratics(scratch, base, n, at)
    passed = 0.0
    for back in range(n - 1):
        i = n - 2 - back
        weight = max(steps.values[start + i] - steps.values[start + i + 1], 0.0) + passed
        passed = 0.0
        if weight > 0.0:
            if options[i, 3] < 0.0:
                passed = weight
                take_option(scratch, options[MOST_PAIRS + i], weight)
            else:
                take_option(scratch, options[i], weight)
    return at


@fast_kernel
def add_lines(coefs, first, second, part, c, n_lines):
    """Write into the lower half of a form what lines and their squares have in it, by sums in any order."""
    for a in range(1, len(c)):
        total = 0.0
        for k in range(n_lines):
            total += first[k] * coefs[a, k]
            part[k] = second[k] * coefs[a, k]
        c[a, 0] = 0.5 * total
        for b in range(1, a + 1):
            total = 0.0
            for k in range(n_lines):
                total += part[k] * coefs[b, k]
            c[a, b] = total


@lean_kernel
def find_form(steps, n_lists, scratch):
    """Write the form over all lists that is least in the mean at the moments."""
    form = scratch.found
    form.c[0, 0] = form.extent[0] = 0.0
    measure_lines(scratch)
    line, at = 0, 0
    for s in range(n_lists):
        start, stop = steps.starts[s], steps.starts[s + 1]
        n = stop - start
        if 2 < n <= MOST_PAIRS:
            at = add_short_list(steps, start, stop, line, at, scratch)
            line += n * (n - 1) // 2
        else:
            add_long_list(steps, start, stop, line, scratch)
            line += n - 1
    add_lines(scratch.coefs, scratch.first, scratch.second, scratch.means, form.c, scratch.n_lines[0])
    # no entry is a sum of more terms than there are pairs; C_00 takes what all entries may be wrong by
    terms = 8.0 * (steps.starts[n_lists] + 2) * MOST_PAIRS + 64.0
    form.c[0, 0] += terms * UNIT * form.extent[0] + 1.0 / MOST
    form.extent[0] *= 1.0 + terms * UNIT
    for a in range(len(form.d)):
        for b in range(a):
            form.c[b, a] = form.c[a, b]


@kernel
def mix(scratch, best):
    """Put into `best` the mean of its form and that found whose peak is lowest, if that is lower; return its peak."""
    found, old, trial, kept = scratch.found, scratch.best, scratch.trial, scratch.kept
    share, lowest = 0.6, best
    extent = old.extent[0] + found.extent[0]
    for _ in range(TRIALS):
        for a in range(len(old.d)):
            for b in range(len(old.d)):
                trial.c[a, b] = (1.0 - share) * old.c[a, b] + share * found.c[a, b]
        trial.c[0, 0] += 16 * UNIT * extent  # shares and products are rounded
        trial.extent[0] = max(old.extent[0], found.extent[0]) * (1.0 + 32 * UNIT)
        copy_vectors(old, trial)
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
        copy_vectors(trial, old)
    return lowest


@kernel
def bound_by_moments(steps, n_lists, extends, rounds, target, start, scratch):
    """Return what no joint choice exceeds; `start` (P+1, P+1) are moments to begin with, and those reached.

    `extends` are the axes along which the box extends. It stops where the peak is not above the target, or will not be
    below it soon.
    """
    n = len(extends) + 1
    put_lines(steps, n_lists, extends, scratch)
    for a in range(n):
        for b in range(n):
            scratch.moments[a, b] = start[extends[a - 1] + 1 if a else 0, extends[b - 1] + 1 if b else 0]
        size = 0.0
        for r in range(RANK):
            scratch.best.v[a, r] = ((7 * a + 3 * r * r + 5 * a * r) % 11 - 5) + 0.5
            size += scratch.best.v[a, r] ** 2
        for r in range(RANK):
            scratch.best.v[a, r] /= np.sqrt(size)
    most, best = 0.0, np.inf
    for s in range(n_lists):
        most += steps.values[steps.starts[s]] - steps.values[steps.starts[s + 1] - 1]
    n_rounds, hope, pace = rounds
    for turn in range(n_rounds):
        find_form(steps, n_lists, scratch)
        if turn == 0:
            copy_entries(scratch.found, scratch.best)
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
