"""What a file was like when something was made from it, and whether it still is."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

from luthier.core.errors import InputError
from luthier.core.files.io import display_name

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
