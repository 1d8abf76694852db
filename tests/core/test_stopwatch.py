"""What compiling takes is not counted."""

import time

from luthier.core import jit as stopwatch


def test_seconds_are_those_of_the_job_without_the_compiler(monkeypatch):
    clocks = {"cpu": 5.0, "wall": 100.0, "compiler": (2.0, 3.0)}
    monkeypatch.setattr(time, "process_time", lambda: clocks["cpu"])
    monkeypatch.setattr(time, "perf_counter", lambda: clocks["wall"])
    monkeypatch.setattr(stopwatch, "compiler_seconds", lambda: clocks["compiler"])
    watch = stopwatch.Stopwatch()
    clocks.update(cpu=15.0, wall=130.0, compiler=(8.0, 13.0))
    assert watch.seconds() == (10.0 - 6.0, 30.0 - 10.0)
    clocks.update(compiler=(100.0, 100.0))  # another thread compiled while this one worked
    assert watch.seconds() == (0.0, 0.0)
