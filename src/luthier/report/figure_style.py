"""Colours that people tell apart who see red and green alike [okabe2008], and marks that tell lines apart without."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.files.io import atomic_write, check_writable

BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#F0E442",
)
LINES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, "#555555")
MARKS = "osD^vPX"
DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", (0, (5, 2)), (0, (1, 1)))


def line_looks() -> Iterator[dict[str, object]]:
    """Yield looks of lines, no two alike: colours and marks in turn, dashed when all colours are used up."""
    number = 0
    while True:
        rounds, place = divmod(number, len(LINES))
        yield {"color": LINES[place], "marker": MARKS[place], "linestyle": DASHES[rounds % len(DASHES)]}
        number += 1


# Pictures on disk: PNG, or PDF and SVG for print.
#
# For print a picture is as wide as asked for, else as a column of a paper, or as both columns where it has several
# panels, and its letters are 7 to 9 points high, smaller only where a width is asked for that has no room for them.
# PNG of areas in few colours have a palette: a third as large as without.

ENDINGS = (".png", ".pdf", ".svg")
COLUMN, PAGE = 3.4, 7.0  # inches, of a column and of both
WIDTHS = {"column": COLUMN, "page": PAGE}
CENTIMETRES = 2.54  # of an inch
LEAST_WIDTH, MOST_WIDTH = 1.97, 39.4  # inches: 5 cm and 1 m
TWO_COLUMNS_FROM = 7.0  # inches on the screen, from which a picture takes both columns
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


def make_figure(**options: Any) -> Any:
    """Return a new figure of matplotlib that pyplot does not know: how a host shows its own stays as it is.

    In a notebook it shows itself.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            data = io.BytesIO()
            self.savefig(data, format="png")
            return data.getvalue()

    figure = Picture(**options)
    FigureCanvasAgg(figure)
    return figure


def make_panels(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], layout: str, dpi: float | None = None, **grid: Any
) -> tuple[Any, Any]:
    """Return a new figure and its panels, as `Figure.subplots` makes them."""
    figure = make_figure(figsize=figsize, layout=layout, dpi=dpi)
    return figure, figure.subplots(rows, columns, **grid)


def write_figure(figure: Any, path: Path, *, dpi: int, width: float | None = None) -> None:
    """Write a figure of matplotlib in the form that its name's ending says; `width` in inches."""
    if for_print(path, width):
        fit_for_print(figure, width)
        write_fitted(figure, path)
    else:
        with atomic_write(path) as temporary:
            figure.savefig(temporary, dpi=dpi, format="png", metadata={"Software": None})


def write_fitted(figure: Any, path: Path) -> None:
    """Write a figure that is fit for print, without dates, so that the same job makes the same bytes."""
    from matplotlib import rc_context

    kind = Path(path).suffix.lower().lstrip(".") or "png"
    nothing: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind, {"Software": None})
    known: dict[str, dict[str, Any]] = {"pdf": {"pdf.fonttype": 42}, "svg": {"svg.hashsalt": "luthier"}}
    settings = known.get(kind)
    with atomic_write(path) as temporary, rc_context(settings) if settings else nullcontext():
        figure.savefig(temporary, dpi=PRINT_DPI, format=kind, metadata=nothing)


