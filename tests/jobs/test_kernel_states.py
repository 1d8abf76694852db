"""Where every kernel is: packed, kept, or to be compiled, and why; kernels compiled ahead in a process of their own."""

import ast
import json
import subprocess
import sys

import numba
import pytest

from luthier.core.start_up import as_command
from luthier.core.tasks import find
from luthier.jobs import warm
from luthier.jobs.warm import (
    SURFACE_OF_FEW,
    TUNE_FEW,
    WALK_PLANES,
    compile_ahead,
    entry_kernels,
    kernel_modules,
    kernel_states,
)

pytestmark = pytest.mark.compiled
FILE = "luthier.core._hash_kernels"


def test_every_kernel_that_python_calls_has_a_state_and_a_reason():
    states, pack = kernel_states()
    assert {f"luthier.{state.name}" for state in states} == set(entry_kernels(kernel_modules()))
    assert all(bool(state.why) != (state.packed or state.kept) for state in states)
    assert pack


def test_one_file_can_be_asked_for():
    states, _ = kernel_states(FILE)
    assert {state.name.rpartition(".")[0] for state in states} == {FILE.removeprefix("luthier.")}


def test_the_command_counts_them(run_cli):
    code, out, _ = run_cli("warm", "--status", "--json")
    found = json.loads(out)
    assert code == 0
    missing = [kernel for kernel in found["kernels"] if not (kernel["packed"] or kernel["kept"])]
    assert found["counts"]["to compile"] == len(missing)
    assert f"{len(found['kernels'])} kernels: " in run_cli("warm", "--status")[1]


def compile_something():
    numba.njit(lambda x: x + 1)(1)


@pytest.mark.parametrize("inside", [False, True], ids=["host", "command"])
def test_a_process_is_started_in_our_own_command_only_and_ends_with_the_block(monkeypatch, inside):
    started = []

    class Child:
        def __init__(self, command, **_):
            started.append(command[-1])

        def wait(self):
            started.append("waited")

        kill = communicate = wait

    lacking = warm.KernelState("a", packed=False, kept=False, why="never")
    monkeypatch.setattr(warm, "kernel_states", lambda only: ([lacking], only))
    monkeypatch.setattr(subprocess, "Popen", Child)
    if inside:
        with as_command(), compile_ahead("somewhere:job", FILE, "chrf", threads=2) as wait:
            assert started == []
            compile_something()
            compile_something()
            wait()
        assert "run_apart('somewhere:job', *('chrf',))" in started[0]
        assert started[1:] == ["waited"] * 3
    else:
        with compile_ahead("somewhere:job", FILE, threads=2) as wait:
            compile_something()
            wait()
        assert started == []


def test_nothing_is_started_for_one_thread_or_where_all_kernels_are_there(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    there = warm.KernelState("a", packed=True, kept=False, why="")
    monkeypatch.setattr(warm, "kernel_states", lambda only: ([there], only))
    for threads in (1, 2):
        with as_command(), compile_ahead("somewhere:job", FILE, threads=threads) as wait:
            compile_something()
            wait()


def test_a_process_that_compiles_ends_with_the_one_that_started_it():
    code = "from luthier.jobs.warm import end_with_input; import time; end_with_input(); print(1, flush=True)"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", f"{code}; time.sleep(600)"], **pipes) as child:
        child.stdout.readline()
        assert child.poll() is None
        child.stdin.close()
        assert child.wait(timeout=300) == 1


@pytest.mark.parametrize(
    ("path", "arguments"), [(SURFACE_OF_FEW, ["chrf"]), (TUNE_FEW, ["chrf", "auto", "3"]), (WALK_PLANES, [])]
)
def test_what_is_run_ahead_runs(path, arguments, recwarn):
    find(path)(*arguments)


def test_lists_of_one_row_compile_all_that_a_surface_needs_behind_its_faces():
    code = """
from luthier.jobs.warm import run_apart
run_apart({path!r}, *{arguments!r})
from luthier.geometry.plane import _arrangement_kernels, _face_kernels, _stream_kernels
for kernel in (_stream_kernels.stream, _arrangement_kernels.measure, _face_kernels.subdivide):
    print(sorted(map(str, kernel.signatures)))
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", code.format(path=path, arguments=arguments)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for path, arguments in ((WALK_PLANES, ()), (SURFACE_OF_FEW, ("chrf",)))
    ]
    walked, wanted = ([set(ast.literal_eval(line)) for line in lines] for lines in found)
    assert walked[2] == set()
    assert wanted[2]
    for own, every in zip(walked[:2], wanted[:2], strict=True):
        assert own
        assert own <= every


def test_a_pack_needs_a_platform_that_has_one(run_cli, tmp_path, monkeypatch):
    monkeypatch.setattr(warm.platform, "machine", lambda: "abacus")
    code, _, err = run_cli("warm", "--pack", tmp_path)
    assert code == 2
    assert "expected Linux on x86_64 for a pack" in err
