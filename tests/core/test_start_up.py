"""How our own command has Numba compile: the same machine code as a host's, with less looking."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

# The same functions with other options each, in a process that has Numba as it is, and in one that remembers calls.
COMPILE = """
import re, sys
import numba
import numpy as np
from numba.core.types import functions
from luthier.core.start_up import remember_calls

calls = []
usual = functions.BaseFunction.get_call_type
def counted(*arguments):
    calls.append(1)
    return usual(*arguments)
functions.BaseFunction.get_call_type = counted
if sys.argv[1] == "remembers":
    remember_calls()
    remember_calls()

def body(a, b, n):
    total, most = 0.0, np.argmax(a)
    for i in range(1, len(a)):
        total += a[i] * b[i - 1] - min(a[i], b[i]) if a[i] < b[i] and i % 3 else np.sqrt(abs(a[i])) + n // 2
        b[i] = total / (1 + i) + b[most] * np.abs(a[:i]).sum()
    return total + n, (most, len(a) > n)

for options in ({}, {"boundscheck": True}, {"fastmath": True}):
    made = numba.njit(**options)(body)
    for kind in (np.float64, np.int64):
        a, b = np.arange(-3, 9).astype(kind), np.arange(12).astype(np.float64)[::-1].copy()
        print(options, made(a, b, 2), b.tolist())
    for text in made.inspect_asm().values():
        print(re.sub(r"0x[0-9a-f]+|(?<=v)[0-9]+(?=B)|[0-9]{9,}", "", text))
print(len(calls), file=sys.stderr)
"""


def test_calls_that_are_remembered_make_the_same_machine_code():
    done = [
        subprocess.run([sys.executable, "-c", COMPILE, how], capture_output=True, text=True, env=environment())
        for how in ("asks", "remembers")
    ]
    assert [child.returncode for child in done] == [0, 0], done[1].stderr
    assert len(done[0].stdout) > 100_000
    assert done[0].stdout == done[1].stdout
    asked, remembered = (int(child.stderr.split()[-1]) for child in done)
    assert remembered < asked / 2


def environment() -> dict[str, str]:
    """Return what a child is started with, which compiles."""
    return {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"} | {"PYTHONHASHSEED": "0"}


# A kernel is compiled in a host's process and in a command's.
WHOSE = """
import sys
from llvmlite.binding import ffi
from luthier.core.start_up import take_process
if sys.argv[1] == "command":
    take_process()
register = ffi.register_lock_callback
from luthier.core._hash_kernels import table_shift
assert ffi.register_lock_callback is register
table_shift(5)
from numba.core.types import functions
print(len(table_shift.signatures), len(ffi.lib._lock._cblist), hasattr(functions.BaseFunction.get_call_type, "usual"))
"""


@pytest.mark.parametrize(("who", "found"), [("host", "1 1 False"), ("command", "1 0 True")])
def test_a_host_has_numba_as_it_is(who, found, tmp_path):
    whole = {**environment(), "NUMBA_CACHE_DIR": str(tmp_path), "LUTHIER_KERNELS": "none"}
    done = subprocess.run([sys.executable, "-c", WHOSE, who], capture_output=True, text=True, env=whole)
    assert done.stdout.strip() == found, done.stderr
