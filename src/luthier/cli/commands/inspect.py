"""Show what is in a pool: features, lists, repeats, redundancies.

luthier inspect pool.arrow
"""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.output import Output

GROUP = "lists"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier inspect`."""
    parser.add_argument("pool", metavar="POOL")
    parser.add_argument("--most", type=int, default=60, metavar="N", help="features to show at the most (60)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Summarise and print."""
    from luthier.kbest.inspection import inspect
    from luthier.kbest.storage import open_pool
    from luthier.report.tables.inspection import inspection_tables

    summary = inspect(open_pool(options.pool))
    output.emit(dataclasses.asdict(summary), lambda: inspection_tables(summary, options.most))
