"""Select the best hypotheses of each sentence by given weights.

  luthier rerank pool.arrow --weights weights.txt -o out.txt
  luthier rerank pool.arrow --weights a.txt b.txt -o a.out b.out
  luthier rerank test.nbest.gz --weights weights.txt -n 5 -o best.jsonl
  decoder | luthier rerank - --weights weights.txt -o -

Weights are 'name value' lines, a Moses [weight] section, or a JSON object. The score is the sum of weight times
feature. Higher is better; ties go to the first hypothesis. A sentence without hypotheses gives an empty line. A list
is read and written block by block, so it may be of any length; so are the shards of a pool ('luthier data shard').
Standard input is answered sentence by sentence: a list ends when the id changes, at a blank line, or at the end.
"""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.options.lists import HELP, add_pool_options, pools_from
from luthier.cli.options.weights import add_strict_option
from luthier.cli.output import Output

FORMS = ("text", "jsonl", "moses")
COLD = 14, 8  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier rerank`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--weights", nargs="+", required=True, metavar="W", help="files of weights")
    parser.add_argument(
        "-o",
        "--output",
        nargs="+",
        required=True,
        metavar="OUT",
        help="a file for each file of weights; - is standard output",
    )
    parser.add_argument(
        "--to",
        choices=FORMS,
        help="text; jsonl: id, hyp, score, contributions, other keys of the list; moses: a list (default: by ending)",
    )
    parser.add_argument("-n", type=int, default=1, metavar="N", help="write the N best (jsonl and moses; default: 1)")
    add_strict_option(parser)
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Re-rank with all weight vectors at once, write the best."""
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.jobs.rerank import RerankOptions, rerank_files
    from luthier.report.tables.lists import rerank_table

    if len(options.output) != len(options.weights):
        raise LuthierError(f"expected {len(options.weights)} files after -o, found {len(options.output)}")
    if options.n < 1:
        raise LuthierError(f"expected -n of at least 1, found {options.n}")
    check_distinct(*options.output)
    for path in options.output:
        check_writable(path)
        check_apart(path, options.pool)
    settings = RerankOptions(options.n, options.to, options.strict, options.threads)
    rows = rerank_files(pools_from(options, options.pool), options.weights, options.output, settings)
    if "-" not in options.output:
        output.emit({"weights": [dataclasses.asdict(row) for row in rows]}, lambda: rerank_table(rows))
