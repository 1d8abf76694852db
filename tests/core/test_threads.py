"""Threads of this process, and the hold on BLAS."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from luthier.core.errors import LuthierError
from luthier.core.threads import available_threads, executor, map_in_order

HELD = """
import json, sys
{first}
from luthier.core.threads import hold_blas
assert ("numpy" in sys.modules) == {loaded}
hold_blas({threads})
import numpy, scipy.linalg, threadpoolctl
numpy.ones((300, 300)) @ numpy.ones((300, 300))
print(json.dumps([info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("first, loaded", [("", False), ("import numpy", True)])
def test_every_blas_is_held_whether_loaded_before_or_after(first, loaded):
    code = HELD.format(first=first, loaded=loaded, threads=1)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    threads = json.loads(done.stdout)
    assert threads
    assert set(threads) == {1}


def test_work_is_done_by_so_many_workers_and_errors_come_back():
    with executor(3) as workers:
        assert list(workers.map(abs, range(-20, 0))) == list(range(20, 0, -1))
        task = workers.submit(divmod, 1, 0)
    with pytest.raises(ZeroDivisionError):
        task.result()
    with pytest.raises(LuthierError, match="at least 1"), executor(0):
        pass


def test_there_is_a_core_to_use():
    assert available_threads() >= 1


@pytest.mark.parametrize("threads", [1, 3])
def test_a_map_keeps_the_order(threads):
    assert list(map_in_order(lambda x: x * x, range(20), threads)) == [x * x for x in range(20)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_map_hands_on_what_goes_wrong(threads):
    done = []

    def work(item):
        if item == 3:
            raise LuthierError("three")
        done.append(item)
        return item

    results = map_in_order(work, range(1000), threads)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(LuthierError, match="three"):
        next(results)
