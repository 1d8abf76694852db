"""Kill a loop again and again, each time at another moment, until it ends; print how often it was killed.

  killing.py CONFIG FOLDER KILLS SEED

Each attempt is a fork of this process, so that nothing is imported anew.
"""

import os
import random
import signal
import sys
import time

from luthier.jobs.loop import run_loop
from luthier.jobs.loop_config import read_config


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


def main():
    """Kill after a random part of the time that one whole loop takes."""
    path, folder, kills, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    config = read_config(path, seed=0, threads=1)
    run_loop(config, folder + ".whole", resume=False)  # here, so that all forks have the kernels
    begin = time.monotonic()
    os.waitpid(attempt(config, folder + ".again"), 0)
    whole = time.monotonic() - begin
    draw, killed = random.Random(seed), 0
    for _ in range(kills):
        process = attempt(config, folder)
        time.sleep(draw.uniform(0.0, 0.5) * whole)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        killed += os.WIFSIGNALED(status)
    _, status = os.waitpid(attempt(config, folder), 0)
    sys.stdout.write(f"{killed} {os.waitstatus_to_exitcode(status)}\n")


main()
