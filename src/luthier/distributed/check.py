"""What a look at a cluster finds: a record of each worker, and whether they fit together."""

from __future__ import annotations

import dataclasses
import functools
import os
import platform
from collections.abc import Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a worker runs on: its host and process, processor, cores it may use, and memory in bytes (0: unknown)."""

    where: str
    processor: str
    cores: int
    memory: int

    @classmethod
    def here(cls, where: str) -> Machine:
        """Return what this process runs on."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        try:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (ValueError, OSError, AttributeError):
            memory = 0
        return cls(where, processor(), cores, memory)


@functools.cache
def processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@dataclasses.dataclass(frozen=True)
class WorkerCheck:
    """One worker.

    Attributes
    ----------
    address : str
    fault : why it cannot be used; '' if it can
    machine : None if it could not be asked
    open_seconds : to open the pool and compare its digest; None without a pool
    rerank_rate : hypotheses a second; None without a pool
    """

    address: str
    fault: str
    machine: Machine | None = None
    open_seconds: float | None = None
    rerank_rate: float | None = None


@dataclasses.dataclass(frozen=True)
class ClusterCheck:
    """All workers of a cluster, and the versions that each must have."""

    workers: tuple[WorkerCheck, ...]
    versions: tuple[tuple[str, str], ...]

    @property
    def fits(self) -> bool:
        """Whether there are workers, and all can be used."""
        return bool(self.workers) and not any(worker.fault for worker in self.workers)

    @property
    def processors(self) -> Sequence[str]:
        """The kinds of processors: more than one may differ in the last bit of a result."""
        return sorted({worker.machine.processor for worker in self.workers if worker.machine})

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**dataclasses.asdict(self), "versions": dict(self.versions), "fits": self.fits}
