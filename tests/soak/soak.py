"""A cluster whose workers, scheduler and client are killed, stopped and slowed at random moments: the same bytes.

    python tests/soak/soak.py --workers 30 --schedulers 10 --clients 10 --seed 1

A study is run on it again and again; every run must end with the lines of an undisturbed one, each unit once. Prints
what was done how often and how long it took; the first difference ends it. Only 127.0.0.1 is used.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from separate import Separate

from luthier.jobs.lab.kinds.starts import LINES
from luthier.jobs.lab.lines import read_units

STUDY = """
kind = "starts"
name = "soak"
seed = 5
starts = {{ count = {starts}, kind = "few", size = 0.5 }}
[[tuner]]
name = "search"
method = "random"
parameters = {{ rounds = {rounds}, batch = 50 }}
[[metric]]
name = "BLEU"
spec = "bleu"
[test]
by = "BLEU"
metrics = {{ "BLEU" = "bleu" }}
[[data]]
name = "made"
source = "synthetic"
tune = {{ seed = 1, sentences = 50, k = 40, n_references = 1, vocabulary = 300 }}
test = {{ seed = 2, sentences = 5, k = 8, n_references = 1, vocabulary = 100 }}
"""
TIMES = ("cpu_seconds", "seconds", "together", "host", "processor")
LIMIT = 600  # seconds of one command: endless, but for a hang
TRIES = 10  # runs for each that is to be hurt: where much else is done, a run may end before anybody can strike


class Soak:
    """A study, and what its undisturbed run left; `inside`, what nobody kills runs in this process."""

    def __init__(self, folder, *, starts, rounds, seed, inside=False):
        self.inside, self.folder, self.draw, self.count = inside, Path(folder), random.Random(seed), 0
        self.study = self.folder / "study.toml"
        self.study.write_text(STUDY.format(starts=starts, rounds=rounds))
        self.units = starts + 1
        began = time.monotonic()
        assert self.run(self.folder / "whole")[0] == 0
        self.seconds = time.monotonic() - began
        self.lines, self.tables = self.read(self.folder / "whole")

    def read(self, folder):
        """Return the lines of a run without times, in order, and how many there are in the file."""
        units, _ = read_units(folder / "units.jsonl", LINES)
        plain = sorted(json.dumps({n: v for n, v in unit.items() if n not in TIMES}) for unit in units.values())
        return plain, len((folder / "units.jsonl").read_text().splitlines())

    def check(self, folder):
        """Compare a run with the undisturbed one."""
        lines, count = self.read(folder)
        assert lines == self.lines, f"{folder}: other lines"
        assert count == self.units, f"{folder}: {count} lines of {self.units} units"

    def fresh(self):
        """Return a folder that is not there yet."""
        self.count += 1
        return self.folder / f"run.{self.count}"

    def words(self, folder, *more):
        """Return the words of the command."""
        return [str(word) for word in ("study", self.study, "-o", folder, "--quiet", *more)]

    def command(self, folder, *more):
        """Start the study."""
        return subprocess.Popen(
            [sys.executable, "-m", "luthier.cli.main", *self.words(folder, *more)], stderr=subprocess.PIPE, text=True,
            stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def run(self, folder, *more):
        """Run the study to its end; return exit code and what was said."""
        if self.inside:
            from luthier.cli.main import main as run_command

            return run_command(self.words(folder, *more)), ""
        process = self.command(folder, *more)
        said = process.communicate(timeout=LIMIT)[1]
        return process.returncode, said

    def wait_for_units(self, folder, process, share=None):
        """Wait until a share of the units, by itself a random one, is done."""
        share = self.draw.uniform(0.05, 0.8) if share is None else share
        path = folder / "units.jsonl"
        while process.poll() is None:
            if path.exists() and path.read_bytes().count(b"\n") >= share * self.units:
                return
            time.sleep(0.02)


def any_number(soak):
    """Run it undisturbed with any number of workers: the same lines."""
    for count in (1, 2, 4):
        folder = soak.fresh()
        code, said = soak.run(folder, "--cluster", f"local:{count}")
        assert code == 0, said
        soak.check(folder)
    return "1, 2 and 4 workers: the same lines"


def kill_workers(soak, runs):
    """Kill a random worker at a random moment of each run."""
    killed = 0
    with Separate(soak.folder) as cluster:
        for _ in range(TRIES * runs):
            if killed == runs:
                break
            folder = soak.fresh()
            process = soak.command(folder, "--cluster", cluster.file)
            soak.wait_for_units(folder, process)
            victims = cluster.workers()
            if victims and process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(soak.draw.choice(victims), signal.SIGKILL)
                    killed += 1
            said = process.communicate(timeout=LIMIT)[1]
            assert process.returncode == 0, said
            soak.check(folder)
    assert killed == runs, f"only {killed} workers killed in {TRIES * runs} runs"
    return f"{killed} workers killed, one in each run"


def kill_schedulers(soak, runs, started=None):
    """Kill the scheduler at a random moment of so many runs; resume on another cluster, or on none."""
    waited = []
    for number in range(TRIES * runs):
        if len(waited) == runs:
            break
        folder = soak.fresh()
        with started or Separate(soak.folder) as cluster:
            process = soak.command(folder, "--cluster", cluster.file)
            soak.wait_for_units(folder, process)
            cluster.scheduler.kill()
            began = time.monotonic()
            said = process.communicate(timeout=LIMIT)[1]
            if process.returncode:
                waited.append(time.monotonic() - began)
                assert process.returncode == 2, said
                assert "the scheduler of the cluster" in said, said
                assert "--resume" in said, said
        started = None
        code, said = soak.run(folder, *(["--cluster", "local:1"] if number % 2 else []))
        assert code == 0, said
        soak.check(folder)
    assert len(waited) == runs, f"only {len(waited)} commands of {TRIES * runs} noticed"
    return f"{runs} schedulers killed; commands ended at most {max(waited):.1f} s later"


def kill_clients(soak, runs):
    """Kill the command itself, in which the scheduler of its own cluster runs; nothing of it may be left."""
    import psutil

    waited = []
    for number in range(TRIES * runs):
        if len(waited) == runs:
            break
        folder = soak.fresh()
        process = soak.command(folder, "--cluster", "local:2")
        soak.wait_for_units(folder, process)
        if process.poll() is None:
            family, listens = [], []
            with contextlib.suppress(psutil.Error):  # it has just ended
                client = psutil.Process(process.pid)
                family = client.children(recursive=True)
                listens = [c for c in client.net_connections("inet") if c.status == psutil.CONN_LISTEN]
            process.kill()
            began = time.monotonic()
            process.communicate()
            _, alive = psutil.wait_procs(family, timeout=LIMIT)
            assert not alive, alive
            if process.returncode == -signal.SIGKILL and listens:  # the scheduler's, until the end
                waited.append(time.monotonic() - began)
        code, said = soak.run(folder, *(["--cluster", "local:2"] if number % 2 else []))
        assert code == 0, said
        soak.check(folder)
    assert len(waited) == runs, f"only {len(waited)} commands of {TRIES * runs} were killed"
    return f"{runs} clients killed; their workers ended at most {max(waited, default=0):.1f} s later"


def stop_worker(soak):
    """Stop a worker without killing it: it counts as dead after five silent seconds."""
    with Separate(soak.folder) as cluster:
        folder = soak.fresh()
        process = soak.command(folder, "--cluster", cluster.file, "--cluster-silence", 5)
        soak.wait_for_units(folder, process)
        victim = soak.draw.choice(cluster.workers())
        os.kill(victim, signal.SIGSTOP)
        began = time.monotonic()
        said = process.communicate(timeout=LIMIT)[1]
        assert process.returncode == 0, said
        soak.check(folder)
    return f"a worker stopped; the job ended {time.monotonic() - began:.1f} s later (undisturbed: {soak.seconds:.1f} s)"


def slow_worker(soak):
    """Let one of two workers run a tenth of the time."""
    with Separate(soak.folder) as cluster:
        times = []
        for slowed in (False, True):
            folder = soak.fresh()
            while len(cluster.workers()) < 2:
                time.sleep(0.1)
            end = threading.Event()
            brake = threading.Thread(target=_brake, args=(cluster.workers()[0], end))
            if slowed:
                brake.start()
            began = time.monotonic()
            code, said = soak.run(folder, "--cluster", cluster.file)
            times.append(time.monotonic() - began)
            end.set()
            if slowed:
                brake.join()
            assert code == 0, said
            soak.check(folder)
    return f"one of two workers slowed tenfold: {times[1]:.1f} s in place of {times[0]:.1f} s"


def _brake(process, end):
    while not end.is_set():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
            time.sleep(0.18)
            os.kill(process, signal.SIGCONT)
            time.sleep(0.02)


def all_workers_gone(soak):
    """End both workers, wait for the sentence, start others: the job goes on."""
    with Separate(soak.folder, workers=1, minded=False) as cluster:
        folder = soak.fresh()
        process = subprocess.Popen(
            [sys.executable, "-m", "luthier.cli.main", "study", str(soak.study), "-o", str(folder), "--cluster",
             str(cluster.file)],
            stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        soak.wait_for_units(folder, process)
        cluster.minders[0].kill()
        began = time.monotonic()
        for line in process.stderr:
            if "has no workers" in line:
                break
        waited = time.monotonic() - began
        from separate import dask

        cluster.minders.append(
            dask("worker", "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", cluster.file, "--nthreads", 1,
                 "--memory-limit", 0, "--no-nanny", "--local-directory", soak.folder)
        )  # fmt: skip
        said = process.communicate(timeout=LIMIT)[1]
        assert process.returncode == 0, said
        soak.check(folder)
    return f"all workers gone: said after {waited:.1f} s; the job went on when one came"


def all_in_one(soak):
    """One study that loses a worker, its scheduler and its client on the way, each while units were left."""
    folder, kept = soak.fresh(), []
    with Separate(soak.folder) as cluster:
        process = soak.command(folder, "--cluster", cluster.file)
        soak.wait_for_units(folder, process, 0.1)
        os.kill(soak.draw.choice(cluster.workers()), signal.SIGKILL)
        soak.wait_for_units(folder, process, 0.3)
        assert process.poll() is None, "the study ended before its scheduler did"
        cluster.scheduler.kill()
        process.communicate(timeout=LIMIT)
        assert process.returncode not in (0, None), process.returncode
        kept.append(soak.read(folder)[1])
    process = soak.command(folder, "--cluster", "local:2")
    soak.wait_for_units(folder, process, 0.6)
    assert process.poll() is None, "the study ended before it was killed"
    process.kill()
    process.communicate()
    kept.append(soak.read(folder)[1])
    assert 0 < kept[0] < kept[1] < soak.units, kept
    code, said = soak.run(folder, "--cluster", "local:2")
    assert code == 0, said
    soak.check(folder)
    return (
        f"a study of {soak.units} units lost a worker, the scheduler when {kept[0]} units were kept and the "
        f"client when {kept[1]} were, and ended the same"
    )


def main():
    """Read the options, go through all of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in (("workers", 30), ("schedulers", 10), ("clients", 10), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--units", type=int, default=500, help="of the study that loses everything")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="luthier-soak-") as folder:
        soak = Soak(folder, starts=60, rounds=40, seed=options.seed)
        print(f"a study of {soak.units} units: {soak.seconds:.1f} s in one process", flush=True)
        for scene in (
            lambda: any_number(soak), lambda: kill_workers(soak, options.workers),
            lambda: kill_schedulers(soak, options.schedulers),
            lambda: kill_clients(soak, options.clients), lambda: stop_worker(soak), lambda: slow_worker(soak),
            lambda: all_workers_gone(soak),
        ):  # fmt: skip
            began = time.monotonic()
            print(f"{scene()} ({time.monotonic() - began:.0f} s)", flush=True)
        if options.units:
            large = Path(folder) / "large"
            large.mkdir()
            print(all_in_one(Soak(large, starts=options.units - 1, rounds=20, seed=options.seed)), flush=True)


if __name__ == "__main__":
    main()
