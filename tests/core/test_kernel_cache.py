"""Kept kernels are those of the source as it is now, in all its files; where nothing can be kept, all goes on.

Every run is a child process: what a process has loaded does not change under its feet.
"""

from __future__ import annotations

import ast
import contextlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import luthier
from luthier.core.kernel_files import KernelLock, imported_names

pytestmark = pytest.mark.compiled
SOURCE = Path(luthier.__file__).parent

CALLER = """
from luthier.core.jit import kernel
from made._middle_kernels import middle

@kernel
def caller(x):
    return middle(x) + 1
"""
MIDDLE = """
from luthier.core.jit import inner_kernel
from made._callee_kernels import callee

@inner_kernel
def middle(x):
    return callee(x)
"""
CALLEE = """
from luthier.core.jit import kernel
TIMES = {times}

@kernel
def callee(x):
    return TIMES * x
"""
RUN = """
from contextlib import nullcontext
{before}
from luthier.core.progress import speaking
with speaking(lambda label, total: nullcontext(len), lambda message: print("SAID", message)):
    from made._caller_kernels import caller
    print("VALUE", caller({argument}))
    print("LOADED", sum(caller.stats.cache_hits.values()))
"""


@pytest.fixture
def made(tmp_path):
    """Return the folder of a package whose kernel calls one of another file, and that one of a third."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "_caller_kernels.py").write_text(CALLER)
    (folder / "_middle_kernels.py").write_text(MIDDLE)
    (folder / "_callee_kernels.py").write_text(CALLEE.format(times=10))
    return folder


def run(folder, before="", argument="1", **variables):
    """Call the package's kernel in a new process; return its value, whether it was loaded, and what was said."""
    environment = {**os.environ, "PYTHONPATH": f"{folder.parent}{os.pathsep}{SOURCE.parent}", **variables}
    environment["LUTHIER_KERNELS"] = "none"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # an edit within the same second would be overlooked by Python itself
    environment = {k: v for k, v in environment.items() if v and k != "NUMBA_DISABLE_JIT"}
    code = RUN.format(before=before, argument=argument)
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert child.returncode == 0, child.stderr
    lines = [line.partition(" ") for line in child.stdout.splitlines()]
    said = [rest for word, _, rest in lines if word == "SAID"]
    told = {word: int(rest) for word, _, rest in lines if word != "SAID"}
    return told["VALUE"], told["LOADED"] > 0, said


@pytest.mark.slow
def test_an_edited_callee_is_compiled_into_its_callers_again(made, tmp_path):
    cache = str(tmp_path / "chosen")
    assert run(made, NUMBA_CACHE_DIR=cache)[:2] == (11, False)
    assert run(made, NUMBA_CACHE_DIR=cache)[:2] == (11, True)
    (made / "_callee_kernels.py").write_text(CALLEE.format(times=99))  # of the same length
    assert run(made, NUMBA_CACHE_DIR=cache)[:2] == (100, False)
    assert list(Path(cache).rglob("*.nbc"))
    assert not list(made.rglob("*.nbc"))


@pytest.mark.slow
def test_a_kept_kernel_is_inlined_into_a_caller_that_is_new(made, tmp_path):
    cache, callee = str(tmp_path / "chosen"), "from made._callee_kernels import callee\nassert callee(2) == 20"
    assert run(made, callee, NUMBA_CACHE_DIR=cache)[:2] == (11, False)
    (made / "_caller_kernels.py").write_text(CALLER.replace("+ 1", "+ 7"))
    was_kept = f"{callee}\nassert sum(callee.stats.cache_hits.values()) == 1"
    assert run(made, was_kept, NUMBA_CACHE_DIR=cache)[:2] == (17, False)
    assert run(made, was_kept, NUMBA_CACHE_DIR=cache)[:2] == (17, True)


@pytest.mark.slow
def test_a_named_tuple_whose_fields_change_places_is_another_one(made):
    (made / "_caller_kernels.py").write_text(
        "from luthier.core.jit import kernel\n\n@kernel\ndef caller(pair):\n    return pair.first\n"
    )
    for names, value in (("first second", 1), ("second first", 2)):
        (made / "pairs.py").write_text(f"from collections import namedtuple\nPair = namedtuple('Pair', '{names}')\n")
        calls = [run(made, "from made.pairs import Pair", "Pair(1, 2)")[:2] for _ in range(2)]
        assert calls == [(value, False), (value, True)]


@pytest.mark.slow
def test_an_index_that_names_a_type_that_is_gone_begins_anew(made):
    (made / "_caller_kernels.py").write_text(
        "from luthier.core.jit import kernel\n\n@kernel\ndef caller(pair):\n    return pair.first\n"
    )
    for name in ("Pair", "Couple"):  # the same kernel, for a type of another name
        (made / "pairs.py").write_text(f"from collections import namedtuple\n{name} = namedtuple('{name}', 'first')\n")
        calls = [run(made, f"from made.pairs import {name}", f"{name}(1)")[:2] for _ in range(2)]
        assert calls == [(1, False), (1, True)]


