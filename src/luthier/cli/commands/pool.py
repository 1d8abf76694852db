"""Read K-best lists of any origin into a pool.

  luthier pool dev.nbest.gz --refs dev.en -o pool.arrow
  luthier pool run1.gz run2.gz run3.gz --refs ref0 ref1 --source dev.de -o pool.arrow

Several files are several runs of one decoder: they are merged, sentence by sentence, and hypotheses
that repeat one another in words, features and columns count once. A saved pool can be one of them.
--metric keeps the statistics of metrics in the file, so that later commands need not compute them again.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.lists import add_reading_options, add_transform_options, read_options, transforms
from luthier.cli.options.weights import add_metric_options, metrics_from
from luthier.cli.output import Output

COLD = 12, 8  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier pool`."""
    parser.add_argument("lists", nargs="+", metavar="LIST", help="a list: plain, gz, zst; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="POOL", help="the pool to write (.arrow)")
    add_reading_options(parser)
    add_transform_options(parser)
    add_metric_options(parser, None)


def run(options: argparse.Namespace, output: Output) -> None:
    """Read, transform, save, and say what was read."""
    from luthier.core.files.io import check_writable
    from luthier.kbest.building.lists import read_lists
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.metrics.pools import with_statistics
    from luthier.report.tables.lists import reading_report, reading_table

    check_writable(options.output)
    change, metrics = transforms(options), metrics_from(options) if options.metric else {}
    reading = read_lists(options.lists, options.refs, options.source, read_options(options))
    pool = change.apply(reading.pool)
    for metric in metrics.values():
        pool = with_statistics(pool, metric)
    save_pool(pool, options.output)
    output.emit(reading_report(reading, pool, options.output), lambda: reading_table(reading, pool, options.output))
