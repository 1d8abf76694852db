"""Packed kernels: loaded where they fit, compiled where anything differs, with the same values in every case.

Every run is a child process with an empty cache: what is loaded there comes from the pack.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import luthier
from luthier.core.kernel_pack import ENTRY, PORTABLE

pytestmark = [pytest.mark.compiled, pytest.mark.slow]
SOURCE = Path(luthier.__file__).parent
CALLER = """
from luthier.core.jit import kernel
from made._callee_kernels import callee

@kernel
def caller(x):
    return callee(x) + 1
"""
CALLEE = """
import numpy as np
from luthier.core.jit import kernel

@kernel
def callee(x):
    return np.arange(x).sum() + {more}
"""
PACK = """
from pathlib import Path
from made._caller_kernels import caller
from made._callee_kernels import callee
caller(3), callee(3)
from luthier.core.kernel_pack import write_pack
found = [one for kernel in (caller, callee) for one in kernel._cache.packable()]
print(write_pack(found, Path(PATH)))
"""
RUN = """
import os
from luthier.core.start_up import take_process
take_process()
from made._caller_kernels import caller
from made._callee_kernels import callee
from luthier.core.jit import compiler_seconds
from luthier.core.kernel_pack import find_pack
values = [kernel(3) for kernel in KERNELS]
more = callee(3.0) if FLOATS else None
print(values, compiler_seconds()[0] > 0, str(find_pack())[:60], more)
"""


def child(folder, code, **variables):
    """Run code in a new process with an empty cache; return the words it prints."""
    environment = {**os.environ, "PYTHONPATH": f"{folder.parent}{os.pathsep}{SOURCE.parent}", **variables}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # an edit within the same second would be overlooked by Python itself
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Return a package of two kernels, one of which calls the other, and its pack."""
    folder = tmp_path_factory.mktemp("packed") / "made"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "_caller_kernels.py").write_text(CALLER)
    (folder / "_callee_kernels.py").write_text(CALLEE.format(more=10))
    pack = folder.parent / "made.kernels"
    code = PACK.replace("PATH", repr(str(pack)))
    assert child(folder, code, NUMBA_CACHE_DIR=str(folder.parent / "first"), LUTHIER_KERNELS="none") == "2"
    return folder, pack


def run(folder, pack, cache, kernels="[caller, callee]", floats=False, **variables):
    """Call kernels with a pack and an empty cache; return their values, and whether anything was compiled."""
    code = RUN.replace("KERNELS", kernels).replace("FLOATS", str(floats))
    values, rest = child(folder, code, NUMBA_CACHE_DIR=str(cache), LUTHIER_KERNELS=str(pack), **variables).split("] ")
    return json.loads(values + "]"), rest.startswith("True"), rest.partition(" ")[2]


def test_packed_kernels_run_without_being_compiled_and_nothing_is_kept(packed, tmp_path):
    values, compiled, _ = run(*packed, tmp_path)
    assert (values, compiled) == ([14, 13], False)
    assert list(tmp_path.rglob("*.nbc")) == []


def test_a_packed_kernel_is_compiled_after_all_where_another_inlines_it(packed, tmp_path):
    """`callee` comes from the pack, then a new kernel calls it."""
    more = "[callee, __import__('luthier.core.jit', fromlist=['kernel']).kernel(lambda x: callee(x) * 2)]"
    assert run(*packed, tmp_path, more)[:2] == ([13, 26], True)


def test_other_types_are_compiled(packed, tmp_path):
    values, compiled, rest = run(*packed, tmp_path, "[callee]", floats=True)
    assert (values, compiled) == ([13], True)
    assert rest.endswith(" 13.0")


def test_an_edited_callee_is_compiled(packed, tmp_path):
    folder, pack = packed
    (folder / "_callee_kernels.py").write_text(CALLEE.format(more=99))
    try:
        assert run(folder, pack, tmp_path)[:2] == ([103, 102], True)
    finally:
        (folder / "_callee_kernels.py").write_text(CALLEE.format(more=10))


@pytest.mark.parametrize("part", ["table", "data"])
def test_one_damaged_byte_is_noticed(packed, tmp_path, part):
    folder, pack = packed
    data = bytearray(pack.read_bytes())
    first = data.index(b"\n") + 1
    places = {"table": [first + 5, first + ENTRY.size + 5], "data": range(first + 2 * ENTRY.size, len(data), 64)}
    for place in places[part]:
        data[place] ^= 0x10
    damaged = tmp_path / "damaged.kernels"
    damaged.write_bytes(data)
    assert run(folder, damaged, tmp_path / "cache")[:2] == ([14, 13], True)


@pytest.mark.parametrize(
    ("old", "new", "variable", "said"),
    [
        ('"numba": "', '"numba": "9', "", "is for numba 9"),
        ("+", "+avx1024f,+", "", "is for processors that have avx1024f"),
        ('{"format"', '{"form', "", "is damaged"),
        ("", "", "NUMBA_OPT=1", "a variable of Numba's asks for other code"),
    ],
)
def test_a_pack_that_does_not_fit_is_not_used(packed, tmp_path, old, new, variable, said):
    _, pack = packed
    head, _, rest = pack.read_bytes().partition(b"\n")
    other = tmp_path / "x"
    other.write_bytes(head.replace(old.encode(), new.encode(), 1) + b"\n" + rest)
    variables = dict([variable.split("=")]) if variable else {}
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "LUTHIER_KERNELS": str(other), **variables}
    code = "from luthier.core.kernel_pack import find_pack; print(find_pack())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert said in told.stdout


def test_the_portable_processor_is_one_that_llvm_knows():
    from llvmlite import binding

    binding.initialize_native_target()
    known = set(binding.get_host_cpu_features())
    for _, features in PORTABLE.values():
        assert {name[1:] for name in features.split(",")} - known <= {
            "cx8",
            "cmov",
            "fxsr",
            "mmx",
            "x87",
            "sse",
            "sse2",
        }
