# mypy: ignore-errors
"""Kernels that decide exactly how lines of a plane lie to each other: every decision about faces, edges and cells.

Symbols: z (R, 3) integers kept in float64, |z| < 2⁵¹: row k has the height z_k0 + x·z_k1 + y·z_k2. A *line* (i, j)
is the vector z_i − z_j, positive where i is the higher; lines of the window's border have the name
(−1 − b, 0), b = 0 … 3 for bottom, right, top, left, positive inside, and b + 4 for the same reversed. Seen along
its direction (q, −p) a line (c, p, q) has its positive side on the left; *upward* is a direction with dy > 0, or
dy = 0 and dx > 0.

All decisions are signs of two determinants: minor(f, g) = p_f q_g − q_f p_g, and det[e; f; g]; the line e at the
point where f and g meet has the sign det[e; f; g] · minor(f, g). A determinant that is 0 is decided as if every
row had been raised by ε_k, ε_0 ≫ ε_1 ≫ …, so ties go to the lower row, in all places in the same way
[edelsbrunner1990]. Floats decide first, with an error bound; exact sums of products where they cannot
[shewchuk1997].
"""

import numpy as np

from luthier.core._exact_kernels import sign_of_sum, two_product, two_sum
from luthier.core.jit import inner_kernel, kernel

UNIT = 2.0**-53
LARGEST = 2.0**51  # no difference of two rows has a larger component
DOUBT = 8.0 * UNIT  # the error of a determinant of exact entries is below this, times the sum of absolute products


@kernel
def add_minor(f, g, factor, terms, n):
    """Append factor·minor(f, g) as numbers whose exact sum it is; return how many there are now."""
    for high, low in (two_product(f[1], g[2]), two_product(-f[2], g[1])):
        terms[n], terms[n + 1] = two_product(high, factor)
        terms[n + 2], terms[n + 3] = two_product(low, factor)
        n += 4
    return n


@kernel
def line_of(z, border, i, j):
    """Return the vector of a line."""
    if i < 0:
        b = -1 - i
        return border[b, 0], border[b, 1], border[b, 2]
    return z[i, 0] - z[j, 0], z[i, 1] - z[j, 1], z[i, 2] - z[j, 2]


@kernel
def minor_sign(f, g):
    """Return the exact sign of minor(f, g)."""
    left, right = f[1] * g[2], f[2] * g[1]
    if abs(left - right) > DOUBT * (abs(left) + abs(right)):
        return 1 if left > right else -1
    terms = np.empty(8)
    return sign_of_sum(terms, add_minor(f, g, 1.0, terms, 0))


@kernel
def perturbed_sign(n_rows, lines, vectors):
    """Return the sign of a determinant that is 0, after every row is raised by its own small amount.

    The determinant is linear in the first column: row k has the coefficient Σ ± minor of the other two lines,
    over the lines that it is part of. The lowest row whose coefficient is not 0 decides; borders come last.
    """
    names, signs, owners = np.empty(6, np.int64), np.empty(6), np.empty(6, np.int64)
    n = 0
    for e in range(3):
        i, j = lines[e, 0], lines[e, 1]
        if i < 0:
            b = -1 - i
            names[n], signs[n], owners[n] = n_rows + b % 4, 1.0 if b < 4 else -1.0, e
            n += 1
        else:
            names[n], signs[n], owners[n] = i, 1.0, e
            names[n + 1], signs[n + 1], owners[n + 1] = j, -1.0, e
            n += 2
    terms = np.empty(48)
    last = np.int64(-1)
    while True:
        name = np.int64(n_rows + 8)
        for a in range(n):
            if last < names[a] < name:
                name = names[a]
        if name == n_rows + 8:
            return 0
        size = 0
        for a in range(n):
            if names[a] == name:
                f, g = vectors[(owners[a] + 1) % 3], vectors[(owners[a] + 2) % 3]
                size = add_minor(f, g, signs[a], terms, size)
        sign = sign_of_sum(terms, size)
        if sign != 0:
            return sign
        last = name


@kernel
def exact_side(z, border, e0, e1, f0, f1, g0, g1):
    """Return the sign of det[e; f; g], exactly, ties decided by perturbation."""
    vectors = np.empty((3, 3))
    vectors[0, 0], vectors[0, 1], vectors[0, 2] = line_of(z, border, e0, e1)
    vectors[1, 0], vectors[1, 1], vectors[1, 2] = line_of(z, border, f0, f1)
    vectors[2, 0], vectors[2, 1], vectors[2, 2] = line_of(z, border, g0, g1)
    terms = np.empty(24)
    n = 0
    for e in range(3):
        n = add_minor(vectors[(e + 1) % 3], vectors[(e + 2) % 3], vectors[e, 0], terms, n)
    sign = sign_of_sum(terms, n)
    if sign != 0:
        return sign
    lines = np.array([[e0, e1], [f0, f1], [g0, g1]])
    return perturbed_sign(len(z), lines, vectors)


@kernel
def side(z, border, e0, e1, f0, f1, g0, g1):
    """Return the sign of det[e; f; g]: by floats if they suffice."""
    ce, pe, qe = line_of(z, border, e0, e1)
    cf, pf, qf = line_of(z, border, f0, f1)
    cg, pg, qg = line_of(z, border, g0, g1)
    a, b = pf * qg, qf * pg
    det, size = ce * (a - b), abs(ce) * (abs(a) + abs(b))
    a, b = qf * cg, cf * qg
    det, size = det + pe * (a - b), size + abs(pe) * (abs(a) + abs(b))
    a, b = cf * pg, pf * cg
    det, size = det + qe * (a - b), size + abs(qe) * (abs(a) + abs(b))
    if abs(det) > DOUBT * size:
        return 1 if det > 0.0 else -1
    return exact_side(z, border, e0, e1, f0, f1, g0, g1)


@kernel
def difference_of_products(a, b, c, d):
    """Return a·b − c·d, rounded once if all are integers below 2⁵¹: lines that nearly coincide leave nothing else."""
    left, lost_left = two_product(a, b)
    right, lost_right = two_product(c, d)
    apart, lost = two_sum(left, -right)
    return apart + (lost + (lost_left - lost_right))


@kernel
def meet(f, g, out):
    """Write the point where two lines meet, (m, m·x, m·y) with m = minor(f, g), and sums of absolute products."""
    out[0] = difference_of_products(f[1], g[2], f[2], g[1])
    out[1] = difference_of_products(f[2], g[0], f[0], g[2])
    out[2] = difference_of_products(f[0], g[1], f[1], g[0])
    out[3] = abs(f[1] * g[2]) + abs(f[2] * g[1])
    out[4] = abs(f[2] * g[0]) + abs(f[0] * g[2])
    out[5] = abs(f[0] * g[1]) + abs(f[1] * g[0])


@inner_kernel
def upward(p, q):
    """Tell whether a line's own direction, (q, −p), goes up."""
    return p < 0.0 or (p == 0.0 and q > 0.0)
