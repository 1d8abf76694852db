"""Show the exact curve of a metric along a line of weights.

  luthier line pool.arrow --weights weights.txt --axis lm --plot curve.png -o curve.tsv

The weights are w0 + t·a: w0 from a file (without one: 1 for each feature, −1 for costs), a an axis, which is
a feature by its name or a file of 'name value' lines. The score changes at finitely many t only; between two
of them it is constant. All intervals are found, none is sampled, and the lists are re-ranked inside each of
them to show it.
"""

from __future__ import annotations

import argparse

from luthier.cli.axis_options import add_axis_options
from luthier.cli.metric_options import add_metric_options, metric_from
from luthier.cli.output import Output
from luthier.cli.picture_options import add_picture_options, picture_width
from luthier.cli.pool_options import pool_from

GROUP = "geometry"
DISAGREED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier line`."""
    add_axis_options(parser)
    parser.add_argument(
        "--window", default=":", metavar="LO:HI",
        help="t from LO to HI only, also A=LO:HI; a minus sign in front needs --window=LO:HI (default: the whole line)",
    )  # fmt: skip
    parser.add_argument(
        "--check", type=int, metavar="N", help="re-rank N intervals, drawn at random (default: all of them)"
    )
    add_picture_options(parser, "--plot", "draw the curve")
    parser.add_argument("-o", "--output", metavar="OUT", help="all intervals: a .tsv, .json or .arrow file")
    add_metric_options(parser, "bleu")


def run(options: argparse.Namespace, output: Output) -> int:
    """Follow the line, print what is on it, write what was asked for; return 1 if a re-rank disagrees."""
    import warnings
    from pathlib import Path

    from luthier.core.errors import LuthierWarning
    from luthier.core.files.tables import check_table_path
    from luthier.landscape.lines.line_report import follow_line, read_window, write_curve
    from luthier.landscape.problem import Problem
    from luthier.landscape.subspaces import read_subspace
    from luthier.report.figures.line import draw_line
    from luthier.report.tables.line import line_tables

    metric = metric_from(options)
    if options.output:
        check_table_path(options.output)
    width = picture_width(options, options.plot)
    pool = pool_from(options, options.pool)
    line = read_subspace(pool, options.weights, options.axis, expected=1)
    window = read_window(options.window, line)
    output.note(f"seed {options.seed}")
    report = follow_line(
        Problem.make(pool, metric), line, window, check=options.check, seed=options.seed, threads=options.threads
    )
    if options.output:
        write_curve(report, options.output)
    if options.plot:
        draw_line(report, Path(options.plot), width)
    written = [path for path in (options.output, options.plot) if path]
    if options.output != "-":
        output.emit(
            {"seed": options.seed, **report.as_dict(), "written": written}, lambda: line_tables(report, written)
        )
    if report.check.wrong:
        told = f"{report.check.wrong} intervals re-rank to another selection: this is a fault of luthier"
        warnings.warn(told, LuthierWarning, stacklevel=1)
        return DISAGREED
    return 0
