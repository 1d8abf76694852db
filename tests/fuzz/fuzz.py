"""Files from strangers, damaged at random by a seed: no signal, no hang, no traceback, no silent difference.

    python tests/fuzz/fuzz.py 20000 --seed 1

Mutants run in a child process, which is started again behind one that killed it. Prints what happened to
how many, and each failure with the number by which it is made again: ``fuzz.py 1 --seed 1 --first N``.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib.util
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
from runs import SLOW

HERE = Path(__file__).parent
LIMIT = 120.0  # seconds of processor time for one mutant: they take a thousandth, unless something is compiled
STARTING = 600.0  # the same until the first: all kernels are compiled
STILL = 300.0  # seconds of the clock in which a process that hangs takes no processor time at all
LOOK = 10.0  # seconds from look to look


def fuzz(count, seed, first=0, *, say=None):
    """Run `count` mutants, or until Ctrl-C; return how many ended in which way, and the failures."""
    ended, failures = collections.Counter(), []
    with contextlib.suppress(KeyboardInterrupt):
        _fuzz(count, seed, first, ended, failures, say)
    return ended, failures


def _fuzz(count, seed, first, ended, failures, say):
    at, stop = first, first + count
    while at < stop:
        at, failure = _one_child(seed, at, stop, ended, failures, say)
        if failure:
            ended["failed"] += 1
            failures.append(failure)
            print(f"mutant {failure['mutant']}: {failure['wrong']}", file=sys.stderr, flush=True)
            at += 1


def _one_child(seed, at, stop, ended, failures, say):
    """Run mutants until the end or a death; return the next mutant and what killed the child, if anything."""
    lines, said = queue.Queue(), []
    with subprocess.Popen(
        [sys.executable, str(HERE / "child.py"), str(seed), str(at), str(stop)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as child, contextlib.ExitStack() as stack:  # fmt: skip
        stack.callback(child.kill)
        pumps = [
            threading.Thread(target=_pump, args=(child.stdout, lines), daemon=True),
            threading.Thread(target=lambda: said.extend(child.stderr), daemon=True),
        ]
        for pump in pumps:
            pump.start()
        ready, watch = False, None
        while True:
            try:
                line = lines.get(timeout=LOOK)
            except queue.Empty:
                watch = watch or Watch(child.pid)  # to look takes time, so nobody looks at those that go on
                if wrong := watch.hang(LIMIT if ready else STARTING):
                    child.kill()
                    break
                continue
            watch = None
            if line is None:
                wrong = _last_words(child.wait(), at < stop, ready, said)
                break
            record = json.loads(line)
            ready = ready or "ready" in record
            if "mutant" in record:
                at = record["mutant"] + 1
                _count(record, ended, failures)
                if say and at % 500 == 0:
                    say(at, ended)
        for pump in pumps:
            pump.join()
    return at, {"mutant": at, "wrong": wrong} if wrong else None


class Watch:
    """Looks at a process from now on: how much processor time it takes, and whether it takes any.

    The clock says nothing on a machine that does much else. Only a process that takes none at all hangs by the clock.
    """

    def __init__(self, process):
        self.process = process
        self.began = self.last = processor_time(process)
        self.moved = time.monotonic()

    def hang(self, limit):
        """Return what is wrong with a process that still says nothing, "" if nothing is."""
        now = processor_time(self.process)
        if now - self.began > limit:
            return f"hang: {now - self.began:.0f} s of processor time without an end"
        if now != self.last:
            self.last, self.moved = now, time.monotonic()
        waited = time.monotonic() - self.moved
        return f"hang: no processor time for {waited:.0f} s" if waited > STILL else ""


def processor_time(process):
    """Return the seconds that a process and its children took so far."""
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        found = psutil.Process(process)
        for one in [found, *found.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(one.cpu_times()[:4])  # user, system, and those of children that ended
    return total


def _last_words(code, early, ready, said):
    """Return what is wrong with the end of a child, if anything."""
    if code == 0 and not early:
        return ""
    told = "".join(said)
    if not ready:
        raise SystemExit(f"the child does not start (exit code {code}): {told[-2000:]}")
    return f"the process died, exit code {code}: {told[-500:]}"


def _count(record, ended, failures):
    if record["cpu"] > SLOW and not record["wrong"]:
        record["wrong"] = f"slow: {record['cpu']:.1f} s of processor time"
        record["ended"] = "failed"
    ended[record["ended"]] += 1
    ended[f"  {record['case'].rstrip('_234')}: {record['ended']}"] += 1
    if record["wrong"]:
        failures.append(record)
        print(f"mutant {record['mutant']}: {record['wrong']}", file=sys.stderr, flush=True)


def _pump(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def geometry(instances, seed):
    """Run the fuzzers of geometry on whole numbers, so many instances of each subject; return their failures."""
    failures = []
    for name in ("fuzz_integers", "fuzz_cones"):
        path = HERE.parent / "geometry" / f"{name}.py"
        if not path.exists():
            continue
        sys.path[:0] = [str(path.parent), str(HERE.parent)]
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        found = module.run(instances, seed)
        print(*found[:20], sep="\n", end="\n" * bool(found))
        failures += found
    return failures


def main():
    """Read the arguments, run, print; exit with 1 where anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--geometry", type=int, default=0, metavar="N", help="instances of each subject of geometry, too"
    )
    options = parser.parse_args()
    for ending in (signal.SIGINT, signal.SIGTERM):  # also of a job in the background, which counts what was done
        signal.signal(ending, signal.default_int_handler)
    started = time.time()

    def say(at, ended):
        print(f"{at} mutants, {ended['failed']} failed, {time.time() - started:.0f} s", file=sys.stderr)

    ended, failures = fuzz(options.count, options.seed, options.first, say=say)
    for way in sorted(ended):
        print(f"{ended[way]:8d} {way}")
    for failure in failures[:20]:
        print(f"mutant {failure['mutant']}: {failure['wrong']}\n")
    if options.geometry:
        failures += geometry(options.geometry, options.seed)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
