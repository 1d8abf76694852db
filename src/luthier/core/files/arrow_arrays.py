"""Numbers of an Arrow array as a NumPy array that shares their memory.

pyarrow's own way imports pandas wherever that is installed, which takes longer than most commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """Return an Arrow array of integers, floats or truth values, none of them null.

    >>> import pyarrow
    >>> numbers(pyarrow.array([3, 4, 5]).slice(1))
    array([4, 5])
    >>> numbers(pyarrow.array([True, False, True]).slice(1))
    array([False,  True])
    """
    if array.null_count:
        raise ValueError(f"expected numbers, found {array.null_count} nulls among them")
    first, last = array.offset, array.offset + len(array)
    data = array.buffers()[1]
    if str(array.type) == "bool":
        packed = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
        return np.unpackbits(packed, bitorder="little", count=last)[first:].astype(np.bool_)
    kind = np.dtype(_NAMES.get(str(array.type), str(array.type)))
    if data is None:
        return np.zeros(0, dtype=kind)
    return np.frombuffer(data, dtype=kind, count=last)[first:]


# Arrow's names of types that NumPy names otherwise; the others are the same
_NAMES = {"double": "float64", "float": "float32", "halffloat": "float16"}
