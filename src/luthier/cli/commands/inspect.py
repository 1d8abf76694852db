"""Show what is in a pool: features, lists, repeats, redundancies.

luthier inspect pool.arrow
luthier inspect dev.nbest.gz --refs dev.en
"""

from __future__ import annotations

import argparse

from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.output import Output

COLD = 12, 8  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier inspect`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--most", type=int, default=60, metavar="N", help="features to show at the most (60)")
    parser.add_argument(
        "--verify", action="store_true", help="first compare the file with the digests that were written with it"
    )
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Summarise and print."""
    from luthier.jobs.inspect import inspect
    from luthier.kbest.storage.pool_file import stored_digest
    from luthier.report.tables.lists import inspection_tables

    pool = options.pool if options.verify else pool_from(options, options.pool)
    summary = inspect(pool, verify=options.verify)
    record = summary.as_dict()
    if options.verify:
        record["verified"] = stored_digest(options.pool)
        output.note(f"verified: the content is that of the digest {record['verified']}")
    output.emit(record, lambda: inspection_tables(summary, options.most))
