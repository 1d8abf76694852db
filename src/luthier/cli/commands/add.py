"""Add scores of another program to a pool, as features or columns.

  luthier add pool.arrow kiwi=kiwi.txt -o pool2.arrow
  luthier add pool.arrow comet=comet.json metricx=metricx.jsonl --column comet -o pool2.arrow
  luthier add pool.arrow qe.tsv -o pool2.arrow

A file has a number a line in the order of the pool, which is that of 'luthier export'. Or it is a table with id,
index (from 0) and numbers. Or it is a list with sources, texts and scores, as COMET and MetricX write it.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier add`."""
    parser.add_argument("pool", metavar="POOL", help="a pool, or a list of any format")
    parser.add_argument("scores", metavar="[NAME=]FILE", nargs="+", help="files of scores")
    parser.add_argument("-o", "--output", required=True, metavar="POOL2", help="the pool to write (.arrow)")
    parser.add_argument(
        "--column", action="append", default=[], metavar="NAME", help="a score to tune for as column:NAME, no feature"
    )


def run(options: argparse.Namespace, output: Output) -> None:
    """Add, save, and say what there is now."""
    from luthier.core.files.io import check_writable
    from luthier.jobs.scorers import add
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.report.console import table

    check_writable(options.output)
    added = add(options.pool, options.scores, column=options.column)
    save_pool(added.pool, options.output)
    rows = [*((name, "feature") for name in added.features), *((name, "column") for name in added.columns)]
    record = {**added.as_dict(), "output": options.output}
    output.emit(record, lambda: table(f"added, in {options.output}", ("score", "as"), rows))
