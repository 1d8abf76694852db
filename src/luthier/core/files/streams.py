"""Compressed bytes as plain ones: what was whole before the damage is yielded before it is reported."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, BinaryIO

from luthier.core.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
READ_BYTES = 1 << 17
LARGE, MOST_RATIO = 1 << 28, 1000  # lists pack to about a tenth
_any_size: ContextVar[bool] = ContextVar("unpacking_any", default=False)

# What the decompressors raise when a stream ends, or breaks, before its end.
DAMAGE = (EOFError, zlib.error, OSError)


class TruncatedError(InputError):
    """A compressed file that ends, or breaks, before its end."""


def damage_error(error: Exception, path: str, line: int | None = None) -> TruncatedError:
    """Return the complaint about a compressed stream that broke, at `line` if that is known."""
    reason = str(error).strip().rstrip(".").split("\n")[0]
    return TruncatedError(
        expected="a whole compressed file",
        found=f"damaged or cut off data ({reason})",
        path=path,
        line=line,
        hint="fetch or write the file again; `skip_bad` keeps the lines before the damage",
        kind="truncated",
    )


@contextmanager
def unpacking_any(*, allowed: bool) -> Iterator[None]:
    """Let compressed files that are opened inside the block unpack to any size, where that is `allowed`."""
    before = _any_size.set(allowed)
    try:
        yield
    finally:
        _any_size.reset(before)


def decompressed(raw: BinaryIO, buffer_bytes: int, name: str = "") -> io.BufferedReader[Any]:
    """Return the plain bytes of a stream: gz and zst are told by their first bytes.

    What unpacks to more than `LARGE` bytes and to more than `MOST_RATIO` times its size is refused (`InputError`),
    unless `unpacking_any`: a few bytes can unpack to more than any disk holds.
    """
    buffered: io.BufferedReader[Any] = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    magic = buffered.peek(4)[:4]
    if magic.startswith(GZIP_MAGIC):
        packed = _Counted(buffered)
        return io.BufferedReader(_Filled(_Checked(_Gunzip(packed), packed, name), buffered), buffer_bytes)
    if magic == ZSTD_MAGIC:
        import pyarrow as pa

        packed = _Counted(buffered)
        plain = pa.CompressedInputStream(pa.PythonFile(packed, "r"), "zstd")
        return io.BufferedReader(_Filled(_Checked(plain, packed, name), buffered), buffer_bytes)
    return io.BufferedReader(_Filled(buffered, buffered), buffer_bytes)


def read_share(stream: io.BufferedReader | None) -> float:
    """Return which part of its file a stream of `decompressed` has read so far, 0 where that cannot be known."""
    raw = getattr(stream, "raw", None)
    return raw.share() if isinstance(raw, _Filled) else 0.0


class _Counted(io.RawIOBase):
    """The packed bytes, and how many of them were read."""

    def __init__(self, packed: io.BufferedReader[Any]) -> None:
        self._packed, self.n = packed, 0

    def readable(self) -> bool:
        return True

    def read1(self, size: int) -> bytes:
        data = self._packed.read1(size)
        self.n += len(data)
        return data

    def read(self, size: int | None = -1) -> bytes:
        data = self._packed.read(size)
        self.n += len(data)
        return data


class _Checked:
    """Unpacked bytes, as long as they are not too many for what they come of."""

    def __init__(self, plain: Any, packed: _Counted, name: str) -> None:
        self._plain, self._packed, self._name, self._n = plain, packed, name, 0
        self._free = _any_size.get()

    def readinto(self, buffer: memoryview) -> int:
        count = int(self._plain.readinto(buffer) or 0)
        self._n += count
        if self._n > LARGE and self._n > MOST_RATIO * self._packed.n and not self._free:
            raise InputError(
                expected=f"a compressed file that unpacks to at most {MOST_RATIO:,} times its size",
                found=f"{self._n >> 20:,} MB of {self._packed.n:,} bytes, and more to come",
                path=self._name,
                hint="if it is what it should be, unpack it before, or let it be read (`unpack_any`)",
                kind="unpacked",
            )
        return count


class _Filled(io.RawIOBase):
    """Reads that come back full: pipes and gzip members hand out pieces of any size.

    So the head of a stream, by which formats are told, does not depend on how it came. Damage is told
    after what was whole before it.
    """

    def __init__(self, pieces: Any, file: io.BufferedReader[Any]) -> None:
        self._pieces, self._file = pieces, file
        self._damage: Exception | None = None

    def readable(self) -> bool:
        return True

    def share(self) -> float:
        """Return which part of the file was read; 0 for a pipe, or what else has no length."""
        try:
            return self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1)
        except (OSError, ValueError):
            return 0.0

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        room, filled = memoryview(buffer), 0
        while filled < len(room) and self._damage is None:
            try:
                count = self._pieces.readinto(room[filled:])
            except DAMAGE as error:
                self._damage = error
                break
            if not count:
                return filled
            filled += count
        if not filled and self._damage is not None:
            raise self._damage
        return filled


class _Gunzip(io.RawIOBase):
    """Gzip members one behind another.

    `gzip.GzipFile` forgets, when it meets the damage, what it had decoded just before; this does not.
    """

    def __init__(self, packed: _Counted) -> None:
        self._packed = packed
        self._member: zlib._Decompress | None = None
        self._input = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if not self._input:
                self._input = self._packed.read1(READ_BYTES)
            if self._member is None:
                self._input = self._input.lstrip(b"\0")  # padding between and behind members is allowed
                if not self._input:
                    return 0
                self._member = zlib.decompressobj(wbits=31)
            elif not self._input:
                raise EOFError("the end of the compressed data is missing")
            plain = self._member.decompress(self._input, len(buffer))
            self._input = self._member.unconsumed_tail or self._member.unused_data
            if self._member.eof:
                self._member = None
            if plain:
                buffer[: len(plain)] = plain
                return len(plain)
