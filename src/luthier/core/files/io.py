"""Bytes in and out: compressed streams, blocks of whole lines, and writes that cannot be half done."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import gzip
import hashlib
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from luthier.core.arrays import Bytes, Int64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.streams import DAMAGE, damage_error, decompressed

# Files that one process at a time may write to.


@contextlib.contextmanager
def locked(path: str | os.PathLike[str], *, wait: bool = False) -> Iterator[None]:
    """Hold `path` for one writer inside the block; the system lets go of it when the process ends.

    What is locked is a file beside it, ``.<name>.lock``, because `path` itself may be replaced; it is removed at
    the end. Where the folder cannot be written or the system has no such locks, nothing is held.

    Raises
    ------
    LuthierError
        If another holds it; with `wait`, that one's end is waited for.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.lock")
    handle = _hold(beside, str(path), wait=wait)
    try:
        yield
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):  # while it is held, so that nobody loses a file just made
                beside.unlink()
            os.close(handle)


def _hold(beside: Path, name: str, *, wait: bool) -> int | None:
    """Return the handle of a locked file, or None where nothing can be locked."""
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(handle)
            raise LuthierError(
                f"{name}: another process is writing here. hint: wait for its end, or name another file"
            ) from None
        except OSError:  # a file system without locks
            os.close(handle)
            return None
        with contextlib.suppress(OSError):
            if beside.stat().st_ino == os.fstat(handle).st_ino:
                return handle
        os.close(handle)  # its owner removed it between our opening and locking it


BLOCK_BYTES = 1 << 20
LONGEST_LINE = 1 << 28
BOM = b"\xef\xbb\xbf"
STDIN = "-"
PACKED = (".gz", ".zst")
LINE_FEED = 10
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"} | dict.fromkeys(
    (stat.S_IFCHR, stat.S_IFBLK), "a device"
)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
    """Return the name by which complaints call a file; bytes that are not UTF-8 are written out."""
    if str(path) == STDIN:
        return "<standard input>"
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[io.BufferedReader]:
    """Yield the decompressed bytes of a file (plain, gz or zst, told by content) or of ``-``."""
    raw: BinaryIO
    if str(path) == STDIN:
        with _telling_damage(path):
            yield decompressed(sys.stdin.buffer, BLOCK_BYTES, display_name(path))
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115 - closed below, once the errors of opening are told apart
    except IsADirectoryError:
        raise InputError(expected="a file", found="a folder", path=str(path)) from None
    except OSError as error:
        raise InputError(
            expected="a readable file", found=(error.strerror or str(error)).lower(), path=str(path), hint=_beside(path)
        ) from None
    with raw, _telling_damage(path):
        yield decompressed(raw, BLOCK_BYTES, display_name(path))


def regular(path: str | os.PathLike[str]) -> Path:
    """Return the path of a regular file; raise `InputError` for what may never end: devices, pipes, sockets.

    A path that somebody typed may be a pipe. What a file names, or what stands in a folder, may not.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - names may be bytes
    except OSError as error:
        raise InputError(
            expected="a readable file",
            found=(error.strerror or str(error)).lower(),
            path=display_name(path),
            hint=_beside(path),
        ) from None
    if not stat.S_ISREG(mode):
        raise InputError(
            expected="a regular file", found=_KINDS.get(stat.S_IFMT(mode), "none"), path=display_name(path)
        )
    return Path(path)


def _beside(path: str | os.PathLike[str]) -> str:
    """Return the hint at a file of nearly the same name: packed, or not packed."""
    name = str(path)
    others = [name + ending for ending in PACKED] + [name.removesuffix(e) for e in PACKED if name.endswith(e)]
    found = next((other for other in others if os.path.isfile(other)), "")  # noqa: PTH113 - names may be too long
    return f"there is {display_name(found)}" if found and not Path(name).exists() else ""


@contextmanager
def _telling_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say which file is damaged, where the reader did not."""
    try:
        yield
    except (EOFError, zlib.error) as error:
        raise damage_error(error, display_name(path)) from None


