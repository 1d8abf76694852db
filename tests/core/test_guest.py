"""A good guest: nothing of the process that imports the library is left changed, or is seen changed by its threads."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import warnings

import pytest

from luthier.core.errors import LuthierWarning, unwarned, warn
from luthier.core.files.io import atomic_write
from luthier.core.start_up import absent, as_command, is_command
from luthier.core.threads import stopping_gently

# What a process can be asked for; modules by identity, so that a stand-in would be seen.
LOOK = """
import faulthandler, gc, locale, logging, os, random, signal, sys, threading, warnings

def look():
    import matplotlib, numpy, threadpoolctl
    return {
        "meta path": list(sys.meta_path), "path": list(sys.path), "hooks": list(sys.path_hooks),
        "no modules": [name for name, module in sys.modules.items() if module is None],
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks)),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "locale": locale.setlocale(locale.LC_ALL), "environment": dict(os.environ),
        "filters": list(warnings.filters), "shown by": warnings.showwarning,
        "backend": matplotlib.rcParams._get_backend_or_none(), "style": dict(matplotlib.rcParams.copy()),
        "loops": sorted((i["filepath"], i["num_threads"]) for i in threadpoolctl.threadpool_info()),
        "numpy": (numpy.geterr(), numpy.geterrcall(), numpy.get_printoptions()),
        "seeds": (random.getstate(), [str(part) for part in numpy.random.get_state()]),
        "depth": sys.getrecursionlimit(), "switch": sys.getswitchinterval(), "faults": faulthandler.is_enabled(),
        "ends": (sys.excepthook, threading.excepthook, sys.unraisablehook), "streams": (sys.stdout, sys.stderr),
        "logs": (logging.root.level, list(logging.root.handlers), logging.root.manager.disable),
        "folder": os.getcwd(), "mask": os.umask(0o027) or os.umask(0o027), "threads": threading.active_count(),
    }

def same(before, after, what):
    assert before.keys() == after.keys()
    for name in before:
        assert before[name] == after[name], (what, name, before[name], after[name])
"""

EVERYTHING = (
    LOOK
    + """
os.umask(0o027)
import matplotlib, numba, numpy, scipy.linalg, scipy.sparse, sklearn.base, pyarrow, rich.console
from pathlib import Path
matplotlib.use("svg")
numba_before = {name: module for name, module in sys.modules.items() if name.startswith("numba")}
before = look()
import luthier
same(before, look(), "import")
for name in luthier.__all__:
    getattr(luthier, name)
same(before, look(), "public names")
import numba.core.entrypoints
assert Path(numba.core.entrypoints.__file__).stem == "entrypoints"
assert all(sys.modules[name] is module for name, module in numba_before.items())
rng = numpy.random.default_rng(0)
n = 60
frame = {"id": numpy.arange(n) // 6, "hyp": [f"h{i}" for i in range(n)], "lm": rng.normal(size=n),
         "tm": rng.normal(size=n), "comet": rng.uniform(size=n)}
pool = luthier.pool_from_frame(frame, columns=["comet"])
tuned = luthier.tune(pool, metric="column:comet", restarts=3, threads=2)
luthier.save_pool(pool, "pool.arrow")
same(before, look(), "tune")
from luthier.report.figures.tuning import draw_tuning
for ending in ("png", "svg", "pdf"):
    draw_tuning(tuned, Path(f"picture.{ending}"))
same(before, look(), "pictures")
assert "matplotlib.pyplot" not in sys.modules
print("a good guest")
"""
)


@pytest.mark.slow
def test_a_host_is_as_it_was_after_every_import_and_call(tmp_path):
    done = subprocess.run([sys.executable, "-c", EVERYTHING], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a good guest\n"), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "picture.pdf",
        "picture.png",
        "picture.svg",
        "pool.arrow",
    ]


# Children of a fork: each imports the library in one thread and SciPy in another. One of the two stops while it loads a
# package, until the other has ended or waits for it: so none can hold a part and want the whole by chance only.
BESIDE = """
import importlib._bootstrap as bootstrap
import os, sys, threading, time, traceback
import numpy, pyarrow  # what is loaded here need not be loaded fifty times
CODE = {"ours": "import luthier.core.jit", "theirs": "import scipy.sparse, scipy.linalg.cython_blas"}
WAITING = getattr(bootstrap, "_blocking_on", {})

def packages(code):
    ends = os.pipe()
    if os.fork() == 0:
        before = set(sys.modules)
        exec(code)
        loaded = [name for name in set(sys.modules) - before if hasattr(sys.modules[name], "__path__")]
        os.write(ends[1], " ".join(loaded).encode())
        os._exit(0)
    os.wait()
    return set(os.read(ends[0], 65536).decode().split())

def child(first, package):
    there, failed, usual = threading.Event(), [], bootstrap.module_from_spec

    def slowly(spec):
        if threading.current_thread() is threads[0] and spec.name == package:
            there.set()
            for _ in range(1000):
                if WAITING.get(threads[1].ident) or threads[1].ident and not threads[1].is_alive():
                    break
                time.sleep(0.005)
        return usual(spec)

    def load(code):
        try:
            exec(code)
        except BaseException:
            failed.append(traceback.format_exc())
        there.set()

    threads = [threading.Thread(target=load, args=(CODE[who],)) for who in (first, *(CODE.keys() - {first}))]
    bootstrap.module_from_spec = slowly
    threads[0].start()
    there.wait()
    threads[1].start()
    for thread in threads:
        thread.join()
    print(*failed, end="", file=sys.stderr, flush=True)
    return bool(failed)

