"""A disk that fails on command: the n-th thing that is done to files below a folder raises, or all of one file.

What is done is writing, or with `reads` opening to read.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
from pathlib import Path

import pyarrow as pa

TEMPORARY = ".tmp"


class FailingDisk:
    """Counts what is done to files below `home`: making, writing, flushing to disk, naming; lets one of these fail.

    Parameters
    ----------
    at : fail the n-th of them, from 0; None for none
    of : fail all that is done to this file, or to the temporary file that becomes it
    reads : count openings of files to read in place of all this
    """

    def __init__(self, home, at=None, of=None, *, reads=False):
        self.home, self.at, self.of, self.reads = os.path.realpath(home), at, of, reads
        self.log = []  # (what was done, the file it is about)
        self.failed = None

    def touch(self, what, path, source=None):
        """Count one thing that is done to a file; raise where it is to fail, with the names that the system gives."""
        name = self.target(path)
        if name is None or (what == "read") != self.reads:
            return
        number = len(self.log)
        self.log.append((what, name))
        if number == self.at or (self.of is not None and name == self.of):
            self.failed = (what, name)
            names = [os.fspath(path)] if what in ("open", "mkdir", "read") else []
            names = names if source is None else [os.fspath(source), None, os.fspath(path)]
            kind = errno.EIO if self.reads else errno.ENOSPC
            raise OSError(kind, os.strerror(kind), *names)

    def target(self, path):
        """Return the file's name below `home`, of a temporary file the name it will get; None for others."""
        if isinstance(path, int):
            return None
        full = os.path.realpath(os.fsdecode(path))
        if not full.startswith(self.home + os.sep):
            return None
        parts = [_final(part) for part in Path(os.path.relpath(full, self.home)).parts]
        return os.sep.join(parts)


def _final(name):
    """Return ``w.txt`` for ``.w.txt.0123abcd-77-xyz.tmp``."""
    if not (name.startswith(".") and name.endswith(TEMPORARY)):
        return name
    return name[1 : -len(TEMPORARY)].rpartition(".")[0]


class _File(io.FileIO):
    """An unbuffered file whose writes are counted."""

    def __init__(self, disk, path, mode):
        self._disk, self._path = disk, path
        super().__init__(path, mode)

    def write(self, data):
        self._disk.touch("write", self._path)
        return super().write(data)

    def truncate(self, size=None):
        self._disk.touch("truncate", self._path)
        return super().truncate(size)


@contextlib.contextmanager
def failing(disk):
    """Put `disk` between this process and the file system."""
    real_open, real_os_open, real_arrow, real_map = builtins.open, os.open, pa.OSFile, pa.memory_map
    real = {name: getattr(os, name) for name in ("replace", "rename", "mkdir", "fsync")}
    numbers = {}  # of files that fsync may be told of

    def our_open(path, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **more):
        writes = set(mode) & set("wax+")
        if not writes:
            disk.touch("read", path)
        if not writes or disk.target(path) is None:
            return real_open(path, mode, buffering, encoding, errors, newline, **more)
        disk.touch("open", path)
        raw = _File(disk, path, mode.replace("b", "").replace("t", ""))
        numbers[raw.fileno()] = path
        kind = io.BufferedRandom if "+" in mode else io.BufferedWriter
        file = raw if buffering == 0 else kind(raw)
        return file if "b" in mode else io.TextIOWrapper(file, encoding, errors, newline)

    def our_os_open(path, flags, mode=0o777, **more):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not more:
            disk.touch("open", path)
        elif not more and not flags & os.O_DIRECTORY:
            disk.touch("read", path)
        return real_os_open(path, flags, mode, **more)

    def our_arrow(path, mode="r", *rest):
        if "w" not in mode:
            disk.touch("read", path)
        if "w" not in mode or disk.target(path) is None:
            return real_arrow(path, mode, *rest)
        return pa.PythonFile(our_open(os.fsdecode(path), "wb", 0), "w")

    def our_map(path, *rest):
        disk.touch("read", path)
        return real_map(path, *rest)

    def on_two(name):
        def act(source, target, **more):
            disk.touch(name, target, source)
            return real[name](source, target, **more)

        return act

    def our_mkdir(path, mode=0o777, **more):
        if not Path(path).exists():
            disk.touch("mkdir", path)
        return real["mkdir"](path, mode, **more)

    def our_fsync(handle):
        if handle in numbers:
            disk.touch("fsync", numbers[handle])
        return real["fsync"](handle)

    ours = {"replace": on_two("replace"), "rename": on_two("rename"), "mkdir": our_mkdir, "fsync": our_fsync}
    try:
        builtins.open, os.open, pa.OSFile, pa.memory_map = our_open, our_os_open, our_arrow, our_map
        for name, function in ours.items():
            setattr(os, name, function)
        yield disk
    finally:
        builtins.open, os.open, pa.OSFile, pa.memory_map = real_open, real_os_open, real_arrow, real_map
        for name, function in real.items():
            setattr(os, name, function)
