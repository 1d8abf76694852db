"""Small jobs that reach the kernels of this room, for `luthier.pipelines.warm`."""

from __future__ import annotations

import numpy as np

from luthier.evaluation.comparison import Settings, compare
from luthier.evaluation.randomisation import EXCHANGES
from luthier.evaluation.systems import system_from_pool
from luthier.invented.lists.synthetic import SyntheticLists
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import pool_statistics


def compare_systems() -> None:
    """Compare two systems of two replicas."""
    pool = SyntheticLists(sentences=6, k=6, n_references=2).generate(0)
    scored = {name: load_metric(name) for name in ("bleu", "ter")}
    stats = {name: pool_statistics(pool, metric) for name, metric in scored.items()}
    rng = np.random.default_rng(0)
    systems = [
        system_from_pool(name, pool, rng.standard_normal((2, pool.n_features)), stats) for name in ("one", "other")
    ]
    for exchange in EXCHANGES:
        compare(systems, scored, Settings(draws=2, shuffles=2, exchange=exchange))


JOBS = (compare_systems,)
