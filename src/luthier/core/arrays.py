"""Array types by name, and the habit of never changing what is shared."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Bool = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]


class GrowingArray:
    """An array that takes more and more at its end.

    It reserves four times what it needs, or what it was told to expect: pages that are never written cost nothing, so
    that it is moved seldom, and cut to its true length in the end without being copied.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._room = np.empty(1 << 10, dtype=dtype)
        self._size = self._expected = 0

    def __len__(self) -> int:
        return self._size

    def expect(self, size: float) -> None:
        """Say about how long the array will become; it takes the room for that when it next needs any."""
        self._expected = int(2 * size)  # what is too much is never touched; too little would be moved

    def append(self, more: npt.NDArray[Any]) -> None:
        """Put `more` at the end."""
        self.place(len(more))[:] = more

    def place(self, n: int) -> npt.NDArray[Any]:
        """Return the place of `n` more items, to be written to at once."""
        before, self._size = self._size, self._size + n
        if self._size > len(self._room):
            self._move(self._expected if self._expected > self._size else 4 * self._size, before)
        return self._room[before : self._size]

    def _move(self, room: int, used: int) -> None:
        try:
            larger = np.empty(room, dtype=self._room.dtype)
        except (MemoryError, ValueError):  # what is not needed yet need not be there
            larger = np.empty(self._size, dtype=self._room.dtype)
        larger[:used] = self._room[:used]
        self._room = larger

    def peek(self) -> npt.NDArray[Any]:
        """Return what is there so far; it is valid until the next `append`."""
        return self._room[: self._size]

    def finish(self) -> npt.NDArray[Any]:
        """Return the array at its true length, and forget it."""
        done, size = self._room, self._size
        self._room, self._size, self._expected = np.empty(0, done.dtype), 0, 0
        done.resize(size, refcheck=False)
        return done


Array = TypeVar("Array", bound=npt.NDArray[Any])


def frozen(array: Array) -> Array:
    """Return a read-only view of `array`; the owner of the original can still write to it.

    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.setflags(write=False)
    return view


def all_finite(array: npt.NDArray[Any]) -> bool:
    """Return whether no number is NaN or infinite, by two passes that make nothing.

    >>> all_finite(np.array([1.0, np.nan])), all_finite(np.zeros(0))
    (False, True)
    """
    if not array.size or array.dtype.kind != "f":
        return True
    return bool(np.isfinite(array.min()) and np.isfinite(array.max()))  # NaN goes through both


def flat(array: Array) -> Array:
    """Return the array as every kernel gets it: contiguous and read-only, so that it compiles once.

    Numba compiles a kernel anew for each mix of strided, writable and read-only arguments.
    """
    return frozen(np.ascontiguousarray(array))  # type: ignore[return-value]


def give_back() -> None:
    """Give pages of freed arrays back to the system, where the C library keeps them and can be asked (glibc).

    After many arrays of a few megabytes have come and gone it may hold more than a hundred megabytes.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


UNIT = 2.0**-53  # what one rounding is wrong by, at most, of what it rounds


def gamma(n: int) -> float:
    """Return γ_n: a sum of n products is wrong by at most γ_n times the sum of their sizes, in any order of its terms.

    [higham2002] section 3.1.
    """
    return n * UNIT / (1 - n * UNIT)
