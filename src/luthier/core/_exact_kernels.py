# mypy: ignore-errors
"""Kernels of sums and products that lose nothing [shewchuk1997]: a rounded number, and what rounding took."""

from luthier.core.jit import kernel

SPLITTER = 134217729.0  # 2²⁷ + 1 cuts a double into two halves of 26 bits


@kernel
def two_sum(a, b):
    """Return a + b, rounded, and what the rounding lost."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def two_product(a, b):
    """Return a·b, rounded, and what the rounding lost."""
    p = a * b
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def sign_of_sum(terms, n):
    """Return the sign of the exact sum of n numbers; they are overwritten."""
    size = 0
    for i in range(n):
        q = terms[i]
        kept = 0
        for j in range(size):
            q, lost = two_sum(q, terms[j])
            if lost != 0.0:
                terms[kept] = lost
                kept += 1
        if q != 0.0:
            terms[kept] = q
            kept += 1
        size = kept
    if size == 0:
        return 0
    return 1 if terms[size - 1] > 0.0 else -1
