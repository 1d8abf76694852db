# mypy: ignore-errors
"""Kernels of a bounded dual simplex [lemke1954] for linear programs in few unknowns and many rows.

Maximise c·x subject to a_i·x ≤ b_i and |x_k| ≤ box_k. Symbols: d unknowns, m rows of length 1 (made so by
the caller). A *basis* is d constraints whose rows are independent, so that x solves them as equations;
`inverse` (d, d) is the inverse of the matrix with these rows, and c = Σ y_r a_r over the basis with y ≥ 0,
which is what makes x an upper bound. Each pivot takes the most violated constraint in and lets one go so
that y stays ≥ 0; when nothing is violated x is the optimum and y are its multipliers.

The first basis is the corner of the box towards c, so no phase one is needed. Constraint i ≥ 0 is row i,
constraint −1 − 2k is x_k ≤ box_k and −2 − 2k is −x_k ≤ box_k.

Rows are laid in blocks (n_blocks, d, LANES), rows beyond the last have the limit +inf: one block is one
vectorised step. Rows that entered a basis before are kept in a small `hot` store, and looked at first:
objectives over the same rows meet the same few constraints, so most pivots cost no pass over all rows.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

LANES = 64
HOT_BLOCKS = 4
OPTIMAL, INFEASIBLE, GAVE_UP, STOPPED = 0, 1, 2, 3
FLOOR = 1e-13  # a violation below this share of the box is none …
SLACK = 1e-10  # … nor one below this share of the largest |x_k|
SMALL_PIVOT = 1e-9  # relative to the largest coefficient of the entering row
DRIFT = 1e-12  # the inverse is made anew when what it should solve is off by more
REFRESH = 40  # … and after so many pivots in any case


class Problem(NamedTuple):
    """Rows in blocks (n_blocks, d, LANES), their limits (n_blocks, LANES), and the box (d,)."""

    blocks: np.ndarray
    limits: np.ndarray
    box: np.ndarray


class State(NamedTuple):
    """A basis: its constraints (d,), the inverse of their rows, their limits, the multipliers y, the point x."""

    basis: np.ndarray
    inverse: np.ndarray
    rhs: np.ndarray
    y: np.ndarray
    x: np.ndarray


class Hot(NamedTuple):
    """Rows that entered before, in blocks as the others; `rows` says which they are, `counter` (1,) how many came."""

    blocks: np.ndarray
    limits: np.ndarray
    rows: np.ndarray
    counter: np.ndarray


class Scratch(NamedTuple):
    """What a pivot needs: a row and its coefficients alpha (d,), three arrays of a block's width, a matrix (d, d)."""

    row: np.ndarray
    alpha: np.ndarray
    work: np.ndarray
    top: np.ndarray
    where: np.ndarray
    matrix: np.ndarray


class Answers(NamedTuple):
    """What is written for n objectives: points (n, d), status (n,), `active` and `multipliers` (n, d + 1), pivots (n,).

    `active` are the constraints that decide, and `multipliers` how much each counts: y at an optimum, Farkas' if
    infeasible; then the last is the row that shuts out.
    """

    points: np.ndarray
    status: np.ndarray
    active: np.ndarray
    multipliers: np.ndarray
    pivots: np.ndarray


