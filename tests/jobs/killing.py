"""Kill a loop again and again, in each of its turns; print how often, after how many turns, and how it ended.

  killing.py CONFIG FOLDER KILLS SEED

Each attempt is a fork of this process, so that nothing is imported anew.
"""

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from luthier.jobs.loop import run_loop
from luthier.jobs.loop_config import read_config

TURNS = 4  # of the loop


def attempt(config, folder):
    """Start an attempt in a process of its own; return its number."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        run_loop(config, folder, resume=True)
        code = 0
    finally:
        os._exit(code)


def finished_turns(folder):
    """Return how many turns a loop has finished: its file has a line for the job and one for the start before them."""
    path = Path(folder) / "iterations.jsonl"
    return max(0, path.read_bytes().count(b"\n") - 2) if path.exists() else 0


def main():
    """Wait for the next turn, then kill after a random part of the time that a turn takes."""
    path, folder, kills, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    config = read_config(path, seed=0, threads=1)
    run_loop(config, folder + ".whole", resume=False)  # here, so that all forks have the kernels
    begin = time.monotonic()
    os.waitpid(attempt(config, folder + ".again"), 0)
    whole = time.monotonic() - begin
    draw, killed, turns = random.Random(seed), 0, 0
    for number in range(kills):
        process = attempt(config, folder)
        while finished_turns(folder) < number % TURNS and os.waitpid(process, os.WNOHANG) == (0, 0):
            time.sleep(0.001)
        turns = max(turns, finished_turns(folder))
        time.sleep(draw.uniform(0.0, 1.0) * whole / TURNS)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            killed += os.WIFSIGNALED(status)
    _, status = os.waitpid(attempt(config, folder), 0)
    sys.stdout.write(f"{killed} {turns} {os.waitstatus_to_exitcode(status)}\n")


main()
