"""Statistics of sentences as a short text, so that a line of a study has what later comparisons need."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64

MOST_BYTES = 1 << 28


def pack_statistics(stats: npt.NDArray[Any]) -> str:
    """Return the statistics of N sentences, (N, S), as a text.

    >>> unpack_statistics(pack_statistics(np.array([[3, 4], [5, 6]])), 2).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    """
    columns = np.ascontiguousarray(stats.T, dtype="<f8")  # a column's numbers are alike, which packs well
    return base64.b64encode(zlib.compress(columns.tobytes(), 9)).decode("ascii")


def unpack_statistics(text: str, n_stats: int) -> Float64:
    """Return statistics again, (N, S).

    Raises
    ------
    ValueError
        If the text is none of so many columns, or has a number that is not finite.
    """
    try:
        machine = zlib.decompressobj()
        data = machine.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"no statistics ({error})") from None
    numbers = np.frombuffer(data[: len(data) // 8 * 8], dtype="<f8").astype(np.float64)
    if not machine.eof or len(data) % (8 * n_stats) or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"no statistics of {n_stats} columns")
    return np.ascontiguousarray(numbers.reshape(n_stats, -1).T)