@pytest.mark.slow
def test_a_numba_that_is_not_the_one_we_know_keeps_nothing_and_says_so(made):
    value, loaded, said = run(made, before="from numba.core import caching; del caching._CacheLocator")
    assert (value, loaded) == (11, False)
    assert [s.startswith("compiling kernels, and in every run again: Numba ") for s in said] == [True]


@pytest.mark.slow
def test_a_cache_with_other_stamps_is_not_used(made):
    for times in (10, 99):
        (made / "_callee_kernels.py").write_text(CALLEE.format(times=times))
        value, loaded, said = run(made, NUMBA_CACHE_LOCATOR_CLASSES="InTreeCacheLocator")
        assert (value, loaded, len(said)) == (times + 1, False, 1)
        assert "does not use the stamps" in said[0]


@pytest.mark.slow
def test_a_file_that_imports_more_than_kernels_is_not_kept(made):
    (made / "numbers.py").write_text("TIMES = 10\n")
    (made / "_callee_kernels.py").write_text(CALLEE.format(times=10) + "\nfrom made.numbers import TIMES\n")
    assert "imports made.numbers, which is no kernel file" in run(made)[2][0]
    assert not list(made.rglob("*.nbc"))


ARRAYS = """
import numpy as np
from luthier.core.jit import kernel

@kernel
def caller(n):
    a = np.argsort(-np.arange(6.0)[:n].reshape((n, 1))[:, 0])
    b = np.zeros((2, 2))
    b[0] = np.ones(n)  # raises if n is not 2, in words that Numba puts together
    return a.max() + a.sum() + int(b.sum())
"""


@pytest.mark.slow
def test_what_was_kept_runs_and_raises_without_what_only_the_compiler_needs(made):
    (made / "_caller_kernels.py").write_text(ARRAYS)
    heard = "import sys, made._caller_kernels as m\ntry: m.caller(3)\nexcept ValueError as e: print('SAID', e)"
    ready = "print('SAID', 'numba.np.linalg' in sys.modules)"
    answers = [run(made, before=f"{heard}\n{ready}", argument="2") for _ in range(2)]
    assert answers[0] == (4, False, ["cannot assign slice of shape (2,) from input of shape (3,)", "True"])
    assert answers[1] == (4, True, ["cannot assign slice of shape (2,) from input of shape (3,)", "False"])


def close_usual_places(folder, tmp_path):
    """Leave no folder beside the files and none at home; return the variables that say so (root writes anywhere)."""
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    (folder / "__pycache__").touch()
    (tmp_path / "temporary").mkdir(exist_ok=True)
    return {
        "XDG_CACHE_HOME": "/dev/null",
        "HOME": "/dev/null",
        "TMPDIR": str(tmp_path / "temporary"),
        "NUMBA_CACHE_DIR": "",
    }


@pytest.mark.slow
def test_where_no_usual_place_can_be_written_a_private_folder_is_used(made, tmp_path):
    variables = close_usual_places(made, tmp_path)
    value, loaded, said = run(made, **variables)
    private = tmp_path / "temporary" / f"luthier-{os.getuid()}"
    assert (value, loaded) == (11, False)
    assert len(said) == 1
    assert str(private) in said[0]
    assert "NUMBA_CACHE_DIR" in said[0]
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert run(made, **variables) == (11, True, [])


@pytest.mark.slow
def test_a_private_folder_that_others_can_write_is_not_used(made, tmp_path):
    variables = close_usual_places(made, tmp_path)
    private = tmp_path / "temporary" / f"luthier-{os.getuid()}"
    private.mkdir()
    private.chmod(0o777)
    value, loaded, said = run(made, **variables)
    assert (value, loaded, len(said)) == (11, False, 1)
    assert said[0].startswith("compiling kernels, and in every run again: ")
    assert "NUMBA_CACHE_DIR" in said[0]
    assert not list(private.iterdir())


@pytest.mark.slow
def test_what_an_image_was_built_with_is_loaded_from_folders_that_cannot_be_written(made):
    assert run(made)[:2] == (11, False)
    refusing = "import tempfile\ndef refuse(dir): raise PermissionError\ntempfile.TemporaryFile = refuse"
    assert run(made, before=refusing) == (11, True, [])


@pytest.mark.slow
def test_damaged_kernels_are_compiled_again(made, tmp_path):
    cache = tmp_path / "chosen"
    run(made, NUMBA_CACHE_DIR=str(cache))
    for path in [*cache.rglob("*caller*.nbc"), *cache.rglob("*callee*.nbi")]:
        path.write_bytes(path.read_bytes()[:40])
    assert run(made, NUMBA_CACHE_DIR=str(cache))[:2] == (11, False)


