"""Estimate a language model by modified Kneser–Ney, written as ARPA.

  luthier engine lm text.en --order 5 -o lm.arpa.gz
  luthier engine lm text.en --order 3 --prune 0 0 1 -o small.arpa

The text is tokenised, one sentence a line. docs/language-model.md has the formulas.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine lm`."""
    parser.add_argument("text", metavar="TEXT", help="sentences, one a line; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="ARPA", help="where to write (.gz, .zst: compressed)")
    parser.add_argument("--order", type=int, default=5, metavar="N", help="length of the longest n-grams (5)")
    parser.add_argument(
        "--prune",
        type=int,
        nargs="+",
        default=[0],
        metavar="C",
        help="n-grams that occur at most C times are pruned; one number an order, the last for all above (0)",
    )
    parser.add_argument(
        "--skip-symbols", action="store_true", help="take <s>, </s> and <unk> in the text for white space"
    )


def run(options: argparse.Namespace, output: Output) -> None:
    """Estimate, write, and say what the model has."""
    from luthier.core.files.io import display_name
    from luthier.jobs.lm import estimate_lm
    from luthier.report.tables.engine import estimate_table

    made = estimate_lm(
        options.text, order=options.order, prune=options.prune, skip_symbols=options.skip_symbols, output=options.output
    )
    if options.output != "-":  # else the model itself is the output
        path = display_name(options.output)
        output.emit({"path": path, **made.as_dict()}, lambda: estimate_table(made, path))
