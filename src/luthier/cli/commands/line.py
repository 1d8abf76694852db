"""Show the exact curve of a metric along a line of weights.

  luthier line pool.arrow --weights weights.txt --axis lm --plot curve.png -o curve.tsv

The weights are w0 + t·a. w0 is read from a file (without one: 1 for each feature, −1 for costs). The axis a is a
feature by its name or a file of 'name value' lines. Points are given as weights of the feature; along a file, as
offsets t. The score changes at finitely many points only; between two of them it is constant. All intervals are
found, none is sampled, and the lists are re-ranked inside each of them to prove it.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.landscape import add_axis_options, add_choice_options, add_picture_options, picture_width
from luthier.cli.options.lists import pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output

DISAGREED = 1
COLD = 23, 12  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier line`."""
    add_axis_options(parser)
    parser.add_argument(
        "--window",
        default=":",
        metavar="LO:HI",
        help="weights from LO to HI only (along a file: offsets), also A=LO:HI; a minus sign in front needs "
        "--window=LO:HI (default: the whole line)",
    )
    parser.add_argument(
        "--check", type=int, metavar="N", help="re-rank N intervals, drawn at random (default: all of them)"
    )
    parser.add_argument(
        "--resamples", type=int, metavar="N", help="where the optimum is on N resamples of the sentences"
    )
    add_picture_options(parser, "--plot", "draw the curve")
    parser.add_argument("-o", "--output", metavar="OUT", help="all intervals: a .tsv, .json or .arrow file")
    add_choice_options(parser, "place", "the widest of the best intervals")
    parser.add_argument("-w", "--weights-out", metavar="F", help="write the weights of that point")
    add_metric_options(parser, "bleu")


def run(options: argparse.Namespace, output: Output) -> int:
    """Follow the line, print what is on it, write what was asked for; return 1 if a re-rank disagrees."""
    import warnings
    from pathlib import Path

    from luthier.core.errors import LuthierWarning
    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.core.files.tables import check_table_path
    from luthier.core.files.written import Written
    from luthier.jobs.line import line
    from luthier.jobs.surface import check_choice, check_resamples
    from luthier.kbest.weights import write_weights
    from luthier.landscape.lines.line_report import write_curve
    from luthier.report.figures.line import draw_line
    from luthier.report.tables.landscape import line_tables

    metric = metric_from(options)
    check_distinct(options.output, options.plot, options.weights_out)
    if options.output:
        check_table_path(options.output)
    check_choice(options.choose, options.noise)
    check_resamples(options.resamples)
    if options.weights_out:
        check_writable(options.weights_out)
        check_apart(options.weights_out, options.pool, options.weights, *options.axis)
    width = picture_width(options, options.plot)
    pool = pool_from(options, options.pool)
    output.note(f"seed {options.seed}")
    found = line(
        pool,
        metric,
        weights=options.weights,
        axis=options.axis,
        window=options.window,
        check=options.check,
        resamples=options.resamples,
        choose=options.choose,
        noise=options.noise,
        seed=options.seed,
        threads=options.threads,
    )
    files = Written()
    if options.output:
        with files.answer(options.output):
            write_curve(found.report, options.output)
    if options.weights_out:
        with files.answer(options.weights_out):
            write_weights(found.weights, options.weights_out)
    if options.plot:
        with files.beside(options.plot):
            draw_line(found.report, Path(options.plot), width)
    if options.output != "-":
        about = {**found.as_dict(), "written": files.paths}
        output.emit(about, lambda: line_tables(found.report, files.paths, found.chosen))
    files.check()
    if found.report.check.wrong:
        told = f"{found.report.check.wrong} intervals re-rank to another selection: this is a fault of luthier"
        warnings.warn(told, LuthierWarning, stacklevel=1)
        return DISAGREED
    return 0
