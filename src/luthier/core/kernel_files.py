"""Where compiled kernels are kept, and how to know that they are still those of the source.

A compiled kernel contains the kernels it calls, from other files too. Its stamp is therefore a hash of
its own file, of the options it is compiled by, and of every kernel file that this one imports, directly or through
others: an edited callee makes its callers be compiled again. A file that imports anything else has no stamp, and its
kernels are not kept: what they contain could change without notice.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: there two processes may compile the same
    fcntl = None  # type: ignore[assignment]

IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(.*)|import[ \t]+(\w.*))$", re.MULTILINE)
JIT, OPTIONS = "luthier.core.jit", "luthier.core.kernel_options"
HARMLESS = ("numpy", "math", "__future__", "typing")  # Numba knows them, and keeps their version apart
EVERY_RUN = "compiling kernels, and in every run again: "
LONGEST_WAIT, WAIT = 120.0, 0.02  # seconds for what another process compiles, and between two looks


class NoStamp(Exception):
    """The stamp of a kernel file cannot be made; the message says why."""


def imported_names(source: str) -> Iterator[str]:
    """Yield the modules a source imports; of ``from a import b`` the one of `a` and `a.b` that is loaded."""
    for origin, names, modules in IMPORT.findall(source):
        listed = (modules or names).partition("#")[0]
        for name in re.findall(r"(\w[\w.]*)(?:\s+as\s+\w+)?", listed) or [""]:
            inner = f"{origin}.{name}"
            yield name if modules else inner if inner in sys.modules else origin


@functools.cache
def _read(path: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the hash of a kernel file as it was when first asked for, and the kernel files it imports.

    The first answer is kept, because the code in memory is of that time: a file that is edited while the
    program runs must not lend its new hash to old code.
    """
    data = Path(path).read_bytes()
    files: list[str] = []
    if path == sys.modules[OPTIONS].__file__:  # what it imports is in no kernel
        return hashlib.blake2b(data, digest_size=16).digest(), ()
    for name in dict.fromkeys(imported_names(data.decode("utf-8"))):
        if name == JIT or name.endswith("kernels"):
            found = getattr(sys.modules.get(OPTIONS if name == JIT else name), "__file__", None)
            if found is None:
                raise NoStamp(f"{path} imports {name}, whose file is not known")
            files.append(found)
        elif name.partition(".")[0] not in HARMLESS:
            raise NoStamp(f"{path} imports {name}, which is no kernel file")
    return hashlib.blake2b(data, digest_size=16).digest(), tuple(files)


@functools.cache
def stamp(path: str) -> str:
    """Return a hash of a kernel file and of all kernel files it is compiled from.

    Raises
    ------
    NoStamp
        If the file cannot be read, or imports what is neither NumPy nor a kernel file.
    """
    hashes: dict[str, bytes] = {}
    todo = [path]
    while todo:
        here = todo.pop()
        if here in hashes:
            continue
        try:
            hashes[here], files = _read(here)
        except (OSError, UnicodeDecodeError) as error:
            raise NoStamp(f"{here} cannot be read: {error}") from None
        todo += files
    return hashlib.blake2b(b"".join(sorted(hashes.values())), digest_size=16).hexdigest()


@functools.cache
def folders(path: str, chosen: str) -> tuple[Path, ...]:
    """Return where kernels of the file may be kept, best first: chosen, beside the file, home, private."""
    return tuple(_folders(Path(path).resolve().parent, chosen))


def _folders(parent: Path, chosen: str) -> Iterator[Path]:
    own = f"{parent.name}_{hashlib.blake2b(os.fsencode(parent), digest_size=16).hexdigest()}"
    if chosen:
        yield Path(chosen, own)
    yield parent / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - raises nothing
    if Path(home).is_absolute():
        yield Path(home, "luthier", own)
    private = private_folder()
    if private is not None:
        yield private / own


@functools.cache
def is_writable(folder: Path) -> bool:
    """Return whether a file can be made in `folder`, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@functools.cache
def private_folder() -> Path | None:
    """Return a folder for temporary files that is this user's alone (mode 0700), or None.

    Kernels are loaded by `pickle`: whoever can write there can run code as this user.
    """
    if not hasattr(os, "getuid"):
        return None
    try:
        folder = Path(tempfile.gettempdir(), f"luthier-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == 0o700
    return folder if ours else None


class KernelLock:
    """A lock among processes, for a kernel that one of them compiles: the others wait, and find it kept.

    It ends with its process at the latest. Where files cannot be locked, and after `LONGEST_WAIT`, nobody waits.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        self._path = ""

    def acquire(self, path: str, waiting: Callable[[], AbstractContextManager[Any]]) -> bool:
        """Lock a file, which is made for it; return whether another process had it: `waiting` is shown meanwhile."""
        if fcntl is None or self._file is not None:
            return False
        try:
            self._path, self._file = path, os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            if self._is_free():
                return False
            with waiting():
                until = time.monotonic() + LONGEST_WAIT
                while not self._is_free() and time.monotonic() < until:
                    time.sleep(WAIT)
        except OSError:
            return False
        return True

    def _is_free(self) -> bool:
        assert self._file is not None
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # systems differ
            return False
        return True

    def release(self) -> None:
        """Let the others go on."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                Path(self._path).unlink()
            os.close(self._file)
            self._file = None
