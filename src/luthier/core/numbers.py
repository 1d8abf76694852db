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
    parse_spans,
)
from luthier.core.arrays import Bytes, Float64, Int64, frozen
from luthier.core.errors import LuthierError

__all__ = ["parse_numbers", "NUMBER_OK", "NOT_A_NUMBER", "NOT_FINITE"]

_WINDOW = np.dtype([("eight", "<u8")])
_FEWEST_BYTES = 9  # two windows


@cache
def _powers_of_ten() -> Float64:
    """Return 10^0 … 10^22, the powers of ten that a double holds exactly."""
    return frozen(np.array([float(10**k) for k in range(23)]))


@cache
def _powers_of_five() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the upper and lower halves of the leading 128 bits of 5^q, for every q of the table.

    They are cut off, not rounded, save for the reciprocals 5^-27 … 5^-1, which are rounded up: there
    the exact ties live, and the product must not fall below them.
    """
    powers = []
    for q in range(SMALLEST_POWER, LARGEST_POWER + 1):
        five = 5 ** abs(q)
        if q < 0:
            powers.append((1 << (five.bit_length() + 127)) // five + (q >= -27))
        else:
            powers.append((five << 128) >> five.bit_length())
    high = np.array([power >> 64 for power in powers], dtype=np.uint64)
    low = np.array([power & 0xFFFFFFFFFFFFFFFF for power in powers], dtype=np.uint64)
    return frozen(high), frozen(low)


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
    # Everything read is contiguous and frozen, and windows are never so few that they count as
    # contiguous, so that one compiled kernel serves every caller.
    if len(data) < _FEWEST_BYTES:
        data = np.append(data, np.zeros(_FEWEST_BYTES, dtype=np.uint8))
    data = frozen(np.ascontiguousarray(data, dtype=np.uint8))
    starts = frozen(np.ascontiguousarray(starts, dtype=np.int64))
    stops = frozen(np.ascontiguousarray(stops, dtype=np.int64))
    # (B − 7,): the eight bytes from each place on. A record, since Numba takes plain integers to lie
    # at multiples of their size, as these do not.
    windows = frozen(np.ndarray(len(data) - 7, dtype=_WINDOW, buffer=data, strides=(1,)))
    high, low = _powers_of_five()
    parse_spans(data, windows, starts, stops, _powers_of_ten(), high, low, values, status)
    for i in np.flatnonzero(status == UNDECIDED):
        value = float(data[starts[i] : stops[i]].tobytes())
        finite = np.isfinite(value)
        values[i] = value if finite else 0.0
        status[i] = NUMBER_OK if finite else NOT_FINITE
    return values, status