@inner_kernel
def product(a, b):
    """Return a·b."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@inner_kernel
def worst_row(blocks, limits, n_blocks, x, scratch):
    """Return (violation, block, lane) of the row that x violates most; ties in a lane go to the first."""
    work, top, where = scratch.work, scratch.top, scratch.where
    d = len(x)
    for lane in range(LANES):
        top[lane] = -np.inf
        where[lane] = 0
    for block in range(n_blocks):
        for lane in range(LANES):
            work[lane] = -limits[block, lane]
        for k in range(d):
            v = x[k]
            for lane in range(LANES):
                work[lane] += v * blocks[block, k, lane]
        for lane in range(LANES):
            more = work[lane] > top[lane]
            top[lane] = work[lane] if more else top[lane]
            where[lane] = block if more else where[lane]
    best = 0
    for lane in range(1, LANES):
        if top[lane] > top[best] or (top[lane] == top[best] and where[lane] < where[best]):
            best = lane
    return top[best], where[best], best


@inner_kernel
def fetch(problem, constraint, row):
    """Write the row of a constraint; return its limit."""
    if constraint >= 0:
        block, lane = constraint // LANES, constraint % LANES
        for k in range(len(row)):
            row[k] = problem.blocks[block, k, lane]
        return problem.limits[block, lane]
    for k in range(len(row)):
        row[k] = 0.0
    k = (-1 - constraint) // 2
    row[k] = 1.0 if (-1 - constraint) % 2 == 0 else -1.0
    return problem.box[k]


@inner_kernel
def keep_hot(problem, block, lane, hot):
    """Copy a row to the hot store, in the place of the oldest if it is full."""
    place = hot.counter[0] % (HOT_BLOCKS * LANES)
    hot.counter[0] += 1
    for k in range(problem.blocks.shape[1]):
        hot.blocks[place // LANES, k, place % LANES] = problem.blocks[block, k, lane]
    hot.limits[place // LANES, place % LANES] = problem.limits[block, lane]
    hot.rows[place] = block * LANES + lane


@kernel
def refactor(problem, c, state, scratch):
    """Invert the basis anew (Gauss–Jordan, partial pivots), and y with it; return whether it went well."""
    inverse, y, matrix, row = state.inverse, state.y, scratch.matrix, scratch.row
    d = len(c)
    for r in range(d):
        state.rhs[r] = fetch(problem, state.basis[r], row)
        for k in range(d):
            matrix[r, k] = row[k]
            inverse[r, k] = 1.0 if r == k else 0.0
    for k in range(d):
        pivot = k
        for r in range(k + 1, d):
            if abs(matrix[r, k]) > abs(matrix[pivot, k]):
                pivot = r
        if abs(matrix[pivot, k]) < 1e-13:
            return False
        if pivot != k:
            for j in range(d):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
                inverse[k, j], inverse[pivot, j] = inverse[pivot, j], inverse[k, j]
        scale = 1.0 / matrix[k, k]
        for j in range(d):
            matrix[k, j] *= scale
            inverse[k, j] *= scale
        for r in range(d):
            share = matrix[r, k]
            if r != k and share != 0.0:
                for j in range(d):
                    matrix[r, j] -= share * matrix[k, j]
                    inverse[r, j] -= share * inverse[k, j]
    well = True
    for r in range(d):
        y[r] = 0.0
        for k in range(d):
            y[r] += c[k] * inverse[k, r]
        if y[r] < 0.0:
            well &= y[r] > -1e-9
            y[r] = 0.0
    return well


@kernel
def drift(problem, c, state, scratch):
    """Return how far the basis is from being solved by x, and c from being the sum of y_r a_r."""
    x, y, row, rest = state.x, state.y, scratch.row, scratch.alpha
    worst = 0.0
    d = len(c)
    for k in range(d):
        rest[k] = c[k]
    for r in range(d):
        total = -fetch(problem, state.basis[r], row)
        for k in range(d):
            total += row[k] * x[k]
            rest[k] -= y[r] * row[k]
        worst = max(worst, abs(total))
    for k in range(d):
        worst = max(worst, abs(rest[k]))
    return worst


@inner_kernel
def leaving(alpha, y, basis, careful):
    """Return which basis row must go so that y stays ≥ 0, and the step; −1 if none bounds the step.

    If steps are equal, the largest coefficient wins (stable), or if careful the lowest constraint ([bland1977]).
    """
    largest = 0.0
    for r in range(len(alpha)):
        largest = max(largest, abs(alpha[r]))
    out, step = -1, np.inf
    for r in range(len(alpha)):
        if alpha[r] > SMALL_PIVOT * largest:
            t = y[r] / alpha[r]
            if out < 0 or t < step:
                out, step = r, t
            elif t == step and (basis[r] < basis[out] if careful else alpha[r] > alpha[out]):
                out = r
    return out, step


@inner_kernel
def pivot_in(inverse, y, alpha, out, step):
    """Exchange basis row `out` for the row whose coefficients in the basis are alpha."""
    d = len(y)
    scale = 1.0 / alpha[out]
    for k in range(d):
        share = inverse[k, out] * scale
        for r in range(d):
            inverse[k, r] -= share * alpha[r]
        inverse[k, out] = share
    for r in range(d):
        y[r] = max(y[r] - step * alpha[r], 0.0)
    y[out] = step


@kernel
def start_at_corner(box, c, state):
    """Make the corner of the box towards c the basis."""
    inverse = state.inverse
    for k in range(len(c)):
        sign = 1.0 if c[k] >= 0.0 else -1.0
        for r in range(len(c)):
            inverse[k, r] = 0.0
        inverse[k, k] = sign
        state.rhs[k] = box[k]
        state.y[k] = abs(c[k])
        state.basis[k] = -1 - 2 * k if sign > 0.0 else -2 - 2 * k


@kernel
def really_infeasible(alpha, rhs, box, violation):
    """Return whether neglected small coefficients could not make good the violation.

    The row is Σ α_r a_r; with α_r ≤ 0 its least value under a_r·x ≤ rhs_r is attained at the basis. A
    neglected α_r > 0 can lower it by α_r times what a_r·x can be below rhs_r within the box.
    """
    reach = 0.0
    for k in range(len(box)):
        reach += box[k]
    room = 0.0
    for r in range(len(alpha)):
        if alpha[r] > 0.0:
            room += alpha[r] * (reach + abs(rhs[r]))
    return violation > room


@inner_kernel
def choose(problem, n_blocks, hot, x, tolerance, scratch):
    """Return (constraint, violation): the worst of the box and the hot rows, or of all if none of them is violated."""
    entering, violation = -1, -np.inf
    for k in range(len(x)):
        if abs(x[k]) - problem.box[k] > violation:
            violation = abs(x[k]) - problem.box[k]
            entering = -1 - 2 * k if x[k] > 0.0 else -2 - 2 * k
    if hot.counter[0] > 0 and n_blocks > HOT_BLOCKS:
        n_hot = min((hot.counter[0] + LANES - 1) // LANES, HOT_BLOCKS)
        v, block, lane = worst_row(hot.blocks, hot.limits, n_hot, x, scratch)
        if v > violation:
            entering, violation = hot.rows[block * LANES + lane], v
    if violation <= tolerance:
        v, block, lane = worst_row(problem.blocks, problem.limits, n_blocks, x, scratch)
        if v > tolerance:
            entering, violation = block * LANES + lane, v
            keep_hot(problem, block, lane, hot)
    return entering, violation


@kernel
def choose_lowest(problem, n_blocks, x, tolerance):
    """Return (constraint, violation) of the lowest violated constraint, by Bland's rule; violation −inf if none is."""
    for k in range(len(x) - 1, -1, -1):
        if abs(x[k]) - problem.box[k] > tolerance:
            return (-1 - 2 * k if x[k] > 0.0 else -2 - 2 * k), abs(x[k]) - problem.box[k]
    for block in range(n_blocks):
        for lane in range(LANES):
            total = -problem.limits[block, lane]
            for k in range(len(x)):
                total += x[k] * problem.blocks[block, k, lane]
            if total > tolerance:
                return block * LANES + lane, total
    return -1, -np.inf