def fit_for_print(figure: Any, width: float | None = None, *, letters_need_height: bool = True) -> None:
    """Bring a figure to a width in inches, else that of a column or a page, and its letters to a size read in print.

    Where `letters_need_height` the picture gets higher: letters shrink less than the paper.
    """
    from matplotlib.collections import Collection, PathCollection
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    drawn, height = figure.get_size_inches()
    width = width or (PAGE if drawn >= TWO_COLUMNS_FROM else COLUMN)
    scale = width / drawn
    smaller = min(1.0, scale / LEAST_SCALE)  # in less room all of the picture shrinks, letters too: none on another
    if smaller < 1.0:
        told = f"a picture {width * CENTIMETRES:.1f} cm wide has letters of {LETTERS[0] * smaller:.1f} points"
        told += f". hint: this one needs {LEAST_SCALE * drawn * CENTIMETRES:.1f} cm for letters of {LETTERS[0]:g}"
        warnings.warn(told, LuthierWarning, stacklevel=2)
        _tighten(figure, smaller)
    for legend in figure.findobj(Legend):
        before = legend.get_texts()[0].get_fontsize() if legend.get_texts() else LETTERS[0]
        _shrink_box(legend.get_children()[0], min(1.0, max(before * scale, LETTERS[0] * smaller) / before))
    for text in figure.findobj(Text):
        size = min(max(text.get_fontsize() * scale, LETTERS[0] * smaller), LETTERS[1] * smaller)
        text.set_fontsize(size)
    for axis in figure.axes:  # ticks that come when the picture has its size
        for which, own in (("x", axis.xaxis), ("y", axis.yaxis)):
            labels = own.get_ticklabels()
            if labels:
                axis.tick_params(axis=which, which="both", labelsize=labels[0].get_fontsize())
    finer = min(max(scale, FINEST), 1.0) * smaller
    for line in figure.findobj(lambda artist: hasattr(artist, "set_markersize")):
        line.set_markersize(line.get_markersize() * finer)
        line.set_markeredgewidth(line.get_markeredgewidth() * finer)
        line.set_linewidth(line.get_linewidth() * finer)
    for drawn in figure.findobj(Collection):
        drawn.set_linewidths(np.multiply(drawn.get_linewidths(), finer))
        if isinstance(drawn, PathCollection):
            drawn.set_sizes(drawn.get_sizes() * finer**2)
    figure.set_size_inches(width, height * scale * (min(1.25, 1.0 / scale) if letters_need_height else 1.0))


def _tighten(figure: Any, smaller: float) -> None:
    """Shrink the room round panels, and between them and their labels, which no size of letters changes."""
    engine = figure.get_layout_engine()
    if engine is not None and {"w_pad", "h_pad"} <= engine.get().keys():
        engine.set(w_pad=engine.get()["w_pad"] * smaller, h_pad=engine.get()["h_pad"] * smaller)
    for axis in figure.axes:
        for which, own in (("x", axis.xaxis), ("y", axis.yaxis)):
            axis.tick_params(axis=which, which="major", length=3.5 * smaller, pad=3.5 * smaller)
            axis.tick_params(axis=which, which="minor", length=2.0 * smaller, pad=3.5 * smaller)
            own.labelpad *= smaller


def _shrink_box(box: Any, share: float) -> None:
    """Shrink the gaps of a legend, and its lines and areas, as its letters shrink: it was laid out when it was made."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import DrawingArea, PackerBase
    from matplotlib.patches import Rectangle

    if isinstance(box, PackerBase):
        box.sep, box.pad = (None if gap is None else gap * share for gap in (box.sep, box.pad))
        for child in box.get_children():
            _shrink_box(child, share)
    elif isinstance(box, DrawingArea):
        box.width, box.height = box.width * share, box.height * share
        for mark in box.get_children():
            if isinstance(mark, Line2D):
                mark.set_data(np.multiply(mark.get_xdata(), share), np.multiply(mark.get_ydata(), share))
            elif isinstance(mark, Rectangle):
                mark.set_bounds(*(share * side for side in (*mark.get_xy(), mark.get_width(), mark.get_height())))
            elif isinstance(mark, LineCollection):
                mark.set_segments([np.multiply(part, share) for part in mark.get_segments()])


def save_picture(figure: Any, path: Path, *, colors: Float64, dpi: int, width: float | None = None) -> None:
    """Write a figure of matplotlib as a small PNG, or as its name's ending says.

    A PNG's palette has the given `colors`, (n, 3) from 0 to 1, as they are and darkened by lines, and greys: together
    at most 256. What is drawn in other colours gets the nearest of these.
    """
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
    with Image.open(drawn) as picture, atomic_write(path) as temporary:
        few = picture.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE)
        few.save(temporary, format="png", optimize=True)
