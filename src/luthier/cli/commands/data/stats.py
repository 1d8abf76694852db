"""Compute statistics of metrics once, and keep them in the pool.

  luthier data stats pool.arrow --metric bleu,ter
  luthier data stats pool.arrow --metric chrf -o other.arrow

Every command that scores by one of these metrics, with the same parameters and version, then takes them from the file.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.weights import add_metric_options, metrics_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier data stats`."""
    parser.add_argument("pool", metavar="POOL")
    parser.add_argument("-o", "--output", metavar="POOL", help="write another pool (default: the same)")
    add_metric_options(parser, "bleu")


def run(options: argparse.Namespace, output: Output) -> None:
    """Add statistics, save, say what the file has."""
    from luthier.core.files.io import check_writable
    from luthier.kbest.storage.pool_file import open_pool, save_pool
    from luthier.metrics.pools import with_statistics
    from luthier.report.console import table

    target = options.output or options.pool
    check_writable(target)
    metrics = metrics_from(options)
    pool = open_pool(options.pool)
    for metric in metrics.values():
        pool = with_statistics(pool, metric)
    save_pool(pool, target)
    rows = [(signature, len(part.names), part.values.nbytes) for signature, part in pool.stats.items()]
    output.emit(
        {"output": target, "statistics": {signature: list(part.names) for signature, part in pool.stats.items()}},
        lambda: table(f"statistics in {target}", ("metric", "numbers", "bytes"), rows),
    )
