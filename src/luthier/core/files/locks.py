"""Files that one process at a time may write to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from luthier.core.errors import LuthierError


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
