"""How answers travel: JSON, or JSON followed by arrays as they lie in memory, little-endian."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.report.console import decimals_for

# Numbers as people read them, the same here and on the command line.


def shown(score: float, *, like: float | None = None) -> str:
    """Return a score with the digits of the command line; `like` is the score whose digits it shares."""
    return f"{score:.{decimals_for([score if like is None else like])}f}"


def signed(difference: float, *, like: float | None = None) -> str:
    """Return a difference of scores with its sign, none if it is shown as zero.

    >>> signed(1.25, like=40.0), signed(-0.001, like=40.0), signed(-2.0)
    ('+1.25', '0.00', '−2.00')
    """
    return _signed(difference, decimals_for([difference if like is None else like]))


def signed_all(differences: Sequence[float], *, like: float) -> list[str]:
    """Return many differences of scores as `signed` shows them."""
    decimals = decimals_for([like])
    return [_signed(difference, decimals) for difference in differences]


def _signed(difference: float, decimals: int) -> str:
    text = f"{abs(difference):.{decimals}f}"
    if not float(text):
        return text
    return ("+" if difference > 0 else "−") + text


def finite(value: float) -> float | None:
    """Return a number, None where it is none that JSON has."""
    return float(value) if math.isfinite(value) else None


ALIGNED = 8  # bytes: arrays of float64 begin at multiples of it
TYPES = {"float64": "<f8", "float32": "<f4", "int32": "<i4"}


@dataclasses.dataclass(frozen=True, eq=False)
class Reply:
    """An answer: plain values, and arrays by name."""

    values: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)

    @property
    def media_type(self) -> str:
        """What kind of body it is."""
        return "application/octet-stream" if self.arrays else "application/json"

    def body(self, *, shuffled: bool = False) -> bytes:
        """Return the bytes; `shuffled` arrays have the first bytes of all numbers first, which packs them smaller.

        With arrays: the length of the JSON as four bytes, the JSON with blanks behind it, the arrays one after another,
        each filled up to a multiple of eight bytes. The JSON names them under ``arrays``, with type and length.
        """
        if not self.arrays:
            return _json(self.values)
        parts, told = [], []
        for name, array in self.arrays.items():
            kind = array.dtype.name if array.dtype.kind == "f" else "int32"
            flat = np.ascontiguousarray(array, TYPES[kind]).reshape(-1)
            raw = (flat.view(np.uint8).reshape(array.size, -1).T if shuffled else flat).tobytes()
            told.append([name, kind, array.size])
            parts.append(raw + b"\0" * (-len(raw) % ALIGNED))
        head = _json({**self.values, "arrays": told})
        head += b" " * (-(len(head) + 4) % ALIGNED)
        return b"".join([len(head).to_bytes(4, "little"), head, *parts])


def unpack(body: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return values and arrays of a reply with arrays: the way back."""
    size = int.from_bytes(body[:4], "little")
    values, at, arrays = json.loads(body[4 : 4 + size]), 4 + size, {}
    for name, kind, n in values.pop("arrays"):
        arrays[name] = np.frombuffer(body, TYPES[kind], n, at)
        at += arrays[name].nbytes + -arrays[name].nbytes % ALIGNED
    return values, arrays


def _json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
