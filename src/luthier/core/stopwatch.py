"""How long a job takes, without what compiling took: that is paid once on a machine, and says nothing of the job."""

from __future__ import annotations

import time

from luthier.core.jit import compiler_seconds


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._began = _now()

    def seconds(self) -> tuple[float, float]:
        """Return CPU and wall-clock seconds of this process so far."""
        cpu, wall = (max(now - then, 0.0) for now, then in zip(_now(), self._began, strict=True))
        return cpu, wall


def _now() -> tuple[float, float]:
    compiler = compiler_seconds()
    return time.process_time() - compiler[0], time.perf_counter() - compiler[1]
