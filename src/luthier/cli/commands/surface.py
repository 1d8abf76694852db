"""Find every cell of a plane of weights with its score: the whole error surface.

  luthier surface pool.arrow --weights weights.txt --axis lm --axis length --png surface.png

The weights are w0 + x·a1 + y·a2: w0 from a file (without one: 1 for each feature, −1 for costs), the axes features
by their names or files of 'name value' lines. On each cell of the plane the selection, so the score, is constant.
All cells of a window are found, each once; none is sampled.

With -o every cell has a row in a table (Arrow, .tsv or .json): a point inside, score, area, margin, radius, whether
floating-point weights reach it for certain, and the change from a neighbour. Where cells are too many for that,
--stream passes by all of them in bounded memory; -o then has the best ones, and the histogram of all.
"""

from __future__ import annotations

import argparse

from luthier.cli.axis_options import add_axis_options
from luthier.cli.metric_options import add_metric_options, metric_from
from luthier.cli.output import Output

DISAGREED, STOPPED = 1, 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier surface`."""
    add_axis_options(parser)
    parser.add_argument(
        "--window", action="append", default=[], metavar="A=LO:HI",
        help="what is added along an axis, from LO to HI (default: about w0, as far as matters)",
    )  # fmt: skip
    parser.add_argument("--whole", action="store_true", help="the whole plane, where --window does not limit it")
    parser.add_argument("-o", "--output", metavar="OUT", help="all cells: an .arrow, .tsv or .json file")
    parser.add_argument("--polygons", action="store_true", help="with the corners of each cell in the file")
    parser.add_argument("--stream", action="store_true", help="keep the best cells only, in bounded memory")
    parser.add_argument("--most", type=int, metavar="N", help="record no more cells than these (default: 4,000,000)")
    parser.add_argument("--keep", type=int, default=20, metavar="N", help="how many of the best cells (default: 20)")
    parser.add_argument(
        "--check", type=int, default=0, metavar="N", help="re-rank N cells, drawn at random (default: 0)"
    )
    parser.add_argument("--png", metavar="F", help="draw the surface: a PNG file")
    parser.add_argument("-w", "--weights-out", metavar="F", help="write the best weights")
    add_metric_options(parser, "bleu")


def run(options: argparse.Namespace, output: Output) -> int:
    """Find all cells, print what there is, write what was asked for."""
    import warnings

    from luthier.core.errors import LuthierWarning
    from luthier.pipelines.surface_command import surface_from_options, write_surface
    from luthier.report.tables.surface import surface_tables

    output.note(f"seed {options.seed}")
    report = surface_from_options(options, metric_from(options))
    written = write_surface(report, options)
    about = report.as_dict(options.keep)
    if "-" not in written:
        output.emit(
            {"seed": options.seed, **about, "written": written}, lambda: surface_tables(about, report.seconds, written)
        )
    if about["check"]["wrong"]:
        told = f"{about['check']['wrong']} cells re-rank to another selection: this is a fault of luthier"
        warnings.warn(told, LuthierWarning, stacklevel=1)
        return DISAGREED
    return 0 if about["complete"] else STOPPED