def line_blocks(stream: io.BufferedReader, path: str, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    """Yield the stream as blocks of whole lines, each of about `block_bytes` (or one longer line).

    The blocks are copies that the caller owns. Memory is bounded by the block and the longest line.
    When the stream breaks, the whole lines before the damage are yielded first.

    Raises
    ------
    InputError
        A line of more than `LONGEST_LINE` bytes.
    """
    tail: Bytes = np.zeros(0, dtype=np.uint8)
    first_line, broken = 1, None
    while broken is None:
        # one byte more for a line feed that is missing; twice the tail, so that a long line is copied a few times only
        room = np.empty(max(2 * len(tail), block_bytes) + 1, dtype=np.uint8)
        room[: len(tail)] = tail
        filled, broken = _fill(stream, memoryview(room), len(tail))  # type: ignore[arg-type]
        if filled == len(tail) and broken is None:
            if not filled:
                return
            room[filled] = LINE_FEED  # the last line has no end of its own
            filled += 1
        ends = np.flatnonzero(room[len(tail) : filled] == LINE_FEED) + len(tail)  # the tail has none
        cut = int(ends[-1]) + 1 if len(ends) else 0
        longest = int(np.max(np.diff(ends, prepend=-1), initial=filled - cut))
        if longest > LONGEST_LINE:
            raise InputError(
                expected=f"lines of at most {LONGEST_LINE >> 20} MB",
                found="a longer one",
                path=path,
                line=first_line + (int(np.argmax(np.diff(ends, prepend=-1) > LONGEST_LINE)) if len(ends) else 0),
                hint="is it a text at all?",
                kind="long line",
            )
        tail = room[cut:filled].copy()
        if cut:
            yield LineBlock(room[:cut], ends, first_line)
            first_line += len(ends)
    raise damage_error(broken, path, first_line)


def _fill(stream: io.BufferedReader, room: memoryview, filled: int) -> tuple[int, Exception | None]:
    """Read into ``room[filled:-1]`` until it is full, or the end or damage comes; return how far it is full."""
    while filled < len(room) - 1:
        try:
            more = stream.readinto1(room[filled:-1])  # unlike readinto, it loses nothing before damage
        except DAMAGE as error:
            return filled, error
        if not more:
            break
        filled += more
    return filled, None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `LuthierError` if nothing can be written at `path`: better before hours of work than after."""
    if str(path) == STDIN:
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise LuthierError(f"{target}: cannot write here: it is a folder. hint: name a file in it")
    if target.exists() and not target.is_file():
        return  # a device or a pipe
    if not os.access(target.parent, os.W_OK | os.X_OK):
        why = "no permission" if target.parent.is_dir() else f"there is no folder {str(target.parent)!r}"
        raise LuthierError(f"{target}: cannot write here: {why}. hint: make it, or name another place")


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder and those above it, if they are not there."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise LuthierError(f"{display_name(path)}: cannot write here: {why}. hint: name another place") from None
    return Path(path)


def check_apart(output: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """Raise `LuthierError` if `output` is one of the files that are read: it would be lost."""
    if str(output) == STDIN:
        return
    for path in inputs:
        if path is not None and Path(path).exists() and Path(output).exists() and Path(path).samefile(output):
            raise LuthierError(f"{output}: cannot write here: it is read, and would be lost. hint: name another file")


def check_distinct(*outputs: str | os.PathLike[str] | None) -> None:
    """Raise `LuthierError` if two files that a job writes are one: the first would be lost."""
    seen: set[str] = set()
    for path in outputs:
        if path is None or not str(path):
            continue
        place = str(path) if str(path) == STDIN else os.path.realpath(path)
        if place in seen and (not Path(place).exists() or Path(place).is_file()):  # a device takes both
            raise LuthierError(f"{display_name(path)}: expected another file for each result, found it twice")
        seen.add(place)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the name `path` only when all went well.

    A write that fails, is interrupted or is killed leaves what stood at `path` before it. A symbolic
    link stays and its file is replaced; a device or a pipe is written to as it is.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with naming(target):
            yield target
        return
    try:
        kept = target.stat().st_mode & 0o777 if target.exists() else None
        temporary = target.with_name(f"{_mark(target)}{os.urandom(6).hex()}.tmp")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if kept is None else kept | 0o200))
    except OSError as error:
        raise LuthierError(
            f"{target}: cannot write here: {(error.strerror or str(error)).lower()}. "
            "hint: check that the folder exists and is yours to write to"
        ) from None
    _remove_abandoned(target)
    try:
        with naming(target, temporary):
            yield temporary
            with open(temporary, "rb+") as written:
                os.fsync(written.fileno())
            if kept is not None:  # a new file has what the umask says
                temporary.chmod(kept)
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def naming(target: str | Path, temporary: Path | None = None) -> Iterator[None]:
    """Turn what goes wrong with a file being written into an error with its name: the system often names none."""
    try:
        yield
    except BrokenPipeError:  # whoever read it has gone, and need not be told
        raise
    except OSError as error:
        if error.filename is not None and os.fsdecode(error.filename) != str(temporary):
            raise
        why = os.strerror(error.errno).lower() if error.errno else str(error).lower()
        hint = "make room, or name another place" if error.errno in NO_ROOM else "name another place"
        raise LuthierError(f"{target}: cannot write here: {why}; nothing was kept. hint: {hint}") from None


def _mark(target: Path) -> str:
    """Return how names of this process's temporary files beside `target` begin: target, machine, process."""
    import platform  # what only writes need, reads need not wait for

    machine = zlib.crc32(platform.node().encode())
    return f".{target.name}.{machine:08x}-{os.getpid()}-"


def _remove_abandoned(target: Path) -> None:
    """Remove what writers of `target` left that were killed on this machine; those of living processes stay."""
    stem = f".{target.name}."
    machine = _mark(target)[len(stem) :].partition("-")[0]
    try:
        names = [entry.name for entry in os.scandir(target.parent) if entry.name.startswith(f"{stem}{machine}-")]
    except OSError:
        return
    for name in names:
        process = re.fullmatch(r"(\d+)-\w+\.tmp", name[len(f"{stem}{machine}-") :])
        if process is not None and not _is_alive(int(process[1])):
            with suppress(OSError):
                (target.parent / name).unlink()


def _is_alive(process: int) -> bool:
    """Return whether there is such a process; where the system cannot be asked, there is."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file to write to: standard output for ``-``; gz or zst by the name's ending."""
    if str(path) == STDIN:
        with naming("<standard output>"):
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


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write texts, one per line, in UTF-8."""
    with open_output(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8"))


def content_hash(path: str | os.PathLike[str]) -> str:
    """Return a hash of a file's bytes, as they are on disk."""
    try:
        with open(regular(path), "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise InputError(expected="a readable file", found=found, path=display_name(path)) from None
