"""Which system is better: ``luthier.compare`` on texts or on weights of a pool, with replicas, p-values, intervals."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.params import DEFAULT_SEED, checked, paths_of
from luthier.core.progress import progress
from luthier.core.tasks import Engine, Threads
from luthier.corpus.texts import Texts
from luthier.evaluation.comparison import Comparison, Settings
from luthier.evaluation.comparison import compare as compare_systems
from luthier.evaluation.ranking import DifferentSentences, most_different
from luthier.evaluation.systems import System, system_from_pool
from luthier.jobs.opening import (
    AnyMetrics,
    AnyPath,
    AnyPool,
    AnyWeights,
    cores,
    formulas_of,
    metrics_at,
    pool_at,
    weighted,
)
from luthier.jobs.score import read_parallel
from luthier.kbest.derived import with_derived
from luthier.kbest.pool import Pool
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch
from luthier.metrics.pools import pool_statistics


@dataclasses.dataclass(frozen=True, eq=False)
class Compared(Shown):
    """Systems against a baseline, and the sentences on which they differ most."""

    comparison: Comparison
    sentences: tuple[DifferentSentences, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**self.comparison.as_dict(), "sentences": [dataclasses.asdict(item) for item in self.sentences]}


@checked
def compare(
    systems: Mapping[str, AnyWeights | Sequence[AnyWeights]],
    metric: AnyMetrics = "bleu,ter,chrf,length",
    *,
    refs: AnyPath | Sequence[AnyPath] = (),
    pool: AnyPool | None = None,
    strict: bool = False,
    sentences: int = 0,
    draws: int = 1000,
    shuffles: int = 10_000,
    exchange: str = "systems",
    confidence: float = 0.95,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    engine: Engine | None = None,
) -> Compared:
    """Compare systems with the first of them: means, spreads, p-values and intervals, over replicas of each.

    Parameters
    ----------
    systems
        By name, the baseline first. With `refs`: files of translations, several of a system are its replicas. With a
        `pool`: weights that select from it, by name, vectors or files, several are replicas.
    metric
        Names that commas separate, a metric, or metrics by label.
    strict
        Refuse weights of features that the lists lack.
    sentences
        How many of the most different sentences to list.
    draws, shuffles, exchange, confidence
        Bootstrap resamples, shuffles of approximate randomisation and what they exchange (``systems`` or
        ``replicas``), and the share of resamples inside an interval.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0, 1, 1], "hyp": ["a", "b", "c", "d"], "lm": [1.0, 2, 1, 2], "q": [0.9, 0.1, 0.8, 0.2]}
    >>> lists = pool_from_frame(frame, columns=["q"])
    >>> found = compare({"old": {"lm": 1.0}, "new": {"lm": -1.0}}, "column:q", pool=lists, shuffles=100)
    >>> [round(result.mean, 2) for result in found.comparison.metrics[0].results]
    [0.15, 0.85]
    """
    settings = Settings(draws=draws, shuffles=shuffles, exchange=exchange, confidence=confidence, seed=seed)
    metrics, n_threads = metrics_at(metric), cores(threads)
    if pool is not None:
        made, references = systems_from_weights(pool, systems, metrics, strict=strict, threads=n_threads)
    else:
        files = {name: paths_of(paths, "a file of translations") for name, paths in systems.items()}
        made, references = systems_from_files(files, paths_of(refs, "a file of references"), metrics)
    comparison = compare_systems(made, metrics, settings, engine=engine or Threads(n_threads))
    return Compared(comparison, tuple(most_different(made, references, metrics, count=sentences)))


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
    source: AnyPool,
    weights: Mapping[str, Any],
    metrics: Mapping[str, Metric],
    *,
    strict: bool = False,
    threads: int = 1,
) -> tuple[list[System], list[Texts]]:
    """Return the systems that weights select from a pool, a replica for each vector, and the references.

    References are those that all sentences have.
    """
    groups = {name: _replicas(name, group) for name, group in weights.items()}
    pool = pool_at(source)
    for one in (one for group in groups.values() for one in group):
        pool = with_derived(pool, formulas_of(one))
    if np.any(pool.list_lengths == 0):
        pool = pool.take_sentences(np.flatnonzero(pool.list_lengths > 0))
    stats = {label: pool_statistics(pool, metric) for label, metric in metrics.items()}
    systems = []
    for name, group in groups.items():
        found = [weighted(pool, one, strict=strict)[1] for one in group]
        systems.append(system_from_pool(name, pool, np.array(found), stats, threads=threads))
    return systems, _reference_columns(pool)


def _replicas(name: str, given: Any) -> list[Any]:
    """Return the weights of a system as a list: of one vector, mapping or file, or of several."""
    if isinstance(given, str | os.PathLike | Mapping) or (isinstance(given, np.ndarray) and given.ndim == 1):
        return [given]
    if not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise LuthierError(f"expected weights of the system {name!r}, or several, found {given!r}")
    return [given] if isinstance(given[0], Real) else list(given)


def named_by_files(groups: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return groups of files by name: that of the first, with its folder where names alone would not do."""
    names = [Path(group[0]).name for group in groups]
    if len(set(names)) < len(names):
        names = [str(group[0]) for group in groups]
    if len(set(names)) < len(names):
        raise LuthierError("the same weights were given twice")
    return dict(zip(names, groups, strict=True))


def _reference_columns(pool: Pool) -> list[Texts]:
    if pool.references is None:
        return []
    starts, counts = pool.references.offsets[:-1], np.diff(pool.references.offsets)
    return [pool.references.texts.take(starts + r) for r in range(int(counts.min(initial=0)))]
