"""Comparisons from files: systems of several replicas each, given as texts or as weights of a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.corpus.texts import Texts
from luthier.evaluation.systems import System, system_from_pool
from luthier.jobs.score import read_parallel
from luthier.kbest.pool import Pool
from luthier.kbest.weights import read_weights
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch
from luthier.metrics.pools import pool_statistics


def systems_from_files(
    files: Mapping[str, Sequence[str]], refs: Sequence[str], metrics: Mapping[str, Metric]
) -> tuple[list[System], list[Texts]]:
    """Return the systems, a replica for each file, and the references."""
    if not refs:
        raise LuthierError("expected references, found none. hint: give `refs`")
    references = read_parallel(refs)
    systems = []
    with progress("computing statistics", sum(len(paths) for paths in files.values())) as advance:
        for name, paths in files.items():
            replicas = read_parallel(paths, references[0], refs[0])
            stats: dict[str, list[np.ndarray]] = {label: [] for label in metrics}
            for replica in replicas:
                batch = Batch.from_lines(replica, references)
                for label, metric in metrics.items():
                    stats[label].append(metric.stats(batch))
                advance(1)
            systems.append(System(name, {label: np.stack(parts) for label, parts in stats.items()}, replicas))
    return systems, references


def systems_from_weights(
    pool: Pool,
    weights: Sequence[Sequence[str]],
    metrics: Mapping[str, Metric],
    *,
    strict: bool = False,
    threads: int = 1,
) -> tuple[list[System], list[Texts]]:
    """Return the systems that groups of weight files select from a pool, and the references.

    Each group is a system, each file of it a replica. References are those that all sentences have.
    """
    if np.any(pool.list_lengths == 0):
        pool = pool.take_sentences(np.flatnonzero(pool.list_lengths > 0))
    stats = {label: pool_statistics(pool, metric) for label, metric in metrics.items()}
    systems = []
    for name, group in zip(_names(weights), weights, strict=True):
        found = [read_weights(path).vector(pool.features.names, source=path, strict=strict) for path in group]
        systems.append(system_from_pool(name, pool, np.array(found), stats, threads=threads))
    return systems, _reference_columns(pool)


def _names(groups: Sequence[Sequence[str]]) -> list[str]:
    """Return a name for each group: its first file's, with its folder where names alone would not do."""
    names = [Path(group[0]).name for group in groups]
    if len(set(names)) < len(names):
        names = [str(group[0]) for group in groups]
    if len(set(names)) < len(names):
        raise LuthierError("the same weights were given twice")
    return names


def _reference_columns(pool: Pool) -> list[Texts]:
    if pool.references is None:
        return []
    starts, counts = pool.references.offsets[:-1], np.diff(pool.references.offsets)
    return [pool.references.texts.take(starts + r) for r in range(int(counts.min(initial=0)))]
