"""Named arrays in one file that is mapped into memory: nothing is read before it is used.

The file is a line that names the format, the length of a head, the head (JSON: kind, version, what the arrays are
about, and of each its name, type, shape and place), then the arrays, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import frozen
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import atomic_write, display_name
from luthier.core.settings import parse_json

MAGIC = b"luthier arrays 1\n"
ALIGNMENT = 64
HEAD_DIGITS = 10
LARGEST_HEAD = 1 << 24
TYPES = ("|u1", "|i1", "<i2", "<i4", "<i8", "<f8")
CHECKED_WHOLE = 1 << 28  # a larger file is not read from end to end at every opening

Arrays = dict[str, npt.NDArray[Any]]


def save_arrays(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]
) -> None:
    """Write arrays by name; a write that fails or is killed leaves what stood at `path` before.

    Parameters
    ----------
    kind
        What the arrays make up, such as ``grammar 1``; only the same words open the file again.
    about
        JSON-able.
    """
    entries, end, checksum = [], 0, 0
    for name, array in arrays.items():
        start = end + -end % ALIGNMENT
        kept = np.ascontiguousarray(array)
        entries.append({"name": name, "type": kept.dtype.str, "shape": kept.shape, "start": start})
        if kept.dtype.str not in TYPES:
            raise LuthierError(f"expected an array of one of {', '.join(TYPES)}, found {name}: {kept.dtype.str}")
        end = start + kept.nbytes
        checksum = zlib.crc32(_bytes(kept), checksum)
    head = {"kind": kind, "about": dict(about), "size": end, "checksum": checksum, "arrays": entries}
    text = json.dumps(head, ensure_ascii=False).encode()
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        file.write(MAGIC + f"{len(text):{HEAD_DIGITS}d}\n".encode() + text)
        file.write(bytes(-file.tell() % ALIGNMENT))
        base = file.tell()
        for entry, array in zip(entries, arrays.values(), strict=True):
            file.write(bytes(base + int(entry["start"]) - file.tell()))  # type: ignore[call-overload]
            file.write(_bytes(np.ascontiguousarray(array)))


def is_array_file(path: str | os.PathLike[str], kind: str) -> bool:
    """Return whether a file holds arrays of a kind, whatever its version (the last word of `kind`)."""
    try:
        if not Path(path).is_file():  # what a pipe has given once it does not give again
            return False
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
            size = file.read(HEAD_DIGITS + 1)
            head = parse_json(file.read(min(int(size), LARGEST_HEAD)))
            return bool(str(head["kind"]).rsplit(" ", 1)[0] == kind.rsplit(" ", 1)[0])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def open_arrays(path: str | os.PathLike[str], kind: str) -> tuple[Arrays, dict[str, Any]]:
    """Map a file of arrays into memory, read-only; return them and what they are about.

    Raises
    ------
    InputError
        Another kind or version of file, one that is cut off, or bytes that changed.
    """
    try:
        with open(path, "rb") as file:
            data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        found = (getattr(error, "strerror", None) or str(error)).lower()
        raise _fault(path, kind, found) from None
    head, base = _head(path, kind, data)
    if base + head["size"] > len(data):
        raise _fault(path, kind, f"{len(data)} bytes, cut off")
    arrays: Arrays = {}
    for entry in head["arrays"]:
        size = math.prod(entry["shape"]) * np.dtype(entry["type"]).itemsize
        start = base + entry["start"]
        if entry["start"] % ALIGNMENT or entry["start"] + size > head["size"]:
            raise _fault(path, kind, f"an array {entry['name']!r} out of place")
        arrays[entry["name"]] = frozen(data[start : start + size].view(entry["type"]).reshape(entry["shape"]))
    if len(data) <= CHECKED_WHOLE:
        checksum = 0
        for array in arrays.values():
            checksum = zlib.crc32(_bytes(array), checksum)
        if checksum != head["checksum"]:
            raise _fault(path, kind, "bytes that have changed since they were written")
    return arrays, head["about"]


def open_array_folder(
    folder: str | os.PathLike[str], file: str, kind: str, *, holds: str, hint: str
) -> tuple[Arrays, dict[str, Any]]:
    """Map the one file of a folder into memory, as `open_arrays` does; `holds` says what is missing where it is not."""
    path = Path(folder, file)
    if not path.is_file():
        raise InputError(expected=f"a folder with {holds} ({file})", found="none", path=display_name(folder), hint=hint)
    return open_arrays(path, kind)


def wrong_column(arrays: Arrays, columns: Mapping[str, tuple[str, int]]) -> str:
    """Say which column is not there, or not of its type and number of dimensions; nothing if all are."""
    for column, (dtype, dimensions) in columns.items():
        if column not in arrays or arrays[column].dtype.str != dtype or arrays[column].ndim != dimensions:
            return f"no column {column!r} of the right kind"
    return ""


def _bytes(array: npt.NDArray[Any]) -> Any:
    return array.reshape(-1).view(np.uint8).data


def _head(path: str | os.PathLike[str], kind: str, data: npt.NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """Return the head, its entries checked one by one, and where the arrays begin."""
    start = len(MAGIC) + HEAD_DIGITS + 1
    size = data[len(MAGIC) : start - 1].tobytes().strip()
    if data[: len(MAGIC)].tobytes() != MAGIC or not size.isdigit() or int(size) > LARGEST_HEAD:
        raise _fault(path, kind, "another kind of file")
    stop = start + int(size)
    try:
        head = parse_json(data[start:stop].tobytes())
        entries = [(e["name"], e["type"], e["start"], *e["shape"]) for e in head["arrays"]]
        whole = [head["size"], head["checksum"], *(number for entry in entries for number in entry[2:])]
        texts = [head["kind"], *(text for entry in entries for text in entry[:2])]
        about = head["about"]
    except (ValueError, KeyError, TypeError):
        raise _fault(path, kind, "a head that cannot be read") from None
    if not all(type(number) is int and 0 <= number < 1 << 60 for number in whole):
        raise _fault(path, kind, "a head with numbers out of range")
    if not (all(type(text) is str for text in texts) and type(about) is dict):
        raise _fault(path, kind, "a head with things out of place")
    if head["kind"] != kind:
        raise _fault(path, kind, f"a file of the kind {head['kind']!r}")
    if any(entry[1] not in TYPES for entry in entries):
        raise _fault(path, kind, "arrays of an unknown type")
    return head, stop + -stop % ALIGNMENT


def _fault(path: str | os.PathLike[str], kind: str, found: str) -> InputError:
    return InputError(expected=f"a file of the kind {kind!r}", found=found, path=display_name(path))
