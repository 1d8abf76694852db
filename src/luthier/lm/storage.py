"""The opened model on disk, beside its ARPA file: made on first use, mapped into memory ever after.

The file is a line that names the format, the length of a head, the head (JSON: sizes, and what the ARPA file
was like), then the words and the records, each at a multiple of 64 bytes. Records are used where they lie.
"""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import frozen
from luthier.core.errors import InputError, LuthierError
from luthier.core.io import STDIN, atomic_write, display_name
from luthier.core.progress import notice
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.lm import _table_kernels as kernels
from luthier.lm.arpa import HIGHEST_ORDER, MARKS
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import LanguageModel
from luthier.lm.origin import Origin, origin_of, still_the_same
from luthier.lm.tables import MOST_RECORDS, RECORD, Tables

MAGIC = b"luthier language model 1\n"
ENDING = ".luthier"
ALIGNMENT = 64
LARGEST_HEAD = 1 << 16
CHECKED_WHOLE = 1 << 28  # a larger file is not read from end to end at every opening


def open_lm(path: str | os.PathLike[str]) -> LanguageModel:
    """Open a model: an ARPA file, or the file that this function keeps beside it.

    That file, ``PATH.luthier``, is made on first use and made again when the ARPA file has changed. Where it
    cannot be written, the model is used all the same, with a notice.

    Raises
    ------
    InputError
        The ARPA file is broken, with its line; see `luthier.lm.arpa_reading.read_arpa`.
    """
    if str(path) == STDIN or not Path(path).is_file():  # a pipe gives its bytes once; of the rest, reading says why
        return LanguageModel.from_arpa(read_arpa(path))
    if is_opened_model(path):
        return load_model(path)[0]
    kept = Path(f"{os.fspath(path)}{ENDING}")
    if kept.is_file():
        try:
            model, origin = load_model(kept)
            if still_the_same(origin, path, kept):
                return model
        except InputError:
            notice(f"{display_name(kept)}: damaged or of another version; it is made again")
    before = origin_of(path)
    model = LanguageModel.from_arpa(read_arpa(path))
    try:
        save_model(model, kept, before)
    except (LuthierError, OSError) as error:
        notice(f"the opened model is not kept for next time: {error}")
    return model


def is_opened_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a model as `save_model` writes it, of any version."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC) - 2) == MAGIC[:-2]
    except OSError:
        return False  # whoever reads it as ARPA says why


def save_model(model: LanguageModel, path: str | os.PathLike[str], origin: Origin | None = None) -> None:
    """Write an opened model; a write that fails or is killed leaves what stood at `path` before."""
    parts: list[npt.NDArray[Any]] = [model.words.offsets.astype("<i8"), model.words.data, model.tables.records]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part.view(np.uint8).data, checksum)
    head = {
        "order": model.order,
        "counts": list(model.counts),
        "sizes": [len(part) for part in parts],
        "probes": model.tables.probes,
        "checksum": checksum,
        "origin": None if origin is None else dataclasses.asdict(origin),
    }
    text = json.dumps(head).encode()
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        file.write(MAGIC + f"{len(text):6d}\n".encode() + text)
        for part in parts:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(part.view(np.uint8).data)


def load_model(path: str | os.PathLike[str]) -> tuple[LanguageModel, Origin | None]:
    """Map an opened model into memory, every number checked that a kernel relies on; return its origin too.

    Raises
    ------
    InputError
        Of another version, cut off, or with numbers that no model has.
    """
    try:
        with open(path, "rb") as file:
            data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise _fault(path, str(error).lower()) from None
    head, start = _head(path, data)
    parts = _parts(path, data, start, head["sizes"])
    words = _words(path, parts[0], parts[1])
    records = parts[2]
    probes, n_words = head["probes"], len(words)
    if not (n_words < len(records) < MOST_RECORDS and 1 <= probes <= len(records) - n_words):
        raise _fault(path, f"{len(records)} records of {n_words} words within {probes} steps")
    if len(data) <= CHECKED_WHOLE:
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(part.view(np.uint8).data, checksum)
        if checksum != head["checksum"]:
            raise _fault(path, "a checksum that does not fit")
        if kernels.records_fault(records) >= 0:
            raise _fault(path, "a probability above 1, or no number")
    model = LanguageModel(head["order"], words, tuple(head["counts"]), Tables(records, n_words, probes))
    return model, head["origin"]


def _fault(path: str | os.PathLike[str], found: str) -> InputError:
    return InputError(
        expected="an opened language model of this version", found=found, path=display_name(path),
        hint="delete the file: it is made again from the ARPA file beside it",
    )  # fmt: skip


def _head(path: str | os.PathLike[str], data: npt.NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """Return the head, its numbers within their ranges, and where the arrays begin."""
    size = data[len(MAGIC) : len(MAGIC) + 6].tobytes()
    if data[: len(MAGIC)].tobytes() != MAGIC or not size.strip().isdigit() or int(size) > LARGEST_HEAD:
        raise _fault(path, "another kind of file, or another version")
    start = len(MAGIC) + 7
    try:
        head = json.loads(data[start : start + int(size)].tobytes())
        numbers = [head["order"], head["probes"], head["checksum"], *head["counts"], *head["sizes"]]
        origin = head["origin"]
        head["origin"] = None if origin is None else Origin(**origin)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _fault(path, "a head that cannot be read") from None
    whole = all(type(number) is int and 0 <= number < 1 << 62 for number in numbers)
    if not whole or not 1 <= head["order"] <= HIGHEST_ORDER or len(head["counts"]) != head["order"]:
        raise _fault(path, "a head with numbers out of range")
    if len(head["sizes"]) != 3:
        raise _fault(path, f"{len(head['sizes'])} arrays where there are 3")
    return head, start + int(size)


def _parts(
    path: str | os.PathLike[str], data: npt.NDArray[np.uint8], start: int, sizes: list[int]
) -> list[npt.NDArray[Any]]:
    parts: list[npt.NDArray[Any]] = []
    kinds: tuple[np.dtype[Any], ...] = (np.dtype("<i8"), np.dtype("u1"), RECORD)
    for size, dtype in zip(sizes, kinds, strict=True):
        start += -start % ALIGNMENT
        stop = start + size * dtype.itemsize
        if stop > len(data):
            raise _fault(path, f"{len(data)} bytes, cut off")
        parts.append(frozen(data[start:stop].view(dtype)))
        start = stop
    return parts


def _words(path: str | os.PathLike[str], offsets: npt.NDArray[Any], data: npt.NDArray[Any]) -> Texts:
    """Return the words, which must be distinct UTF-8 texts that begin with the marks."""
    if len(offsets) <= len(MARKS) or offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) < 0).any():
        raise _fault(path, "words with places out of range")
    words = Texts(offsets.astype(np.int64), data)
    try:
        data.tobytes().decode("utf-8")
        marks = tuple(words[i] for i in range(len(MARKS)))
    except UnicodeDecodeError:
        raise _fault(path, "words that are not UTF-8") from None
    if marks != MARKS or len(Interner.of(words)) != len(words):
        raise _fault(path, "words that stand twice, or without <unk>, <s> and </s>")
    return words
