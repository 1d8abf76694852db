# mypy: ignore-errors
"""Kernels that read decimal numbers from bytes, rounded to the nearest double (ties to even).

A number is read as ±w·10^q with an integer w of at most 19 digits. Small w and q are exact in double
arithmetic (Clinger); the rest multiply w by a 128-bit power of five and look whether the bits cut off
can change the rounding (Eisel and Lemire). What stays open is marked UNDECIDED for the caller.
"""

from typing import NamedTuple

import numpy as np

from luthier.core._bit_kernels import ONES, TOPS, bytes_below, lowest_bytes, zero_bytes
from luthier.core.jit import eight_bytes, inner_kernel, kernel, lean_kernel

NUMBER_OK = 0
NOT_A_NUMBER = 1
NOT_FINITE = 2
UNDECIDED = 3

# Below the smallest power any w of 19 digits is less than half the least subnormal; above the largest
# any w > 0 overflows. The table of powers of five covers exactly these.
SMALLEST_POWER = -342
LARGEST_POWER = 308

MOST_DIGITS = 19  # 10^19 < 2^64
EXPONENT_LIMIT = 10**16  # far beyond the length of any text, far below the end of int64


class Powers(NamedTuple):
    """10^0 … 10^22, which a double holds exactly, and the upper and lower halves of 128 bits of each power of five."""

    tens: np.ndarray
    high: np.ndarray
    low: np.ndarray


@kernel
def are_digits(v):
    """Return whether all eight bytes of `v` are ASCII digits."""
    upper, zeros = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x3030303030303030)
    # 0x30 … 0x3F first; of these, adding 6 takes all but the digits to the next sixteen.
    return v & upper == zeros and (v + np.uint64(0x0606060606060606)) & upper == zeros


