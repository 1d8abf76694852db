"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

from luthier.metrics.loading import load_metric, metric_names
from luthier.metrics.pools import pool_statistics
from luthier.synthetic.lists.noisy_channel import SyntheticLists


def score_pools() -> None:
    """Compute the statistics of every metric."""
    pool = SyntheticLists(sentences=6, k=6, n_references=2).generate(0)
    for name in metric_names():
        pool_statistics(pool, load_metric(f"{name}:score" if name == "column" else name))


JOBS = (score_pools,)
