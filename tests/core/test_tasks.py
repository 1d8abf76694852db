"""Units of work: the same results from every engine; errors, interruptions and lost workers come to an end."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.rng import child_rng
from luthier.core.tasks import Processes, Serial, Shared, Threads, opened, path_of, run_units

ENGINES = [Serial(), Threads(1), Threads(3)]


@dataclasses.dataclass(frozen=True)
class Draw:
    """So many numbers of a generator of its own."""

    seed: int
    number: int
    count: int


def draw(scale, unit):
    """Return random numbers, scaled."""
    return scale * child_rng(unit.seed, unit.number).random(unit.count)


def fail_at_three(_, unit):
    """Return the unit, unless it is 3."""
    if unit == 3:
        raise LuthierError("three is wrong")
    return unit


def sleep_a_while(stop, unit):
    """Wait until `stop` is set, or long."""
    if stop is not None:
        stop.wait()
    else:
        time.sleep(600)
    return unit


def end_the_process(_, unit):
    """End as if the system had run out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def threads_of_blas(_, unit):
    """Return how many threads each BLAS of this process has."""
    import threadpoolctl

    np.ones((9, 9)) @ np.ones((9, 9))
    return {info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"}


@dataclasses.dataclass(frozen=True)
class Counted:
    """A recipe that leaves a mark each time it is followed."""

    folder: str
    name: str

    def open(self):
        with open(os.path.join(self.folder, self.name), "a") as file:
            file.write("x")
        return 2.0


def units(n=7):
    return {i: Draw(5, i, 3) for i in range(n)}


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_results_are_the_same_and_in_order_whoever_runs_them(engine):
    kept = []
    found = run_units(draw, Shared(2.0), units(), engine=engine, keep=lambda number, result: kept.append(number))
    expected = {i: 2.0 * np.random.default_rng(5).spawn(7)[i].random(3) for i in range(7)}
    assert list(found) == list(range(7))
    assert all(np.array_equal(found[i], expected[i]) for i in range(7))
    assert sorted(kept) == list(range(7))


@pytest.mark.slow
def test_other_processes_give_the_same_bytes_open_what_is_shared_once_and_hold_blas(tmp_path):
    recipe = Counted(str(tmp_path), "opened")
    found = run_units(draw, Shared(2.0, recipe), units(), engine=Processes(1))
    assert {i: a.tobytes() for i, a in found.items()} == {
        i: a.tobytes() for i, a in run_units(draw, Shared(2.0), units()).items()
    }
    assert (tmp_path / "opened").read_text() == "x"
    sent = run_units(draw, Shared(2.0), units(), engine=Processes(2))  # without a recipe
    assert all(np.array_equal(sent[i], found[i]) for i in found)
    assert run_units(threads_of_blas, Shared(None), {0: 0}, engine=Processes(1)) == {0: {1}}
    assert not multiprocessing.active_children()


def test_the_last_two_things_stay_open(tmp_path):
    opened.cache_clear()
    for name in ("a", "b", "a", "b", "c", "a"):
        opened(Counted(str(tmp_path), name))
    assert {name: (tmp_path / name).read_text() for name in "abc"} == {"a": "xx", "b": "x", "c": "x"}
    opened.cache_clear()


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_the_error_of_a_unit_is_the_error_of_the_job_and_what_was_done_is_kept(engine):
    kept = []
    with pytest.raises(LuthierError, match="three is wrong"):
        run_units(
            fail_at_three, Shared(None), {i: i for i in range(9)}, engine=engine, keep=lambda n, _: kept.append(n)
        )
    assert 3 not in kept


@pytest.mark.slow
def test_errors_and_lost_workers_of_other_processes_are_said():
    with pytest.raises(LuthierError, match="three is wrong"):
        run_units(fail_at_three, Shared(None), {i: i for i in range(9)}, engine=Processes(2))
    with pytest.raises(LuthierError, match="a worker process ended before its unit was done"):
        run_units(end_the_process, Shared(None), {0: 0}, engine=Processes(1))
    with pytest.raises(LuthierError, match="cannot be given to other processes"):
        run_units(draw, Shared(lambda: 0), units(1), engine=Processes(1))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_stop_begins_no_more_units(engine):
    stop = threading.Event()
    found = run_units(draw, Shared(1.0), units(200), engine=engine, keep=lambda number, result: stop.set(), stop=stop)
    assert 0 < len(found) < 20
    assert run_units(draw, Shared(1.0), units(), engine=engine, stop=stop) == {}


@pytest.mark.slow
@pytest.mark.parametrize("engine", [Threads(2), Processes(2)], ids=str)
@pytest.mark.parametrize("listening", [True, False])
def test_ctrl_c_ends_the_job(engine, listening):
    stop = threading.Event()
    shared = stop if isinstance(engine, Threads) else None
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    timer.start()
    if listening or shared is not None:
        found = run_units(sleep_a_while, Shared(shared), {0: 0, 1: 1}, engine=engine, stop=stop)
        assert found == ({0: 0, 1: 1} if shared is not None else {})
    else:
        with pytest.raises(KeyboardInterrupt):
            run_units(sleep_a_while, Shared(shared), {0: 0, 1: 1}, engine=engine)
    assert not multiprocessing.active_children()


def test_a_full_disk_is_told_before_any_process_starts(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(LuthierError, match=r"nowhere: what workers share cannot be written: no such file.*TMPDIR"):
        run_units(draw, Shared(1.0), units(), engine=Processes(2))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr(tempfile, "mkstemp", lambda prefix: (full, str(tmp_path / "given")))
    with pytest.raises(LuthierError, match=r"given: what workers share cannot be written: no space left on device"):
        run_units(draw, Shared(1.0), units(), engine=Processes(2))


def test_work_must_have_a_name():
    assert path_of(draw).endswith("test_tasks:draw")
    for work in (lambda given, unit: unit, Draw.__init__, {}.get):
        with pytest.raises((LuthierError, AttributeError)):
            run_units(work, Shared(None), {})
