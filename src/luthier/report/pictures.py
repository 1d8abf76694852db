"""Pictures on disk: PNG, or PDF and SVG for print.

For print a picture is as wide as asked for, else as a column of a paper, or as both columns where it has several
panels, and its letters are 7 to 9 points high. PNG of areas in few colours have a palette: a third as large as without.
"""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.files.io import atomic_write, check_writable

ENDINGS = (".png", ".pdf", ".svg")
COLUMN, PAGE = 3.4, 7.0  # inches, of a column and of both
WIDTHS = {"column": COLUMN, "page": PAGE}
CENTIMETRES = 2.54  # of an inch
LEAST_WIDTH, MOST_WIDTH = 1.97, 39.4  # inches: 5 cm and 1 m
WIDE = 7.0  # inches on the screen, from which a picture takes both columns
NARROW = 4.5  # inches: in less, two panels stand one above the other
LEAST_SCALE = 0.48  # of a picture's size on the screen: below it letters of 7 points touch
FINEST = 0.6  # of the size of lines and marks on the screen
PRINT_DPI = 300
LETTERS = (7.0, 9.0)  # points
GREYS = 24


def check_picture_path(path: str) -> None:
    """Raise `LuthierError` if no picture can be written at `path`, or if its name says that it is something else."""
    device = Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()
    if not device and Path(path).suffix.lower() not in ENDINGS:
        raise LuthierError(f"expected a picture's name that ends in .png, .pdf or .svg, found {path!r}")
    check_writable(path)


def for_print(path: Path, width: float | None = None) -> bool:
    """Return whether a picture is made for paper: its name says PDF or SVG, or it has a given width."""
    return width is not None or Path(path).suffix.lower() in ENDINGS[1:]


def read_width(text: str | None) -> float | None:
    """Return the inches of `column`, `page` or a number of centimetres; None for none.

    >>> read_width("column"), read_width("12.7"), read_width(None)
    (3.4, 5.0, None)
    """
    if text is None or text in WIDTHS:
        return None if text is None else WIDTHS[text]
    try:
        inches = float(text) / CENTIMETRES
    except ValueError:
        inches = math.nan
    if not LEAST_WIDTH <= inches <= MOST_WIDTH:
        least, most = (f"{x * CENTIMETRES:.0f}" for x in (LEAST_WIDTH, MOST_WIDTH))
        raise LuthierError(
            f"expected a width of a picture, column, page or centimetres from {least} to {most}, found {text!r}"
        )
    return inches


def grid_of(panels: int, width: float | None) -> tuple[int, int]:
    """Return in how many rows and columns panels stand: side by side, or in a narrow picture one above the other.

    >>> grid_of(2, None), grid_of(2, COLUMN)
    ((1, 2), (2, 1))
    """
    return (panels, 1) if width is not None and width < NARROW else (1, panels)


def write_figure(figure: Any, path: Path, *, dpi: int, width: float | None = None) -> None:
    """Write a figure of matplotlib in the form that its name's ending says, and close it; `width` in inches."""
    from matplotlib import pyplot as plt

    if for_print(path, width):
        fit_for_print(figure, width)
        write_fitted(figure, path)
    else:
        with atomic_write(path) as temporary:
            figure.savefig(temporary, dpi=dpi, format="png", metadata={"Software": None})
    plt.close(figure)


def write_fitted(figure: Any, path: Path) -> None:
    """Write a figure that is fit for print, without dates, so that the same job makes the same bytes."""
    from matplotlib import rc_context

    kind = Path(path).suffix.lower().lstrip(".") or "png"
    nothing: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {"Software": None})
    with atomic_write(path) as temporary, rc_context({"svg.hashsalt": "luthier", "pdf.fonttype": 42}):
        figure.savefig(temporary, dpi=PRINT_DPI, format=kind, metadata=nothing)


def fit_for_print(figure: Any, width: float | None = None, *, letters_need_height: bool = True) -> None:
    """Bring a figure to a width in inches, else that of a column or a page, and its letters to a size read in print.

    Where `letters_need_height` the picture gets higher: letters shrink less than the paper.
    """
    from matplotlib.collections import Collection, PathCollection
    from matplotlib.text import Text

    drawn, height = figure.get_size_inches()
    width = width or (PAGE if drawn >= WIDE else COLUMN)
    scale = width / drawn
    if scale < LEAST_SCALE:
        told = f"a picture {width * CENTIMETRES:.1f} cm wide has little room for its letters"
        told += f". hint: this one needs {LEAST_SCALE * drawn * CENTIMETRES:.1f} cm"
        warnings.warn(told, LuthierWarning, stacklevel=2)
    for text in figure.findobj(Text):
        text.set_fontsize(min(max(text.get_fontsize() * scale, LETTERS[0]), LETTERS[1]))
    for axis in figure.axes:  # ticks that come when the picture has its size
        for which, own in (("x", axis.xaxis), ("y", axis.yaxis)):
            labels = own.get_ticklabels()
            if labels:
                axis.tick_params(axis=which, which="both", labelsize=labels[0].get_fontsize())
    finer = min(max(scale, FINEST), 1.0)
    for line in figure.findobj(lambda artist: hasattr(artist, "set_markersize")):
        line.set_markersize(line.get_markersize() * finer)
        line.set_markeredgewidth(line.get_markeredgewidth() * finer)
        line.set_linewidth(line.get_linewidth() * finer)
    for drawn in figure.findobj(Collection):
        drawn.set_linewidths(np.multiply(drawn.get_linewidths(), finer))
        if isinstance(drawn, PathCollection):
            drawn.set_sizes(drawn.get_sizes() * finer**2)
    figure.set_size_inches(width, height * scale * (min(1.25, 1.0 / scale) if letters_need_height else 1.0))


def save_picture(figure: Any, path: Path, *, colors: Float64, dpi: int, width: float | None = None) -> None:
    """Write a figure of matplotlib as a small PNG, or as its name's ending says, and close it.

    A PNG's palette has the given `colors`, (n, 3) from 0 to 1, as they are and darkened by lines, and greys: together
    at most 256. What is drawn in other colours gets the nearest of these.
    """
    from matplotlib import pyplot as plt
    from PIL import Image

    if for_print(path, width):
        write_figure(figure, path, dpi=dpi, width=width)
        return
    greys = np.repeat(np.linspace(0.0, 1.0, GREYS)[:, None], 3, axis=1)
    shades = [colors * light for light in (1.0, 0.82, 0.64)]
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.rint(255 * np.concatenate([*shades, greys])).astype(np.uint8)[:256].tobytes())
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi, format="png")
    plt.close(figure)
    with Image.open(drawn) as picture, atomic_write(path) as temporary:
        few = picture.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE)
        few.save(temporary, format="png", optimize=True)
