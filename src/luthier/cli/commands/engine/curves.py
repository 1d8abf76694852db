"""Show the learned shape: weights of bins against their values.

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

    from luthier.core.files.written import Written
    from luthier.jobs.bins import curves
    from luthier.report.tables.engine import curve_tables

    width = picture_width(options, options.output)
    found = curves(options.weights, options.bins, features=options.features)
    written = Written()
    if options.output:
        from luthier.report.figures.bins import draw_curves

        with written.answer(options.output):
            draw_curves(found.curves, Path(options.output), steps=found.bins.induction != "hat", width=width)
    output.emit(found.as_dict(), lambda: curve_tables(found.curves, options.most))
    written.check()