@kernel
def join_digits(v):
    """Return the number that eight digits write, the first of them in the lowest byte of `v`."""
    v &= np.uint64(0x0F0F0F0F0F0F0F0F)
    v = (v * np.uint64(10) + (v >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    v = (v * np.uint64(100) + (v >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (v * np.uint64(10000) + (v >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


@kernel
def first_bytes(v, n):
    """Return the lowest n of the eight bytes of `v` (n from 1) behind 8 - n digits 0."""
    zeros = np.uint64(0x3030303030303030)
    return v << np.uint64(64 - 8 * n) | (zeros >> np.uint64(8 * n - 8)) >> np.uint64(8)


@kernel
def scan_long(data, i, stop):
    """Return (end, w, q, inexact) of a mantissa with more digits than w can be sure to hold.

    Leading zeros are dropped, then 19 digits kept; `inexact` says that a digit cut off was not 0.
    """
    w, q, kept = np.uint64(0), 0, 0
    inexact, fraction = False, False
    while i < stop:
        c = np.uint64(data[i])
        if c == np.uint64(46) and not fraction:
            fraction = True
        elif c < np.uint64(48) or c > np.uint64(57):
            break
        elif kept < MOST_DIGITS:
            w = w * np.uint64(10) + (c - np.uint64(48))
            if w > np.uint64(0):
                kept += 1
            if fraction:
                q -= 1
        else:
            if c != np.uint64(48):
                inexact = True
            if not fraction:
                q += 1
        i += 1
    return i, w, q, inexact


@kernel
def scan_exponent(data, i, stop):
    """Return (status, value) of the exponent data[i:stop], such as e-12; nothing counts as 0."""
    if i >= stop:
        return NUMBER_OK, 0
    if data[i] != 101 and data[i] != 69:
        return NOT_A_NUMBER, 0
    i += 1
    negative = i < stop and data[i] == 45
    if negative or (i < stop and data[i] == 43):
        i += 1
    if i >= stop:
        return NOT_A_NUMBER, 0
    value = 0
    while i < stop:
        c = np.int64(data[i])
        if c < 48 or c > 57:
            return NOT_A_NUMBER, 0
        if value < EXPONENT_LIMIT:
            value = value * 10 + (c - 48)
        i += 1
    return NUMBER_OK, -value if negative else value


@kernel
def is_word(data, i, stop, word):
    """Return whether a span is `word` (lower-case ASCII letters) in any case."""
    if stop - i != len(word):
        return False
    for k in range(len(word)):
        if (data[i + k] | 32) != word[k]:
            return False
    return True


@kernel
def name_status(data, i, stop):
    """Return the status of a span, its sign taken off, that holds no digits where they should be."""
    if is_word(data, i, stop, b"nan") or is_word(data, i, stop, b"inf"):
        return NOT_FINITE
    return NOT_FINITE if is_word(data, i, stop, b"infinity") else NOT_A_NUMBER


@kernel
def multiply(a, b):
    """Return the (high, low) halves of the 128-bit product of two 64-bit numbers."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> half) + (left & mask) + (right & mask)
    high = a1 * b1 + (left >> half) + (right >> half) + (middle >> half)
    return high, (middle << half) | (low & mask)


@kernel
def normalize(w):
    """Return (w shifted until its top bit is set, by how many bits), for w > 0."""
    # The exponent of w as a double gives its length, one too many where w was rounded up.
    length = np.int64(np.float64(w).view(np.uint64) >> np.uint64(52)) - 1022
    shift = max(64 - length, 0)
    w = w << np.uint64(shift)
    if w >> np.uint64(63) == np.uint64(0):
        return w << np.uint64(1), shift + 1
    return w, shift


@kernel
def round_product(w, q, high_power, low_power):
    """Return (status, bits of the double nearest to w·10^q), for w > 0 and q within the table.

    Undecided are the subnormals, and products whose cut-off bits could carry into the rounding.
    """
    full = np.uint64(0xFFFFFFFFFFFFFFFF)
    w, shift = normalize(w)
    high, low = multiply(w, high_power)
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        # Only here can the lower half of the power of five carry into the 55 bits that matter.
        carry, _ = multiply(w, low_power)
        if carry > full - low:
            low = carry - (full - low) - np.uint64(1)
            high += np.uint64(1)
        else:
            low += carry
    if low == full and (q < -27 or q > 55):
        return UNDECIDED, np.uint64(0)
    top = high >> np.uint64(63)
    cut = top + np.uint64(9)
    mantissa = high >> cut  # 53 bits and one to round by
    # 217706 / 2^16 is log2(10) closely enough for the whole table; 1023 is the bias.
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - shift + 1023
    if exponent <= 0:
        return UNDECIDED, np.uint64(0)
    # A tie is possible only where 5^|q| fits beside a halfway point in 64 bits; go to the even one.
    tie = low <= np.uint64(1) and -4 <= q <= 23 and mantissa & np.uint64(3) == np.uint64(1)
    if tie and mantissa << cut == high:
        mantissa -= np.uint64(1)
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    if mantissa >> np.uint64(53) != np.uint64(0):
        mantissa >>= np.uint64(1)
        exponent += 1
    if exponent >= 2047:
        return NOT_FINITE, np.uint64(0)
    hidden = np.uint64(1) << np.uint64(52)
    return NUMBER_OK, (mantissa - hidden) | (np.uint64(exponent) << np.uint64(52))


@kernel
def round_decimal(w, q, inexact, high_power, low_power):
    """Return (status, double nearest to w·10^q), or to what lies between w and w + 1 if inexact."""
    status, bits = round_product(w, q, high_power, low_power)
    if inexact and status != UNDECIDED:
        status_above, above = round_product(w + np.uint64(1), q, high_power, low_power)
        if status_above != status or above != bits:
            status = UNDECIDED
    return status, np.uint64(bits).view(np.float64)


@inner_kernel
def short_decimal(v, n):
    """Return (whether they write a number without sign and exponent, it without its point, its decimals) of n bytes.

    They are the lowest n of `v`, from 1 to 8.
    """
    v ^= np.uint64(0x30) * ONES  # digits are 0 to 9 now
    point = bytes_below(zero_bytes(v ^ np.uint64(0x1E) * ONES))
    decimals = 0
    if point < n:
        behind = v >> np.uint64(8)
        v = lowest_bytes(v, point) | (behind ^ lowest_bytes(behind, point))
        n -= 1
        decimals = n - point
    # a lone point would leave no digit; a shift by all 64 bits would leave all of them
    v = v << np.uint64(64 - 8 * n) if n > 0 else TOPS
    fits = (v | (v + np.uint64(0x76) * ONES)) & TOPS == np.uint64(0)
    return fits, np.int64(join_digits(v)), decimals


@lean_kernel
def long_decimal(data, i, stop, tens, high_powers, low_powers):
    """Return (status, value) of the number in data[i:stop], which has no sign."""
    largest_exact, zero, nine = np.uint64(1) << np.uint64(53), np.uint64(48), np.uint64(57)
    first, w, q, inexact = i, np.uint64(0), 0, False
    limit = min(stop, i + MOST_DIGITS)
    while i < limit and zero <= np.uint64(data[i]) <= nine:
        w = w * np.uint64(10) + (np.uint64(data[i]) - zero)
        i += 1
    digits = i - first
    if i < stop and data[i] == 46:
        point = i = i + 1
        limit = min(stop, i + MOST_DIGITS - digits)
        while i < limit and i + 8 <= len(data):
            n = min(limit - i, 8)
            v = first_bytes(eight_bytes(data, i), n)
            if not are_digits(v):
                break
            w = w * np.uint64(np.int64(tens[n])) + join_digits(v)
            i += n
        while i < limit and zero <= np.uint64(data[i]) <= nine:
            w = w * np.uint64(10) + (np.uint64(data[i]) - zero)
            i += 1
        q = point - i
        digits -= q
    state, value = NUMBER_OK, 0.0
    if digits == 0:
        state = name_status(data, first, stop)
    elif i < stop:
        if digits == MOST_DIGITS:
            i, w, q, inexact = scan_long(data, first, stop)
        state, exponent = scan_exponent(data, i, stop)
        q += exponent
    if state == NUMBER_OK:
        if w <= largest_exact and -22 <= q <= 22:
            value = np.float64(np.int64(w))
            value = value / tens[-q] if q < 0 else value * tens[q]
        elif q > LARGEST_POWER:
            state = NUMBER_OK if w == np.uint64(0) else NOT_FINITE
        elif q >= SMALLEST_POWER and w > np.uint64(0):
            k = q - SMALLEST_POWER
            state, value = round_decimal(w, q, inexact, high_powers[k], low_powers[k])
    return state, value


@inner_kernel
def read_number(data, i, stop, tens, high_powers, low_powers):
    """Return (status, value) of the number in data[i:stop]: nearly all are short, and read without a loop."""
    negative = i < stop and data[i] == 45
    if negative or (i < stop and data[i] == 43):
        i += 1
    fits, n = False, stop - i
    if 0 < n <= 8 and i + 8 <= len(data):
        fits, w, decimals = short_decimal(eight_bytes(data, i), n)
    if fits:
        state, value = NUMBER_OK, np.float64(w) / tens[decimals]
    else:
        state, value = long_decimal(data, i, stop, tens, high_powers, low_powers)
    return state, -value if negative and state == NUMBER_OK else value


@lean_kernel
def parse_spans(data, starts, stops, powers, values, status):
    """Write the value and the status of the number in each span."""
    tens, high_powers, low_powers = powers
    for s in range(len(starts)):
        status[s], values[s] = read_number(data, starts[s], stops[s], tens, high_powers, low_powers)
