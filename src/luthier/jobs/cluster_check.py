"""The check of a cluster: whether every worker can be used and opens the pool, and how fast it re-ranks."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Protocol

import numpy as np

from luthier.core.tasks import Recipe, Work
from luthier.distributed.check import ClusterCheck, Machine, WorkerCheck
from luthier.distributed.worker import Outcome, versions, whereabouts
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.kbest.storage.pool_file import PoolFile

TIMES = 3


class Everywhere(Protocol):
    """A cluster whose workers can be queried one by one."""

    def everywhere(self, work: Work, recipe: Recipe, unit: Any) -> dict[str, Outcome]:
        """Return how a unit went on each worker, by its address."""


@dataclasses.dataclass(frozen=True)
class TimedPool:
    """A pool, opened, and how long that took; the recipe of itself."""

    file: PoolFile | None

    def open(self) -> tuple[Pool | None, float]:
        """Return the pool, if there is one, and the seconds."""
        began = time.perf_counter()
        return None if self.file is None else self.file.open(), time.perf_counter() - began


def check_cluster(cluster: Everywhere, pool: PoolFile | None = None) -> ClusterCheck:
    """Return what every worker says of itself, and of a pool."""
    found = cluster.everywhere(look_at_worker, TimedPool(pool), None)
    checks = [
        outcome.value if not outcome.fault else WorkerCheck("", f"{outcome.fault} ({outcome.where})")
        for outcome in found.values()
    ]
    named = (dataclasses.replace(check, address=address) for address, check in zip(found, checks, strict=True))
    return ClusterCheck(tuple(named), versions())


def look_at_worker(given: tuple[Pool | None, float], unit: None) -> WorkerCheck:  # noqa: ARG001
    """Return what this worker is, and how fast it re-ranks the pool: the best of three times."""
    machine, (pool, seconds) = Machine.here(whereabouts()), given
    if pool is None:
        return WorkerCheck("", "", machine)
    weights = np.ones(pool.features.n_features)
    rerank(pool, weights)  # kernels are loaded, pages too
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        rerank(pool, weights)
        times.append(time.perf_counter() - began)
    return WorkerCheck("", "", machine, seconds, pool.n_hypotheses / max(min(times), 1e-9))
