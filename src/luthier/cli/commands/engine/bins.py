"""Cut features of rules into bins of like population.

  luthier engine bins val.grammar --features P_EgivenFCoherent,C_F=64 --bits 4 -o bins.json
  luthier engine bins grammars/ --features P_EgivenFCoherent,TargetWords --keep TargetWords -o bins.json --plot bins.png
  luthier engine bins pool.arrow --features TM --by-use --exact -o bins.json

A rule counts once in every sentence's grammar it stands in; in one file of text once for each line; in a pool once for
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
        "--features", required=True, metavar="NAMES",
        help="features to cut, separated by commas; NAME=N asks for N bins; TargetWords is counted if no rule has it",
    )  # fmt: skip
    parser.add_argument(
        "--bits", type=_bits, default=4, metavar="N", help="2 to the power of N bins for a feature (default: 4)"
    )
    parser.add_argument("--keep", default="", metavar="NAMES", help="features that stay beside their bins")
    parser.add_argument(
        "--induction", default="indicator", metavar="NAME",
        help="what a value fires: its bin (indicator, the default), its neighbours too (overlapping), or hat functions "
        "(hat)",
    )  # fmt: skip
    parser.add_argument(
        "--conjoin", nargs=2, action="append", default=[], metavar=("A", "B"),
        help="a column for every bin of A together with every bin of B too; may be repeated",
    )  # fmt: skip
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
    from luthier.features.fit_bins import BinOptions
    from luthier.jobs.bins import BinsJob, run_bins
    from luthier.report.tables.engine import bins_table

    check_distinct(options.output, options.plot)
    check_writable(options.output)
    check_apart(options.output, options.source)
    width = picture_width(options, options.plot)
    names, numbers = _names(options.features)
    pairs = [(first, second) for first, second in options.conjoin]
    cut = BinOptions(1 << options.bits, numbers, _split(options.keep), options.induction, options.exact, pairs)
    bins = run_bins(BinsJob(options.source, names, cut, "global" if options.whole else "local", options.by_use))
    write_bins(bins, options.output)
    if options.plot:
        from luthier.report.figures.bins import draw_bins

        with secondary(options.plot):
            draw_bins(bins, Path(options.plot), width)
    if options.output != "-":
        record = {
            "output": options.output, "origin": dict(bins.origin),
            "features": [
                {"feature": f.feature, "bins": len(f), "values": f.n_values, "error": f.error} for f in bins.features
            ],
        }  # fmt: skip
        output.emit(record, lambda: bins_table(bins))


def _split(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _names(text: str) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the names, and the number of bins of those that have one behind them."""
    from luthier.core.errors import LuthierError

    names: list[str] = []
    numbers: dict[str, int] = {}
    for item in _split(text):
        name, equals, number = item.rpartition("=")
        if equals and number.isascii() and number.isdigit():
            numbers[name] = int(number)
        names.append(name if name in numbers else item)
    if len(set(names)) != len(names) or not names:
        raise LuthierError(f"expected names of features that differ behind --features, found {text!r}")
    return tuple(names), numbers
