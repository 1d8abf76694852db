"""Decimal numbers read from spans of bytes: as float() reads them to the last bit, many at once."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from luthier.core._number_kernels import (
    LARGEST_POWER,
    NOT_A_NUMBER,
    NOT_FINITE,
    NUMBER_OK,
    SMALLEST_POWER,
    UNDECIDED,
    Powers,
    parse_spans,
)
from luthier.core.arrays import Bytes, Float64, Int64, flat, frozen
from luthier.core.errors import LuthierError

__all__ = ["parse_numbers", "NUMBER_OK", "NOT_A_NUMBER", "NOT_FINITE"]


@cache
def powers() -> Powers:
    """Return the powers that reading numbers needs.

    Those of five are cut off, not rounded, save for the reciprocals 5^-27 … 5^-1, which are rounded up: there
    the exact ties live, and the product must not fall below them.
    """
    tens = frozen(np.array([float(10**k) for k in range(23)]))
    fives = []
    for q in range(SMALLEST_POWER, LARGEST_POWER + 1):
        five = 5 ** abs(q)
        if q < 0:
            fives.append((1 << (five.bit_length() + 127)) // five + (q >= -27))
        else:
            fives.append((five << 128) >> five.bit_length())
    high = np.array([power >> 64 for power in fives], dtype=np.uint64)
    low = np.array([power & 0xFFFFFFFFFFFFFFFF for power in fives], dtype=np.uint64)
    return Powers(tens, frozen(high), frozen(low))


def parse_numbers(data: Bytes, starts: Int64, stops: Int64) -> tuple[Float64, npt.NDArray[np.uint8]]:
    """Return the number written in each span of ASCII bytes, and whether it is one.

    Read is what float() reads, and rounded as it rounds, but without underscores, white space around
    the number and digits beyond ASCII.

    Parameters
    ----------
    data : (B,)
        The bytes.
    starts, stops : (n,)
        Span i is data[starts[i]:stops[i]].

    Returns
    -------
    values : (n,)
        0.0 where the status is not NUMBER_OK.
    status : (n,)
        NUMBER_OK; NOT_A_NUMBER; or NOT_FINITE: a NaN or infinity by name, or too large for a double.

    Examples
    --------
    >>> data = np.frombuffer(b"-1.5e3 abc", dtype=np.uint8)
    >>> values, status = parse_numbers(data, np.array([0, 7]), np.array([6, 10]))
    >>> values.tolist(), status.tolist()
    ([-1500.0, 0.0], [0, 1])
    """
    if len(starts) != len(stops):
        raise LuthierError(f"expected as many stops as starts, found {len(stops)} and {len(starts)}")
    if len(starts) and (starts.min() < 0 or stops.max() > len(data)):
        raise LuthierError(f"expected spans within the {len(data)} bytes of data, found some outside")
    values = np.empty(len(starts), dtype=np.float64)
    status = np.empty(len(starts), dtype=np.uint8)
    data, starts, stops = flat(data), flat(starts), flat(stops)
    parse_spans(data, starts, stops, powers(), values, status)
    for i in np.flatnonzero(status == UNDECIDED):
        value = float(data[starts[i] : stops[i]].tobytes())
        finite = np.isfinite(value)
        values[i] = value if finite else 0.0
        status[i] = NUMBER_OK if finite else NOT_FINITE
    return values, status
