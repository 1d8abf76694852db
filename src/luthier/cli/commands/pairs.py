"""Write preference data: the best and the worst output of each list.

  luthier pairs pool.arrow --weights weights.json -o dpo.jsonl
  luthier pairs outputs.jsonl --weights weights.json --margin 0.5 -o dpo.jsonl

Best and worst are by the given weights. Lines have TRL's names: prompt (the source), chosen, rejected, score_chosen,
score_rejected.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier pairs`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--weights", required=True, metavar="W", help="a file of weights")
    parser.add_argument("-o", "--output", required=True, metavar="JSONL", help="the pairs; - is standard output")
    parser.add_argument(
        "--margin", type=float, default=0.0, metavar="M", help="leave out pairs whose scores differ by less (0)"
    )
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Write the pairs, and say how many."""
    from pathlib import Path

    from luthier.core.files.io import check_apart, check_writable
    from luthier.jobs.pairs import pairs
    from luthier.report.console import table

    check_writable(options.output)
    check_apart(options.output, options.pool, options.weights)
    found = pairs(pool_from(options, options.pool), Path(options.weights), output=options.output, margin=options.margin)
    rows = [
        ("sentences", found.sentences),
        ("pairs", found.pairs),
        ("scores too close", found.too_close),
        ("fewer than two texts", found.one_text),
        ("mean margin", "" if found.mean_margin is None else f"{found.mean_margin:.4g}"),
    ]
    if options.output != "-":
        output.emit(found.as_dict(), lambda: table("pairs", ("", "number"), rows))
