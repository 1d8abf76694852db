# mypy: ignore-errors
"""Kernels that bound a quadratic form (1, u)ᵀC(1, u) over the box |u_k| ≤ 1: a diagonal semidefinite program.

Where diag(D) − C, without C_00, is positive semidefinite and no D_k is negative, the form is nowhere above C_00 + ΣD_k.
A good D comes from moments VVᵀ at which the form is highest, found coordinate by coordinate [burer2003]. That it is
one is proven by a Cholesky factor in floating point: if that exists, the matrix has no eigenvalue below
−γ(n+1)/(1 − γ(n+1)) times its trace [rump2006], and so much is added to each D_k.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

UNIT = 2.0**-53
RANK = 5  # of the moments that are tried
ASCENTS = 12  # over the coordinates, for the moments at which a form is highest
DOUBLINGS = 60  # of what is added to D until it proves something
TINY = 1e-100  # far above what underflow loses


class Form(NamedTuple):
    """A quadratic form and what proves its peak: C (n, n); D (n,); V (n, RANK), moments VVᵀ at which it is highest.

    extent (1,): no sum of |C_ab| is larger.
    """

    c: np.ndarray
    d: np.ndarray
    v: np.ndarray
    extent: np.ndarray


@inner_kernel
def empty_form(n):
    """Return a form of n coordinates, the first of which is 1."""
    return Form(np.zeros((n, n)), np.zeros(n), np.zeros((n, RANK)), np.zeros(1))


@inner_kernel
def factors(form, factor):
    """Return whether diag(D) − C, without C_00, has a Cholesky factor in floating point."""
    c, d = form.c, form.d
    for i in range(len(d)):
        for j in range(i):
            total = -c[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total / factor[j, j]
        total = d[i] - c[i, i] if i > 0 else d[i]
        for k in range(i):
            total -= factor[i, k] * factor[i, k]
        if not total > 0.0:
            return False
        factor[i, i] = np.sqrt(total)
    return True


@inner_kernel
def ascend(form):
    """Move each vector of V in turn to where the form is highest; write the D that belongs there, perhaps too small."""
    c, d, v = form.c, form.d, form.v
    along, last = np.empty(RANK), -np.inf
    for _ in range(ASCENTS):
        total = 0.0
        for k in range(len(d)):
            along[:] = 0.0
            for j in range(len(d)):
                if j != k:
                    for r in range(RANK):
                        along[r] += c[k, j] * v[j, r]
            size = 0.0
            for r in range(RANK):
                size += along[r] * along[r]
            size = np.sqrt(size)
            own = c[k, k] if k > 0 else 0.0
            if size <= TINY:
                d[k] = max(own, 0.0)
            else:
                inside = k > 0 and size < -own  # the best length is less than 1
                for r in range(RANK):
                    v[k, r] = along[r] / (-own if inside else size)
                d[k] = 0.0 if inside else max(own + size, 0.0)
            total += d[k]
        if abs(total - last) <= 1e-4 * abs(total):
            break
        last = total


@kernel
def prove_peak(form, factor):
    """Return what the form exceeds nowhere in the box, by a D that a Cholesky factor proves; ∞ if none was found."""
    ascend(form)
    n, total, sizes = len(form.d), 0.0, 0.0
    for k in range(n):
        total += form.d[k]
        sizes += abs(form.c[k, k]) if k > 0 else 0.0
    shift, before = 1e-4 * total / n + TINY, 0.0
    for turn in range(DOUBLINGS):
        for k in range(n):
            form.d[k] += shift - before
        if factors(form, factor):
            peak = form.c[0, 0]
            for k in range(n):
                peak += form.d[k]
                sizes += form.d[k]
            return peak + 2 * (n * (n + 4) + 16) * UNIT * (sizes + abs(form.c[0, 0]))
        before, shift = shift, (1.5 if turn < 4 else 2.0) * shift
    return np.inf


# Copies are loops: Numba makes an assignment of arrays ready to tell their shapes, which takes seconds to compile.


@kernel
def copy_vectors(form, other):
    """Copy the vectors of a form into another."""
    for a in range(form.v.shape[0]):
        for b in range(form.v.shape[1]):
            other.v[a, b] = form.v[a, b]


@kernel
def copy_entries(form, other):
    """Copy C and its extent into another form."""
    for a in range(len(form.d)):
        for b in range(len(form.d)):
            other.c[a, b] = form.c[a, b]
    other.extent[0] = form.extent[0]


@kernel
def copy_form(form, other):
    """Copy a form into another."""
    copy_entries(form, other)
    copy_vectors(form, other)
    for a in range(len(form.d)):
        other.d[a] = form.d[a]
