"""Options of the commands that draw: where the picture goes, and how wide it is in print."""

from __future__ import annotations

import argparse

WIDTH = "how wide, for a paper: column, page, or centimetres (default: of PDF and SVG as suits it)"


def add_picture_options(parser: argparse.ArgumentParser, flag: str | None, help: str = "") -> None:  # noqa: A002
    """Add the picture's file, where it has a flag of its own, and its width."""
    if flag:
        parser.add_argument(flag, metavar="F", help=f"{help}: a PNG, PDF or SVG file")
    parser.add_argument("--plot-width", metavar="W", help=WIDTH)


def picture_width(options: argparse.Namespace, picture: str | None) -> float | None:
    """Return the picture's width in inches, if one was given; raise if no picture can be written there."""
    from luthier.core.errors import LuthierError
    from luthier.report.pictures import check_picture_path, read_width

    if picture:
        check_picture_path(picture)
    elif options.plot_width:
        raise LuthierError("--plot-width is the width of a picture, and none is to be drawn. hint: name its file")
    return read_width(options.plot_width)
