"""Bytes in and out: compressed streams, blocks of whole lines, and writes that cannot be half done."""

from __future__ import annotations

import dataclasses
import gzip
import io
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from luthier.core.arrays import Bytes, Int64
from luthier.core.errors import InputError, LuthierError

BLOCK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
BOM = b"\xef\xbb\xbf"
STDIN = "-"
LINE_FEED = 10


@dataclasses.dataclass(frozen=True)
class LineBlock:
    """A stretch of a file that holds whole lines.

    Attributes
    ----------
    data : (B,) uint8
        The bytes, each line with its line feed (the last line of a file gets one if it has none).
    ends : (L,) int64
        Where the line feeds stand.
    first_line : int
        Number of the first line, from 1.
    """

    data: Bytes
    ends: Int64
    first_line: int


def display_name(path: str | os.PathLike[str]) -> str:
    """Return the name by which complaints call a file."""
    return "<standard input>" if str(path) == STDIN else str(path)


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield the decompressed bytes of a file (plain, gz or zst, told by content) or of ``-``."""
    raw: BinaryIO
    if str(path) == STDIN:
        raw = sys.stdin.buffer
        yield _decompressed(raw)
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115 - closed below, once the errors of opening are told apart
    except IsADirectoryError:
        raise InputError(expected="a file", found="a folder", path=str(path)) from None
    except OSError as error:
        raise InputError(
            expected="a readable file", found=(error.strerror or str(error)).lower(), path=str(path)
        ) from None
    with raw:
        yield _decompressed(raw)


def _decompressed(raw: BinaryIO) -> BinaryIO:
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
    magic = buffered.peek(4)[:4]
    if magic.startswith(GZIP_MAGIC):
        return gzip.GzipFile(fileobj=buffered)  # type: ignore[return-value]
    if magic == ZSTD_MAGIC:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(buffered, "r"), "zstd")  # type: ignore[no-any-return]
    return buffered


class TruncatedError(InputError):
    """A compressed file that ends, or breaks, before its end."""


# What the decompressors raise when a stream ends, or breaks, before its end.
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, OSError)


def damage_error(error: Exception, path: str, line: int) -> TruncatedError:
    """Return the complaint about a compressed stream that broke at `line`."""
    return TruncatedError(
        expected="a whole compressed file",
        found=f"damaged or cut off data ({_first_sentence(error)})",
        path=path,
        line=line,
        hint="fetch or write the file again; --skip-bad keeps the lines before the damage",
        kind="truncated",
    )


def _first_sentence(error: Exception) -> str:
    return str(error).strip().rstrip(".").split("\n")[0]


def line_blocks(stream: BinaryIO, path: str, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    """Yield the stream as blocks of whole lines, each of about `block_bytes` (or one longer line).

    The blocks are copies that the caller owns. Memory is bounded by the block and the longest line.
    When the stream breaks, the whole lines before the damage are yielded first.
    """
    tail, first_line = b"", 1
    while True:
        broken: TruncatedError | None = None
        try:
            chunk = stream.read(block_bytes)
        except DAMAGE as error:
            broken, chunk = damage_error(error, path, first_line), b""
        cut = chunk.rfind(b"\n") + 1
        if chunk and not cut:
            tail += chunk
            continue
        whole, tail = tail + chunk[:cut], (tail + chunk if not chunk else chunk[cut:])
        if not chunk and broken is None:
            whole, tail = (tail + b"\n" if tail else b""), b""
        elif not chunk:
            whole = b""
        if whole:
            data = np.frombuffer(whole, dtype=np.uint8)
            ends = np.flatnonzero(data == LINE_FEED)
            yield LineBlock(data, ends, first_line)
            first_line += len(ends)
        if broken is not None:
            broken.line = first_line
            raise broken
        if not chunk:
            return


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `LuthierError` if nothing can be written at `path`: better before hours of work than after."""
    target = Path(path)
    if str(path) == STDIN:
        return
    if target.is_dir():
        raise LuthierError(f"{target}: cannot write here: it is a folder. hint: name a file in it")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        why = "no permission" if target.parent.is_dir() else f"there is no folder {str(target.parent)!r}"
        raise LuthierError(f"{target}: cannot write here: {why}. hint: make it, or name another place")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the name `path` only when all went well.

    A write that fails, is interrupted or is killed leaves what stood at `path` before it.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise LuthierError(
            f"{target}: cannot write here: {(error.strerror or str(error)).lower()}. "
            "hint: check that the folder exists and is yours to write to"
        ) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        temporary.chmod(mode & 0o777)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file to write to: standard output for ``-``; gz or zst by the name's ending."""
    if str(path) == STDIN:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_write(path) as temporary, open(temporary, "wb") as raw:
        if str(path).endswith(".gz"):
            # mtime=0: the same content gives the same bytes
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as packed:
                yield packed  # type: ignore[misc]
        elif str(path).endswith(".zst"):
            import pyarrow as pa

            with pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd") as packed:
                yield packed
        else:
            yield raw
