"""Compressed bytes as plain ones: what was whole before the damage is handed out before it is told."""

from __future__ import annotations

import io
import os
import zlib
from typing import Any, BinaryIO

from luthier.core.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
READ_BYTES = 1 << 17

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


def decompressed(raw: BinaryIO, buffer_bytes: int) -> io.BufferedReader[Any]:
    """Return the plain bytes of a stream: gz and zst are told by their first bytes."""
    buffered: io.BufferedReader[Any] = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    magic = buffered.peek(4)[:4]
    plain: Any = buffered
    if magic.startswith(GZIP_MAGIC):
        plain = _Gunzip(buffered)
    elif magic == ZSTD_MAGIC:
        import pyarrow as pa

        plain = pa.CompressedInputStream(pa.PythonFile(buffered, "r"), "zstd")
    return io.BufferedReader(_Filled(plain, buffered), buffer_bytes)


def read_share(stream: io.BufferedReader | None) -> float:
    """Return which part of its file a stream of `decompressed` has read so far, 0 where that cannot be known."""
    raw = getattr(stream, "raw", None)
    return raw.share() if isinstance(raw, _Filled) else 0.0


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

    def __init__(self, packed: io.BufferedReader[Any]) -> None:
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
