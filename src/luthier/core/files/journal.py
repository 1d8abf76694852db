"""Records that are added one at a time to a file of JSON lines, each with a hash of itself.

Adding a record costs what the record costs, however many there are. A process that is killed while it
writes leaves half a line at the end, which is dropped; a line that was changed afterwards is found out.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from luthier.core.errors import InputError
from luthier.core.files.io import locked, open_output, regular
from luthier.core.settings import parse_json

Record = dict[str, Any]
SEAL = re.compile(rb', "hash": "([0-9a-f]{32})"\}')
SEAL_LENGTH = 12 + 32 + 1


def seal(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line of JSON whose last member is a hash of the others.

    >>> seal({"a": 1})
    b'{"a": 1, "hash": "6903fb303cd60ccb0a2b9c2592fa773b"}\\n'
    """
    body = json.dumps(dict(record), ensure_ascii=False).encode("utf-8")
    return body[:-1] + b', "hash": "' + _hash(body) + b'"}\n'


def unseal(line: bytes) -> Record:
    """Return the record of a line, without its line feed and without the hash.

    Raises
    ------
    ValueError
        If it is not a record, or not the one that was written.
    """
    found = SEAL.fullmatch(line[-SEAL_LENGTH:])
    if found is None:
        raise ValueError("a line without its hash")
    body = line[:-SEAL_LENGTH] + b"}"
    if _hash(body) != found[1]:
        raise ValueError("a line that was changed after it was written")
    record = parse_json(body)
    if not isinstance(record, dict):
        raise ValueError("something that is no object")
    return record


def _hash(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode()


def read_journal(path: str | os.PathLike[str], what: str) -> tuple[list[Record], int]:
    """Return the records of a file, and how many bytes they take: half a line at the end does not count.

    Raises
    ------
    InputError
        If a whole line is not what was written; `what` says what a line should be.
    """
    records, length = [], 0
    for record, end in each_record(path, what):
        records.append(record)
        length = end
    return records, length


def each_record(path: str | os.PathLike[str], what: str) -> Iterator[tuple[Record, int]]:
    """Yield the records of a file, one held at a time, each with how many bytes it and those before it take."""
    length = 0
    with regular(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            length += len(line)
            try:
                yield unseal(line[:-1]), length
            except ValueError as error:
                raise InputError(expected=what, found=str(error), path=str(path), line=number) from None


class JournalWriter:
    """A file of records that one process at a time adds to; a context manager.

    Parameters
    ----------
    path
        Where. Nothing is made before the first record comes.
    length
        What to keep of the file that is there, see `read_journal`.
    """

    def __init__(self, path: str | os.PathLike[str], length: int = 0) -> None:
        self._path, self._length = path, length
        self._lock = locked(path)
        self._lock.__enter__()

    def append(self, *records: Mapping[str, Any]) -> None:
        """Add records; when that fails (`OSError`), the file is what it was before."""
        lines = b"".join(map(seal, records))
        if not self._length:
            with open_output(self._path) as file:
                file.write(lines)
        else:
            self._extend(lines)
        self._length += len(lines)

    def _extend(self, lines: bytes) -> None:
        try:
            with open(self._path, "r+b", buffering=0) as file:
                file.truncate(self._length)
                file.seek(self._length)
                try:
                    if file.write(lines) != len(lines):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                except OSError:
                    file.truncate(self._length)
                    raise
        except OSError as error:  # the system names no file
            raise OSError(error.errno, error.strerror, str(self._path)) from None

    @property
    def length(self) -> int:
        """How many bytes its records take."""
        return self._length

    def cut(self, length: int) -> None:
        """Forget the records beyond a length that it had before."""
        if length < self._length:
            self._length = length
            with open(self._path, "r+b") as file:
                file.truncate(length)

    def close(self) -> None:
        """Let others add to the file."""
        self._lock.__exit__(None, None, None)

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
