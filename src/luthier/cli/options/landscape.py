"""Options of every command that looks at a line, a plane or a space of weights."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.options.lists import HELP, add_pool_options
from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.jobs.certify import Certified


def add_axis_options(parser: argparse.ArgumentParser) -> None:
    """Add the pool, the weights it is looked at from, and the axes along which."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--weights", metavar="W", help="w0, a file of weights (default: equal ones)")
    parser.add_argument("--axis", action="append", default=[], metavar="A", help="a feature, or a file of a direction")
    add_pool_options(parser)


# Which place of a line or a plane is the answer, and under what noise: options that two commands share.


def add_choice_options(parser: argparse.ArgumentParser, place: str, roomiest: str) -> None:
    """Declare --choose and --noise; `place` is a point or a place, `roomiest` says what `disc` takes."""
    parser.add_argument(
        "--choose",
        choices=("highest", "robust", "worst", "disc"),
        default="highest",
        help=f"which {place} is the answer: the highest score, the highest mean under noise of the weights, the "
        f"highest worst score within its deviation, {roomiest}",
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=0.1,
        metavar="X",
        help="deviation of that noise, in units of a feature's mean effect (default: 0.1)",
    )


# Options of the commands that draw: where the picture goes, and how wide it is in print.

WIDTH = "how wide, for a paper: column, page, or centimetres (default: of PDF and SVG as suits it)"


def add_picture_options(parser: argparse.ArgumentParser, flag: str | None, help: str = "") -> None:  # noqa: A002
    """Add the picture's file, where it has a flag of its own, and its width."""
    if flag:
        parser.add_argument(flag, metavar="F", help=f"{help}: a PNG, PDF or SVG file")
    parser.add_argument("--plot-width", metavar="W", help=WIDTH)


def picture_width(options: argparse.Namespace, picture: str | None) -> float | None:
    """Return the picture's width in inches, if one was given; raise if no picture can be written there."""
    from luthier.core.errors import LuthierError
    from luthier.report.figure_style import check_picture_path, read_width

    if picture:
        check_picture_path(picture)
    elif options.plot_width:
        raise LuthierError("--plot-width is the width of a picture, and none is to be drawn. hint: name its file")
    return read_width(options.plot_width)


def show_certificate(found: Certified, weights_out: str | None, output: Output) -> None:
    """Write the best weights, and show what is proven of them and of the start."""
    from luthier.core.files.written import Written
    from luthier.kbest.weights import write_weights
    from luthier.report.tables.landscape import certify_tables

    files = Written()
    if weights_out:
        with files.answer(weights_out):
            write_weights(found.weights, weights_out)
    tables = found.certificate, found.problem.names, found.start, found.start_score, files.paths
    output.emit({**found.as_dict(), "written": files.paths}, lambda: certify_tables(*tables))
    files.check()
