"""Select the best hypothesis of each sentence by given weights.

  luthier rerank pool.arrow --weights weights.txt -o out.txt
  luthier rerank pool.arrow --weights a.txt b.txt -o a.out b.out

Weights are 'name value' lines, a Moses [weight] section, or a JSON object. The score is the sum of
weight times feature, higher is better, ties go to the hypothesis that stands first. A sentence without
hypotheses gives an empty line.
"""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.output import Output
from luthier.cli.weight_options import add_strict_option

GROUP = "lists"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier rerank`."""
    parser.add_argument("pool", metavar="POOL")
    parser.add_argument("--weights", nargs="+", required=True, metavar="W", help="files of weights")
    parser.add_argument(
        "-o", "--output", nargs="+", required=True, metavar="OUT",
        help="a text file for each file of weights; - is standard output",
    )  # fmt: skip
    add_strict_option(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Re-rank with all weight vectors at once, write the texts."""
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_writable
    from luthier.kbest.reranking import rerank_files
    from luthier.kbest.storage import open_pool
    from luthier.report.tables.rerank import rerank_table

    if len(options.output) != len(options.weights):
        raise LuthierError(f"expected {len(options.weights)} files after -o, found {len(options.output)}")
    for path in options.output:
        check_writable(path)
    rows = rerank_files(
        open_pool(options.pool), options.weights, options.output, strict=options.strict, threads=options.threads
    )
    if "-" not in options.output:
        output.emit({"weights": [dataclasses.asdict(row) for row in rows]}, lambda: rerank_table(rows))
