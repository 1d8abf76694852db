"""Show the score of the best, worst and other selections of a pool.

  luthier oracle pool.arrow --metric bleu

The corpus oracle is greedy: it passes over the sentences and changes each to what improves the corpus score most,
until nothing does. It is a lower bound on the best (an upper bound on the worst) there is. A sharded pool ('luthier
data shard') is read one shard after another, or by the workers of a --cluster.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.cluster import add_cluster_options, cluster_from
from luthier.cli.options.lists import HELP, add_pool_options, manifest_from, pool_from
from luthier.cli.options.weights import add_metric_options, metrics_from
from luthier.cli.output import Output
from luthier.core.errors import LuthierError

COLD = 16, 10  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier oracle`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    add_metric_options(parser, "bleu")
    add_pool_options(parser)
    add_cluster_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Find the oracles by each metric."""
    from luthier.jobs.score import oracle
    from luthier.report.tables.lists import oracle_table

    metrics = metrics_from(options)
    manifest = manifest_from(options, options.pool)
    if options.cluster and manifest is None:
        raise LuthierError("oracles on a --cluster take a sharded pool. hint: luthier data shard POOL -o DIR")
    pool = manifest or pool_from(options, options.pool)
    output.note(f"seed {options.seed}")
    with cluster_from(options) as engine:
        results = oracle(pool, metrics, seed=options.seed, engine=engine)
    output.emit(results.as_dict(), lambda: oracle_table(results.found))
