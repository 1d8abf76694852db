"""The trace of a job: every state of every run as a line of JSON, in a file that grows while the runs go on.

Runs in threads tell of their states as they come; when the job is done, the same lines are written again in order, so
that the same job leaves the same bytes. Whoever reads it meanwhile, or after the job was killed, finds whole lines.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from luthier.core.files.io import PACKED, STDIN, open_output
from luthier.core.progress import notice
from luthier.tuning.answer import Watch, unwatched
from luthier.tuning.base import State
from luthier.tuning.validation.report import TuningReport

WatchSeed = Callable[[int], Watch]


def nobody(seed: int) -> Watch:  # noqa: ARG001
    """Return a watcher of states that does nothing."""
    return unwatched


def write_trace(report: TuningReport, path: str) -> None:
    """Write every state of every run, in order; the same job writes the same bytes."""
    with open_output(path) as file:
        for tuned in report.replicas:
            for trace in tuned.result.traces:

                def write(run: int, step: int, state: State, heldout: float | None, seed: int = tuned.seed) -> None:
                    file.write(_line(seed, run, step, state, heldout))

                trace.tell(write)


class GrowingTrace:
    """The file of a trace while its job runs: states are added as they come; a context manager.

    Nothing is made before the first state comes, so a job that never begins leaves what was there. Standard output,
    packed files and devices cannot grow so that somebody reads them meanwhile: they are left to `write_trace`. `others`
    are told of the same states.
    """

    def __init__(self, path: str | None, others: WatchSeed = nobody) -> None:
        self._path, self._others = path if path and _grows(path) else None, others
        self._file: io.FileIO | None = None
        self._length = 0
        self._lock = threading.Lock()
        self._context = contextvars.copy_context()  # who is told of anything, also by a thread

    def watch(self, seed: int) -> Watch:
        """Return the watcher of the states of a seed."""
        others = self._others(seed)
        if self._path is None:
            return others

        def tell(run: int, step: int, state: State, heldout: float | None) -> None:
            self._add(_line(seed, run, step, state, heldout))
            others(run, step, state, heldout)

        return tell

    def _add(self, line: bytes) -> None:
        """Write a line at once; one that cannot be written ends the growing, not the job."""
        with self._lock:
            if self._path is None:
                return
            try:
                if self._file is None:
                    self._file = open(self._path, "wb", buffering=0)  # noqa: SIM115 - closed by `close`
                if self._file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self._length += len(line)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                told = f"the trace {self._path} does not grow any more: {reason}; it is written again at the end"
                self._context.run(notice, told)
                self._path = None
                with contextlib.suppress(OSError):  # half a line is nobody's
                    if self._file is not None:
                        self._file.truncate(self._length)

    def close(self) -> None:
        """Write no more; what is there stays."""
        with self._lock:
            self._path = None
            if self._file is not None:
                with contextlib.suppress(OSError):  # the whole trace is written again
                    self._file.close()

    def __enter__(self) -> GrowingTrace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _grows(path: str) -> bool:
    target = Path(os.path.realpath(path))
    return path != STDIN and not path.endswith(PACKED) and (target.is_file() or not target.exists())


def _line(seed: int, run: int, step: int, state: State, heldout_gain: float | None) -> bytes:
    row = {
        "seed": seed,
        "restart": run,
        "step": step,
        "gain": state.gain,
        "heldout_gain": heldout_gain,
        "objective": state.objective,
        "did": state.did,
        "record": dict(state.record),
        "weights": state.weights.tolist(),
    }
    return json.dumps(row).encode("utf-8") + b"\n"