@pytest.mark.slow
def test_every_command_starts_where_nothing_can_be_kept(tmp_path):
    copy = tmp_path / "luthier"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in copy.rglob("_*kernels.py")}:
        variables = close_usual_places(folder, tmp_path)
    environment = {**os.environ, **variables, "PYTHONPATH": str(tmp_path)}
    private = tmp_path / "temporary" / f"luthier-{os.getuid()}"
    private.touch()
    command = [sys.executable, "-m", "luthier.cli.main", "inspect", "nowhere.arrow"]
    child = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert child.returncode == 2
    assert child.stderr.startswith("luthier: error: nowhere.arrow: ")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("_*kernels.py")), ids=lambda path: path.name)
def test_the_imports_found_by_a_pattern_are_those_of_the_parser(path):
    tree = ast.parse(path.read_text())
    expected = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    expected |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert set(imported_names(path.read_text())) == expected


INSIDE = """
from luthier.core.jit import kernel

@kernel
def inside(x):
    if x < 0:
        raise ValueError("below 0")
    return 2 * x

@kernel
def down(n):
    return n if n <= 0 else down(n - 1)

@kernel
def caller(x):
    return inside(x) + down(3)

@kernel
def other(x):
    return inside(x) + 7
"""
CALLS_INSIDE = """
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numba
from made._caller_kernels import caller, down, inside, other

@numba.njit
def of_a_host(x):
    return inside(x) - 1

kept = lambda: sorted({path.name.split("-")[0].rpartition(".")[2] for path in Path(sys.argv[1]).rglob("*.nbi")})
print(caller(4), kept())
from numba.core.compiler_lock import global_compiler_lock
from luthier.core import jit  # a thread calls what has no code yet while another one compiles
with ThreadPoolExecutor(1) as pool:
    with global_compiler_lock:
        jit._inner._depth = 1
        called = pool.submit(inside, 21)
        time.sleep(0.3)
        jit._inner._depth = 0
    print(called.result())
for one in (caller, other, of_a_host):
    try:
        print(one(-1))
    except ValueError as error:
        print(error)
print(of_a_host(5), inside(1.5), inside(3), down(2), kept())
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(other, range(4))), list(pool.map(inside, range(4))))
"""


@pytest.mark.slow
def test_a_kernel_inside_others_has_code_of_its_own_where_python_or_a_host_calls_it(made, tmp_path):
    (made / "_caller_kernels.py").write_text(INSIDE)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE.parent}", "LUTHIER_KERNELS": "none"}
    environment["NUMBA_CACHE_DIR"] = cache = str(tmp_path / "kept")
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", CALLS_INSIDE, cache]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()
        for _ in range(2)
    )
    assert first[0] == "8 ['caller']"  # what it calls is inside it
    assert first[1:] == second[1:]
    assert second[0].startswith("8 ")
    assert first[1:5] == ["42", *["below 0"] * 3]
    assert first[5] == "9 3.0 6 0 ['caller', 'down', 'inside', 'other']"
    assert first[6] == "[7, 9, 11, 13] [0, 2, 4, 6]"


WAITS = """
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from numba.core import event
from luthier.core.progress import speaking
from made._caller_kernels import caller

role, go = sys.argv[1], Path(sys.argv[2])

class Slow(event.Listener):
    def on_start(self, event):
        print("COMPILES", flush=True)
        while role == "first" and not go.exists():
            time.sleep(0.01)
    def on_end(self, event):
        pass

def shown(label, total):
    if "another process" in label:
        print("WAITS", flush=True)
        go.touch()
    return nullcontext(len)

event.register("numba:compile", Slow())
with speaking(shown, len):
    print(caller(1))
"""


@pytest.mark.slow
def test_of_two_processes_one_compiles_and_the_other_waits_for_it(made, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE.parent}", "LUTHIER_KERNELS": "none"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "kept")
    environment.pop("NUMBA_DISABLE_JIT", None)
    go = tmp_path / "go"

    def start(role):
        command = [sys.executable, "-u", "-c", WAITS, role, str(go)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    first = start("first")
    assert first.stdout.readline() == "COMPILES\n"  # and goes on when the second waits
    second = start("second")
    try:
        assert second.communicate(timeout=300)[0] == "WAITS\n11\n"
        assert first.communicate(timeout=300)[0].splitlines()[-1] == "11"
    finally:
        first.kill()
        second.kill()
    assert {path.suffix for path in (tmp_path / "kept").rglob("*.*")} == {".nbi", ".nbc"}  # no lock is left


@pytest.mark.slow
def test_who_dies_while_compiling_is_not_waited_for(tmp_path):
    holder = "import sys; from luthier.core.kernel_files import KernelLock as L; L().acquire(sys.argv[1], None)"
    held = str(tmp_path / "held")
    child = subprocess.Popen([sys.executable, "-c", holder + "; print(flush=True); input()", held], stdin=-1, stdout=-1)
    child.stdout.readline()
    lock = KernelLock()

    @contextlib.contextmanager
    def waiting():
        child.kill()
        yield

    assert lock.acquire(held, waiting)
    assert not lock.acquire(held, waiting)  # it is ours
    lock.release()
    assert not Path(held).exists()
    assert not KernelLock().acquire(str(tmp_path / "no" / "folder"), waiting)
    child.communicate()