ours, theirs = packages(CODE["ours"]), packages(CODE["theirs"])
places = [("ours", name) for name in sorted(ours)] + [("theirs", name) for name in sorted(ours & theirs)]
assert ("ours", "numba.core") in places and ("theirs", "numpy.random") in places
running, bad = {}, []
for place in [*places, *[None] * 4]:
    if len(running) == 4 or place is None:
        process, status = os.wait()
        stopped = running.pop(process)
        bad += [(stopped, status)] * (status != 0)
    if place is not None:
        process = os.fork()
        if process == 0:
            os._exit(child(*place))
        running[process] = place
assert not bad, bad
assert not {"numba", "scipy"} & sys.modules.keys()
"""


@pytest.mark.slow
def test_another_thread_imports_scipy_at_any_moment_of_our_import():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", BESIDE], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_a_refused_module_is_refused_to_one_thread_only():
    found = []
    sys.modules.pop("this", None)
    with absent("this"), contextlib.redirect_stdout(None):  # a module that nobody needs
        other = threading.Thread(target=lambda: found.append(__import__("this")))
        with pytest.raises(ModuleNotFoundError, match="this is not loaded here"):
            __import__("this")
        other.start()
        other.join()
    assert len(found) == 1
    assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("luthier")]


def test_the_process_is_our_own_inside_a_command_only(run_cli):
    seen = []
    assert not is_command()
    with as_command(), as_command():
        thread = threading.Thread(target=lambda: seen.append(is_command()))
        thread.start()
        thread.join()
    assert seen == [True]
    assert not is_command()
    run_cli("--version")
    assert not is_command()


def test_ctrl_c_is_a_hosts_own_and_a_commands_to_listen_to():
    stop, before = threading.Event(), signal.getsignal(signal.SIGINT)
    with stopping_gently(stop):
        assert signal.getsignal(signal.SIGINT) is before
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with as_command(), stopping_gently(stop):
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell starts what runs in the background
        with as_command(), stopping_gently(threading.Event()):
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


BLAS = """
import threading, numpy, scipy.linalg, threadpoolctl
from luthier.core.threads import one_blas_thread

def counts():
    return {i["num_threads"] for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"}

def hold(inside, leave):
    with one_blas_thread():
        inside.set()
        leave.wait(600)

before = counts()
for _ in range(3):  # the one that came first leaves first
    leave, threads = [threading.Event(), threading.Event()], []
    for wait in leave:
        inside = threading.Event()
        threads.append(threading.Thread(target=hold, args=(inside, wait)))
        threads[-1].start()
        assert inside.wait(600)
    for wait, thread in zip(leave, threads):
        assert counts() == {1}
        wait.set()
        if thread is threads[0]:
            thread.join()
        else:
            [other.join() for other in threads]
    assert counts() == before, (before, counts())
with one_blas_thread():
    assert counts() == {1}
assert counts() == before
"""


@pytest.mark.slow
def test_blas_has_its_threads_again_whichever_thread_leaves_first():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", BLAS], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_files_of_other_threads_keep_their_rights_while_ours_are_written(tmp_path):
    before = os.umask(0o027)
    try:
        seen = []
        for name in ("new", "new", "private"):
            path = tmp_path / name
            if name == "private" and not path.exists():
                path.write_text("old")
                path.chmod(0o400)
            with atomic_write(path) as temporary:
                seen.append(stat.S_IMODE(temporary.stat().st_mode))
                temporary.write_text("x")
            seen.append(stat.S_IMODE(path.stat().st_mode))
        assert seen == [0o640, 0o640, 0o640, 0o640, 0o600, 0o400]
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_what_one_thread_leaves_unsaid_another_says_and_filters_stay(recwarn):
    filters = list(warnings.filters)
    with unwarned("a .* word"):
        warn("a single word")
        warn("another sentence")
        thread = threading.Thread(target=warn, args=("a loud word",))
        thread.start()
        thread.join()
        assert warnings.filters == filters
    with unwarned():
        warn("nothing")
    warn("after")
    assert [str(said.message) for said in recwarn] == ["another sentence", "a loud word", "after"]
    assert {said.category for said in recwarn} == {LuthierWarning}
    assert recwarn[0].filename == __file__


INTERRUPTED = """
import os, signal
from contextlib import nullcontext
import numpy
import luthier
from luthier.core.progress import speaking
rng = numpy.random.default_rng(0)
n = 3000
frame = {"id": numpy.arange(n) // 10, "hyp": [f"h{i}" for i in range(n)], "comet": rng.uniform(size=n),
         **{f"f{d}": rng.normal(size=n) for d in range(8)}}
pool = luthier.pool_from_frame(frame, columns=["comet"])
luthier.tune(pool, metric="column:comet")  # compiled from here on
before = signal.getsignal(signal.SIGINT)
steps = []

def advance(amount, note=""):
    steps.append(amount)
    if len(steps) == 100:
        os.kill(os.getpid(), signal.SIGINT)

try:
    with speaking(lambda label, total: nullcontext(advance), lambda message: None):
        luthier.tune(pool, metric="column:comet", restarts=100_000)
except KeyboardInterrupt as stopped:
    assert isinstance(stopped, luthier.Interrupted), repr(stopped)
    found = stopped.result
    assert found.interrupted and found.after > found.before, found
    assert set(found.weights) == {f"f{d}" for d in range(8)}
    assert signal.getsignal(signal.SIGINT) is before
    print("stopped")
"""


@pytest.mark.slow
@pytest.mark.compiled
def test_ctrl_c_from_python_is_a_keyboard_interrupt_with_the_best_so_far():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