@kernel
def simplex(problem, n_blocks, c, state, hot, scratch, enough, pivots):
    """Pivot from the dual feasible basis in `state` to the optimum; return how that ended.

    OPTIMAL; STOPPED where the bound c·x has sunk to `enough`; INFEASIBLE; GAVE_UP where rounding forbids a claim.

    On INFEASIBLE, alpha are the coefficients in the basis of the row that shuts everything out, none
    positive, and pivots[1] is that constraint: a certificate by Farkas.
    """
    inverse, rhs, x = state.inverse, state.rhs, state.x
    row, alpha = scratch.row, scratch.alpha
    d = len(c)
    largest = 0.0
    for k in range(d):
        largest = max(largest, problem.box[k])
    floor = FLOOR * largest
    since, stalled = 0, 0
    for turn in range(50 * d + 200):
        pivots[0] = turn
        size = 0.0
        for k in range(d):
            total = 0.0
            for r in range(d):
                total += inverse[k, r] * rhs[r]
            x[k] = total
            size = max(size, abs(total))
        tolerance = floor + SLACK * size
        if since > 0 and product(c, x) <= enough:
            return STOPPED
        careful = stalled > 2 * d + 20
        if careful:
            entering, violation = choose_lowest(problem, n_blocks, x, tolerance)
        else:
            entering, violation = choose(problem, n_blocks, hot, x, tolerance, scratch)
        if violation <= tolerance:
            if since == 0 or drift(problem, c, state, scratch) <= DRIFT:
                return OPTIMAL
        if violation <= tolerance or since > REFRESH:
            if not refactor(problem, c, state, scratch):
                return GAVE_UP
            since = 0
            continue
        limit = fetch(problem, entering, row)
        for r in range(d):
            total = 0.0
            for k in range(d):
                total += row[k] * inverse[k, r]
            alpha[r] = total
        out, step = leaving(alpha, state.y, state.basis, careful)
        if out < 0:
            pivots[1] = entering
            return INFEASIBLE if really_infeasible(alpha, rhs, problem.box, violation) else GAVE_UP
        stalled = 0 if step > 1e-15 else stalled + 1
        pivot_in(inverse, state.y, alpha, out, step)
        state.basis[out], rhs[out] = entering, limit
        since += 1
    return GAVE_UP


@kernel
def write_answer(q, state, scratch, pivots, answers):
    """Write the point, the constraints that decide and their multipliers; the status is there already."""
    d = len(state.y)
    infeasible = answers.status[q] == INFEASIBLE
    for r in range(d):
        answers.points[q, r] = state.x[r]
        answers.active[q, r] = state.basis[r]
        answers.multipliers[q, r] = max(-scratch.alpha[r], 0.0) if infeasible else state.y[r]
    answers.active[q, d] = pivots[1] if infeasible else state.basis[0]
    answers.multipliers[q, d] = 1.0 if infeasible else 0.0
    answers.pivots[q] = pivots[0]


@kernel
def maximize_many(problem, objectives, state, cold, hot, scratch, answers):
    """Solve for every objective, (n, d); rows met before are looked at first.

    Each starts from the box's corner; the first from the basis in `state`, of some of the rows, unless `cold`.
    """
    pivots = np.zeros(2, np.int64)
    for q in range(len(objectives)):
        c = objectives[q]
        if cold or q > 0:
            start_at_corner(problem.box, c, state)
        answers.status[q] = simplex(problem, len(problem.blocks), c, state, hot, scratch, -np.inf, pivots)
        write_answer(q, state, scratch, pivots, answers)
