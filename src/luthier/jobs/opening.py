"""What jobs take: pools or where they are, metrics or their names, weights in any form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.io import STDIN
from luthier.core.params import path_of, paths_of
from luthier.core.threads import available_threads
from luthier.kbest.pool import Pool, pool_of
from luthier.metrics.base import Metric

if TYPE_CHECKING:
    from luthier.kbest.shards.manifest import Manifest

AnyPath = str | os.PathLike[str]
AnyPool = Pool | str | os.PathLike[str]
AnyWeights = Mapping[str, float] | npt.ArrayLike | os.PathLike[str]
AnyMetrics = str | Metric | Mapping[str, Metric]


def pool_at(source: AnyPool, *, counts: str = "") -> Pool:
    """Return a pool: itself, the one in a file, or what a list of any format makes, repeats counted in a column."""
    if not isinstance(source, str | os.PathLike):
        return pool_of(source)
    path = path_of(source, "a pool or a list")
    if manifest_path(path):
        raise LuthierError(
            f"{path}: expected a whole pool, found shards of one. hint: tune, raster and oracle take shards"
        )
    from luthier.kbest.storage.pool_file import is_pool, open_pool

    if path != STDIN and (path.endswith(".arrow") or is_pool(path)):
        return open_pool(path)
    from luthier.kbest.building.lists import read_pool

    return read_pool(path, counts=counts)


def lists_at(source: AnyPool | Manifest) -> Pool | Manifest:
    """Return a pool, or the manifest of one in shards: itself, or what is at a path."""
    from luthier.kbest.shards.manifest import Manifest, read_manifest

    if isinstance(source, Manifest):
        return source
    place = manifest_path(path_of(source)) if isinstance(source, str | os.PathLike) else ""
    if not place:
        return pool_at(source)
    from luthier.kbest.shards.shard import check_files

    manifest = read_manifest(place)
    check_files(manifest)
    return manifest


def manifest_path(path: str) -> str:
    """Return where a manifest is: `path` itself, or the one in that folder; '' if there is none."""
    from luthier.kbest.shards.manifest import NAME, is_manifest

    if path == STDIN:
        return ""
    place = str(Path(path) / NAME) if Path(path).is_dir() else path
    return place if is_manifest(place) else ""


def weighted(source: AnyPool, weights: AnyWeights | None, *, strict: bool = False) -> tuple[Pool, Float64 | None]:
    """Return a pool with the features whose formulas come with weights, and the weights in its order, (D,)."""
    from luthier.kbest.derived import with_derived
    from luthier.kbest.weights import Weights, read_weights, vector_of

    pool = pool_at(source)
    if weights is None:
        return pool, None
    if isinstance(weights, str | os.PathLike):
        found = read_weights(weights)
        pool = with_derived(pool, found.derived)
        return pool, found.vector(pool.features.names, source=str(weights), strict=strict)
    if isinstance(weights, Mapping):
        found = weights if isinstance(weights, Weights) else Weights(weights)
        pool = with_derived(pool, found.derived)
        return pool, found.vector(pool.features.names, strict=strict)
    return pool, vector_of(weights, pool.features.names)


def formulas_of(weights: AnyWeights) -> Mapping[str, str]:
    """Return the formulas of features that come with weights."""
    from luthier.kbest.weights import Weights, read_weights

    found = read_weights(weights) if isinstance(weights, str | os.PathLike) else weights
    return found.derived if isinstance(found, Weights) else {}


def metrics_at(metric: AnyMetrics) -> dict[str, Metric]:
    """Return metrics by their labels: of names that commas separate, one metric, or a mapping."""
    from luthier.metrics.loading import as_metric, load_metrics

    if isinstance(metric, Mapping):
        return {label: as_metric(one) for label, one in metric.items()}
    return load_metrics(metric) if isinstance(metric, str) else {as_metric(metric).name: metric}


def axes_at(axis: AnyPath | Sequence[AnyPath]) -> list[str]:
    """Return axes as texts, of one or of several."""
    if isinstance(axis, str | os.PathLike):
        return [path_of(axis, "an axis")]
    return paths_of(axis, "an axis")


def cores(threads: int | None) -> int:
    """Return how many threads to use: all cores of this process unless a number is given."""
    if threads is None:
        return available_threads()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise LuthierError(f"expected `threads` of at least 1, found {threads!r}")
    return threads
