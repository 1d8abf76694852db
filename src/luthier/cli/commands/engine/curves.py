"""Show what shape was learned: the weights of bins against the values they represent.

luthier engine curves weights.txt --bins bins.json -o curves.png
luthier engine curves weights.txt --bins bins.json --features P_EgivenFCoherent
"""

from __future__ import annotations

import argparse

from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine curves`."""
    parser.add_argument("weights", metavar="WEIGHTS", help="weights of the bins, in any of the forms")
    parser.add_argument("--bins", required=True, metavar="BINS", help="a file of 'luthier engine bins'")
    parser.add_argument("--features", default="", metavar="NAMES", help="only these, separated by commas")
    parser.add_argument("-o", "--output", metavar="F", help="draw them: a PNG, PDF or SVG file")
    add_picture_options(parser, None)
    parser.add_argument("--most", type=int, default=64, metavar="N", help="bins of a feature to print at the most (64)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Fit, draw and print."""
    from pathlib import Path

    from luthier.core.errors import LuthierError
    from luthier.core.files.written import Written
    from luthier.features.bins_file import read_bins
    from luthier.features.curves import curves
    from luthier.kbest.features import unknown_names
    from luthier.kbest.weights import read_weights
    from luthier.report.tables.engine import curve_tables

    width = picture_width(options, options.output)
    bins = read_bins(options.bins)
    found = curves(bins, read_weights(options.weights))
    wanted = [name for name in options.features.split(",") if name]
    unknown = [name for name in wanted if name not in {curve.bins.feature for curve in found}]
    if unknown:
        raise LuthierError(f"{options.bins}: {unknown_names(unknown, [curve.bins.feature for curve in found])}")
    found = tuple(curve for curve in found if not wanted or curve.bins.feature in wanted)
    written = Written()
    if options.output:
        from luthier.report.figures.bins import draw_curves

        with written.answer(options.output):
            draw_curves(found, Path(options.output), steps=bins.induction != "hat", width=width)
    output.emit({"curves": [curve.as_dict() for curve in found]}, lambda: curve_tables(found, options.most))
    written.check()
