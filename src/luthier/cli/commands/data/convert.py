"""Turn a list or pool into another format.

  luthier data convert pool.arrow list.jsonl.gz
  luthier data convert dev.nbest.gz dev.parquet --refs dev.en

The output's name says its format: .arrow (a pool), .jsonl, .parquet, .cdec, anything else is a Moses list;
.gz and .zst compress.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.lists import add_reading_options, add_transform_options, read_options, transforms
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier data convert`."""
    parser.add_argument("input", metavar="IN", help="a pool or a list; - is standard input")
    parser.add_argument("output", metavar="OUT", help="what to write; - is a Moses list on standard output")
    parser.add_argument("--to", metavar="F", help="arrow, jsonl, parquet, moses or cdec (default: by OUT's ending)")
    add_reading_options(parser)
    add_transform_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Read, transform, write."""
    from luthier.core.files.io import check_writable
    from luthier.kbest.building.lists import read_lists
    from luthier.kbest.storage.writer import format_of, write_pool
    from luthier.report.tables.lists import reading_report, reading_table

    check_writable(options.output)
    format_of(options.output, options.to)
    change = transforms(options)
    reading = read_lists([options.input], options.refs, options.source, read_options(options))
    pool = change.apply(reading.pool)
    write_pool(pool, options.output, options.to)
    if options.output != "-":
        output.emit(
            reading_report(reading, pool, options.output),
            lambda: reading_table(reading, pool, options.output),
        )
