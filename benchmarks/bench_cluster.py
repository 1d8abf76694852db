"""Two workers against two threads; what a unit costs the driver; what a worker costs before its first unit.

python benchmarks/bench_cluster.py [--size paper] [--data FOLDER]
"""

import dataclasses
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from bench_common import SIZES, argument_parser, generated_to_tune, machine, real_to_tune, show
from luthier.core.tasks import Shared, Threads, run_units
from luthier.distributed.address import ClusterAddress
from luthier.distributed.engine import connected
from luthier.jobs.tuning_job import TuningJob, run_job
from luthier.kbest.storage.pool_file import PoolFile, open_pool, save_pool
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions

RESTARTS = 63
SENTENCES = 200  # of the De→En lists
UNITS = {"toy": (1_000, 10_000), "paper": (1_000, 10_000), "large": (1_000, 10_000, 100_000)}
LONGER, SECONDS = 40, (0.12, 0.5)  # units that travel in twos, and alone
IDLE = 5  # seconds in which nothing is done but heartbeats


def nothing(given, unit):  # noqa: ARG001
    """Return the unit."""
    return unit


def a_while(given, unit):  # noqa: ARG001
    """Return the unit after so many seconds."""
    time.sleep(unit)
    return unit


def own_memory(given, unit):  # noqa: ARG001
    """Return the process, its CPU seconds, and memory that no other process shares, in bytes."""
    time.sleep(0.5)  # so that both workers get one
    me = psutil.Process()
    return me.pid, sum(me.cpu_times()[:2]), me.memory_full_info().uss


def make_job(arguments, folder):
    """Return the job: the first De→En lists where there are some, else generated ones."""
    if arguments.data:
        pool = real_to_tune(arguments.data)[0].take_sentences(np.arange(SENTENCES))
    else:
        pool = generated_to_tune(SIZES[arguments.size], arguments.seed)[0]
    save_pool(pool, folder / "pool.arrow")
    path = folder / "pool.arrow"
    return TuningJob(
        tuner=tuner("mert"),
        problem=ListProblem.of(open_pool(path), load_metric("bleu"), file=PoolFile.of(path)),
        options=RunOptions(seed=1, restarts=RESTARTS, threads=2),
    )


def main():
    arguments = argument_parser(__doc__, size="toy").parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name, connected(ClusterAddress.parse("local:2")) as cluster:
        folder = Path(name)
        run_units(a_while, Shared(None), dict.fromkeys(range(8), 0.1), engine=cluster)  # what is loaded once
        begin = time.process_time()
        time.sleep(IDLE)
        idle = (time.process_time() - begin) / IDLE
        rows = [("none", "–", f"{1e3 * idle:.2f} a second", "", "")]
        longer = [(a_while, seconds, LONGER) for seconds in SECONDS]
        for work, unit, count in [*longer, *((nothing, 0, count) for count in UNITS[arguments.size])]:
            begin, wall = time.process_time(), time.perf_counter()
            run_units(work, Shared(None), dict.fromkeys(range(count), unit), engine=cluster)
            spent, wall = time.process_time() - begin, time.perf_counter() - wall
            own = (spent - idle * wall) / count
            rows.append((f"{unit:g} s", f"{count:,}", *(f"{1e3 * x:.2f}" for x in (spent / count, own, wall / count))))
        heads = ("a unit takes", "units", "CPU", "less the connection's", "wall clock")
        show("command and scheduler, ms a unit", heads, rows)
        job = make_job(arguments, folder)
        given = Shared(job, job.recipe())
        before = run_units(own_memory, Shared(None), {i: i for i in range(2)}, engine=cluster).values()
        after = run_units(own_memory, given, {i: i for i in range(2)}, engine=cluster).values()
        rows = [
            ("CPU s until a worker has opened the pool", f"{max(a[1] for a in after) - max(b[1] for b in before):.2f}"),
            ("MB of a worker that no other shares", f"{max(a[2] for a in after) / 1e6:.0f}"),
            ("of that before the pool", f"{max(b[2] for b in before) / 1e6:.0f}"),
            ("MB of the pool's file", f"{(folder / 'pool.arrow').stat().st_size / 1e6:.0f}"),
        ]
        show("a worker", ("what", "measured"), rows)
        times = {}
        for label, engine in (("warming", cluster), ("2 threads", Threads(2)), ("2 workers", cluster)) * 2:
            wall = time.perf_counter()
            result = run_job(dataclasses.replace(job, engine=engine)).replicas[0].result
            times.setdefault(label, []).append((time.perf_counter() - wall, result.seconds[0]))
        rows = [
            (label, *(f"{min(column):.1f}" for column in zip(*found, strict=True))) for label, found in times.items()
        ]
        show(f"{job.options.restarts + 1} runs of mert", ("who", "wall-clock s", "CPU s"), rows)
        ratio = min(times["2 threads"])[0] / min(times["2 workers"])[0]
        print(f"rate of 2 workers: {ratio:.2f} of that of 2 threads")


if __name__ == "__main__":
    main()
