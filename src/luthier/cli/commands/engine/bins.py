"""Cut features of rules into bins of equal population.

  luthier engine bins val.grammar --features P_EgivenFCoherent,C_F=64 --bits 4 -o bins.json
  luthier engine bins grammars/ --features P_EgivenFCoherent,TargetWords --keep TargetWords -o bins.json --plot bins.png
  luthier engine bins pool.arrow --features TM --by-use --exact -o bins.json

A rule counts once for every sentence whose grammar has it; in one file of text once for each line; in a pool once for
each sentence whose derivations have it.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine bins`."""
    parser.add_argument("source", metavar="SOURCE", help="a grammar, a folder of grammars, or a pool with derivations")
    parser.add_argument(
        "--features",
        required=True,
        metavar="NAMES",
        help="features to cut, separated by commas; NAME=N sets N bins; TargetWords is counted if no rule has it",
    )
    parser.add_argument(
        "--bits", type=_bits, default=4, metavar="N", help="2 to the power of N bins for a feature (default: 4)"
    )
    parser.add_argument("--keep", default="", metavar="NAMES", help="features that stay beside their bins")
    parser.add_argument(
        "--induction",
        default="indicator",
        metavar="NAME",
        help="what a value fires: its bin (indicator, the default), its neighbours too (overlapping), or hat functions "
        "(hat)",
    )
    parser.add_argument(
        "--conjoin",
        nargs=2,
        action="append",
        default=[],
        metavar=("A", "B"),
        help="a column for every bin of A together with every bin of B too; may be repeated",
    )
    parser.add_argument("--exact", action="store_true", help="the cut of the least error, not the greedy fill")
    parser.add_argument("--by-use", action="store_true", help="of a pool: a rule counts once for each use")
    parser.add_argument(
        "--global",
        dest="whole",
        action="store_true",
        help="of a pool: cut the values of whole hypotheses, not of rules",
    )
    add_picture_options(parser, "--plot", "draw the bins and their populations")
    parser.add_argument("-o", "--output", required=True, metavar="BINS", help="the file of bins, JSON")


def _bits(text: str) -> int:
    if not text.isdigit() or int(text) > 16:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 16, found {text!r}")
    return int(text)


def run(options: argparse.Namespace, output: Output) -> None:
    """Count, cut, write, draw and show."""
    from pathlib import Path

    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.core.files.written import secondary
    from luthier.features.bins_file import write_bins
    from luthier.jobs.bins import bins
    from luthier.report.tables.engine import bins_table

    check_distinct(options.output, options.plot)
    check_writable(options.output)
    check_apart(options.output, options.source)
    width = picture_width(options, options.plot)
    made = bins(
        options.source,
        options.features,
        bits=options.bits,
        keep=options.keep,
        induction=options.induction,
        conjoin=options.conjoin,
        exact=options.exact,
        by_use=options.by_use,
        whole=options.whole,
    )
    write_bins(made, options.output)
    if options.plot:
        from luthier.report.figures.bins import draw_bins

        with secondary(options.plot):
            draw_bins(made, Path(options.plot), width)
    if options.output != "-":
        output.emit({"output": options.output, **made.as_dict()}, lambda: bins_table(made))
