"""Kernels that were compiled when the package was built, in one file beside it.

A pack fits one Numba, one minor version of Python, one platform, and all processors that have the features it was made
for. Where anything differs, or the source of a kernel does, kernels are compiled as without a pack. It holds machine
code alone: what a compiler needs to inline a kernel into another is left out, and made anew should that be needed.

The file: a line of JSON that says for what it is, a table of fixed-size entries, their data, and the kernels' names.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import mmap
import os
import struct
import sys
import sysconfig
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding  # type: ignore[import-untyped]

FORMAT, FOLDER, ENDING = 1, "kernels", ".kernels"
CHOSEN = "LUTHIER_KERNELS"  # names another pack; "none" for none
DIGEST = 16
ENTRY = struct.Struct(f"<{DIGEST}sQQ{DIGEST}s")  # what it is, where it begins, how long it is, what its bytes are
# What every processor since 2015 has, as LLVM names it ("x86-64-v3"); no other platform has a pack.
PORTABLE = {
    "x86_64": (
        "x86-64-v3",
        "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,"
        "+sse4.1,+sse4.2,+ssse3,+x87,+xsave",
    )
}
UNLISTED = ("cx8", "cmov", "fxsr", "mmx", "x87", "sse", "sse2")  # that every such processor has, listed or not


@dataclasses.dataclass(frozen=True, eq=False)
class Pack:
    """A pack that fits this process: its bytes, where each entry is, and the target it was compiled for."""

    path: Path
    data: mmap.mmap
    entries: dict[bytes, tuple[int, int, bytes]]
    target: tuple[str, str, str]
    names: tuple[int, int]

    def load(self, function: Any, stamp: str, key: tuple[Any, ...]) -> tuple[bytes, tuple[Any, ...]] | None:
        """Return what was packed of a kernel, and the key it has there; None if it is not there, or damaged."""
        found = self.entries.get(name_of(function, stamp, key))
        if found is None:
            return None
        at, length, digest = found
        packed = self.data[at : at + length]
        return (zlib.decompress(packed), (key[0], self.target, *key[2:])) if _digest(packed) == digest else None

    def kernels(self) -> dict[str, str]:
        """Return the stamp of every kernel in it, by the kernel's full name; none where that part is damaged."""
        try:
            found: dict[str, str] = json.loads(zlib.decompress(self.data[self.names[0] : sum(self.names)]))
        except (zlib.error, ValueError):
            return {}
        return found


@functools.cache
def find_pack() -> Pack | str:
    """Return the pack for this process, or why there is none."""
    chosen = os.environ.get(CHOSEN, "")
    path = Path(chosen) if chosen else Path(__file__).parent.parent / FOLDER / pack_name()
    if chosen == "none":
        return f"{CHOSEN} says so"
    config = numba.config
    if config.BOUNDSCHECK or config.CPU_NAME or config.CPU_FEATURES or int(config.OPT) != 3 or config.DEBUGINFO_DEFAULT:
        return "a variable of Numba's asks for other code"
    try:
        return _open(path)
    except FileNotFoundError:
        return f"there is no {path}"
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        return f"{path} is damaged: {error}"


def _open(path: Path) -> Pack | str:
    """Return a pack if it fits, or in which way it does not."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    first = data.find(b"\n") + 1
    about = json.loads(data[:first])
    here = {"format": FORMAT, **_versions()}
    for what, found in here.items():
        if about[what] != found:
            return f"{path} is for {what} {about[what]}, found {found}"
    cpu, features = about["cpu"], about["features"]
    has = binding.get_host_cpu_features()
    lacks = [f[1:] for f in features.split(",") if f[0] == "+" and not has.get(f[1:], f[1:] in UNLISTED)]
    if lacks:
        return f"{path} is for processors that have {', '.join(lacks)}"
    end = first + about["kernels"] * ENTRY.size
    table = {name: (at, length, digest) for name, at, length, digest in ENTRY.iter_unpack(data[first:end])}
    return Pack(path, data, table, (about["triple"], cpu, features), (about["names"], about["names_size"]))


def pack_name() -> str:
    """Return the name of the pack for this Python, platform and Numba."""
    return f"cp{sys.version_info[0]}{sys.version_info[1]}-{sysconfig.get_platform()}-numba{numba.__version__}{ENDING}"


def _versions() -> dict[str, Any]:
    return {
        "numba": numba.__version__,
        "python": list(sys.version_info[:2]),
        "llvm": list(binding.llvm_version_info),
        "triple": binding.get_process_triple(),
    }


def name_of(function: Any, stamp: str, key: tuple[Any, ...]) -> bytes:
    """Return a digest of what tells one compiled kernel from another, but for the processor."""
    signature, _, code, fields = key
    text = repr((function.__module__, function.__qualname__, stamp, tuple(map(str, signature)), code, fields))
    return hashlib.blake2b(text.encode(), digest_size=DIGEST).digest()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST).digest()


@dataclasses.dataclass(frozen=True)
class Packed:
    """A kernel for the pack: the function, its stamp, its key, and all that is kept of it, pickled."""

    function: Any
    stamp: str
    key: tuple[Any, ...]
    data: bytes


def write_pack(kernels: Iterable[Packed], path: Path) -> int:
    """Write kernels that were all compiled for one target into a file; return how many."""
    table, blobs, names = [], [], {}
    target: tuple[str, str, str] = ("", "", "")
    at = 0
    for one in kernels:
        target = one.key[1]
        packed = zlib.compress(one.data, 6)
        table.append((name_of(one.function, one.stamp, one.key), at, len(packed), _digest(packed)))
        names[f"{one.function.__module__}.{one.function.__qualname__}"] = one.stamp
        blobs.append(packed)
        at += len(packed)
    listed = zlib.compress(json.dumps(names, sort_keys=True).encode())
    about = {"format": FORMAT, **_versions(), "cpu": target[1], "features": target[2], "kernels": len(table)}
    head, begin = b"", 0
    for _ in range(3):  # numbers of its own length are in it
        begin = len(head) + ENTRY.size * len(table)
        head = (
            json.dumps({**about, "names": begin + at, "names_size": len(listed)}).encode().ljust(len(head) - 1) + b"\n"
        )
    entries = b"".join(ENTRY.pack(name, place + begin, size, digest) for name, place, size, digest in table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + entries + b"".join(blobs) + listed)
    return len(table)


def names_only(bitcode: bytes, wanted: set[str]) -> bytes:
    """Return a module that has the names Numba looks up and nothing in them."""
    module = binding.parse_bitcode(bitcode)
    lines = [f'target triple = "{module.triple}"', f'target datalayout = "{module.data_layout}"']
    lines += [
        f'define void @"{one.name}"() {{ ret void }}'
        for one in module.functions
        if not one.is_declaration and one.name in wanted
    ]
    lines += [
        f'@"{one.name}" = global i8 0'
        for one in module.global_variables
        if not one.is_declaration and one.name.startswith("_ZN08NumbaEnv")
    ]
    found: bytes = binding.parse_assembly("\n".join(lines)).as_bitcode()
    return found
