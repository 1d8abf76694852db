"""A cluster of separate processes, as a user starts one: a scheduler, and workers that are minded."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
    "DASK_LOGGING__DISTRIBUTED": "critical",
    "DASK_DISTRIBUTED__WORKER__DAEMON": "True",
}
START = "import sys; from dask.__main__ import main; sys.argv[0] = 'dask'; main()"


def dask(*words):
    """Start a program of Dask in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", START, *map(str, words)], env={**os.environ, **SETTINGS}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


class Separate:
    """Scheduler and workers; `file` is the scheduler's."""

    def __init__(self, folder, workers=2, minded=True):
        self.file = Path(folder) / "scheduler.json"
        self.file.unlink(missing_ok=True)
        here = ("--host", "127.0.0.1", "--no-dashboard")
        self.scheduler = dask("scheduler", *here, "--port", 0, "--scheduler-file", self.file)
        while not self.file.exists():
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.minders = [
            dask(
                "worker",
                *here,
                "--scheduler-file",
                self.file,
                "--nthreads",
                1,
                "--memory-limit",
                0,
                "--local-directory",
                folder,
                "--nanny" if minded else "--no-nanny",
            )
            for _ in range(workers)
        ]

    def workers(self):
        """Return the processes that run units."""
        found = []
        for minder in self.minders:
            with contextlib.suppress(psutil.NoSuchProcess):
                children = psutil.Process(minder.pid).children(recursive=True)
                found += [c.pid for c in children if "spawn_main" in " ".join(c.cmdline())]
        return sorted(found)

    def close(self):
        """End all of it."""
        for process in [self.scheduler, *self.minders]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
