"""The opened model on disk, beside its ARPA file: made on first use, mapped into memory ever after."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import frozen
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.array_file import is_array_file, open_arrays, save_arrays
from luthier.core.files.io import STDIN, display_name
from luthier.core.progress import notice
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.lm import _table_kernels as kernels
from luthier.lm.arpa import HIGHEST_ORDER, MARKS
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import LanguageModel
from luthier.lm.tables import MOST_RECORDS, RECORD, Tables

# What a file was like when something was made from it, and whether it still is.

SETTLED_NS = 2_000_000_000  # clocks of file systems may be as coarse as this


@dataclasses.dataclass(frozen=True)
class Origin:
    """Size, time of the last change and content of a file."""

    size: int
    changed_ns: int
    digest: str


def origin_of(path: str | os.PathLike[str]) -> Origin:
    """Return what a file is like now.

    Raises
    ------
    InputError
        It cannot be read.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            return Origin(status.st_size, status.st_mtime_ns, hashlib.file_digest(file, "blake2b").hexdigest())
    except OSError as error:
        raise InputError(
            expected="a readable file", found=(error.strerror or str(error)).lower(), path=display_name(path)
        ) from None


def still_the_same(origin: Origin | None, path: str | os.PathLike[str], made: Path) -> bool:
    """Return whether `path` is what it was when `made` was made from it.

    Same size and time are believed where the file had been at rest for a while when `made` was written;
    otherwise the content decides, so that a copied or touched file is not read again.
    """
    if origin is None:
        return False
    try:
        status = Path(path).stat()
        at_rest = made.stat().st_mtime_ns - status.st_mtime_ns > SETTLED_NS
    except OSError:
        return False
    if status.st_size != origin.size:
        return False
    if status.st_mtime_ns == origin.changed_ns and at_rest:
        return True
    return origin_of(path).digest == origin.digest


KIND = "language model 1"
ENDING = ".luthier"
CHECKED_WHOLE = 1 << 28  # the numbers of a larger model are not gone through at every opening


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
    if is_array_file(path, KIND):
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


def save_model(model: LanguageModel, path: str | os.PathLike[str], origin: Origin | None = None) -> None:
    """Write an opened model; a write that fails or is killed leaves what stood at `path` before."""
    arrays: dict[str, npt.NDArray[Any]] = {
        # an array, and not in the head of the file, so that the checksum covers them
        "numbers": np.array([model.tables.probes, *model.counts], dtype="<i8"),
        "words.offsets": model.words.offsets,
        "words.data": model.words.data,
        "records": model.tables.records.view("<i8").reshape(-1, 2),
    }
    save_arrays(path, KIND, arrays, {"origin": None if origin is None else dataclasses.asdict(origin)})


def load_model(path: str | os.PathLike[str]) -> tuple[LanguageModel, Origin | None]:
    """Map an opened model into memory, every number checked that a kernel relies on; return its origin too.

    Raises
    ------
    InputError
        Of another version, cut off, or with numbers that no model has.
    """
    arrays, about = open_arrays(path, KIND)
    try:
        origin = None if about["origin"] is None else Origin(**about["origin"])
        numbers, offsets, data, rows = (arrays[name] for name in ("numbers", "words.offsets", "words.data", "records"))
    except (KeyError, TypeError):
        raise _fault(path, "parts that are missing or strange") from None
    kinds = [(array.dtype.str, array.shape[1:]) for array in (numbers, offsets, data, rows)]
    if kinds != [("<i8", ()), ("<i8", ()), ("|u1", ()), ("<i8", (2,))]:
        raise _fault(path, "arrays of another type or shape")
    if not 1 <= len(numbers) - 1 <= HIGHEST_ORDER or (numbers < 0).any():
        raise _fault(path, "numbers out of range")
    probes, *counts = numbers.tolist()
    words = _words(path, offsets, data)
    records = frozen(rows.reshape(-1).view(RECORD))
    if not (len(words) < len(records) < MOST_RECORDS and 1 <= probes <= len(records) - len(words)):
        raise _fault(path, f"{len(records)} records of {len(words)} words within {probes} steps")
    if records.nbytes <= CHECKED_WHOLE and kernels.records_fault(records) >= 0:
        raise _fault(path, "a probability above 1, or no number")
    return LanguageModel(len(counts), words, tuple(counts), Tables(records, len(words), probes)), origin


def _fault(path: str | os.PathLike[str], found: str) -> InputError:
    return InputError(
        expected=f"a file of the kind {KIND!r}",
        found=found,
        path=display_name(path),
        hint="delete the file: it is made again from the ARPA file beside it",
    )


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
