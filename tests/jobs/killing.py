"""Kill a loop again and again, in each of its turns; print how often, after how many turns, and how it ended.

  killing.py CONFIG FOLDER KILLS SEED

Each attempt is a fork of this process, so that nothing is imported anew. It kills itself, by SIGKILL, when it opens,
renames or removes a file or starts a program: the n-th time after so many turns, whatever else the machine does.
"""

import os
import random
import signal
import sys
from pathlib import Path

from luthier.jobs.loop import run_loop
from luthier.jobs.loop_config import read_config

TURNS = 4  # of the loop
EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.truncate", "subprocess.Popen")


def attempt(config, folder, turns=0, events=None):
    """Run in a process of its own, which ends itself at an event after so many turns; return its exit code."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code = 1
    try:
        if events is not None:
            sys.addaudithook(Killer(folder, turns, events))
        run_loop(config, folder, resume=True)
        code = 0
    finally:
        os._exit(code)


class Killer:
    """Counts what happens to files after so many turns, and kills this process when that is enough."""

    def __init__(self, folder, turns, left):
        self.folder, self.turns, self.left, self.looking = folder, turns, left, False

    def __call__(self, event, arguments):
        if event not in EVENTS or self.looking:
            return
        self.looking = True  # to look is an event, too
        if finished_turns(self.folder) >= self.turns:
            self.left -= 1
        self.looking = False
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def finished_turns(folder):
    """Return how many turns a loop has finished: its file has a line for the job and one for the start before them."""
    path = Path(folder) / "iterations.jsonl"
    return max(0, path.read_bytes().count(b"\n") - 2) if path.exists() else 0


def main():
    """Kill attempts in the first turn, the second and so on, each at random events."""
    path, folder, kills, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    config = read_config(path, seed=0, threads=1)
    run_loop(config, folder + ".whole", resume=False)  # here, so that all forks have the kernels
    draw, killed, turns = random.Random(seed), 0, set()
    for number in range(kills):
        code = attempt(config, folder, number * TURNS // kills, draw.randrange(20))
        if code == -signal.SIGKILL:
            killed += 1
            turns.add(finished_turns(folder))
    sys.stdout.write(f"{killed} {len(turns)} {attempt(config, folder)}\n")


main()
