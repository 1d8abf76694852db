"""Pictures on disk: PNG, or PDF and SVG for print.

For print a picture is as wide as a column of a paper, or as both columns where it has several panels, and its letters
are 7 to 9 points high. PNG of areas in few colours have a palette: a third as large as without.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.io import atomic_write, check_writable

ENDINGS = (".png", ".pdf", ".svg")
COLUMN, PAGE = 3.4, 7.0  # inches, of a column and of both
WIDE = 7.0  # inches on the screen, from which a picture takes both columns
LETTERS = (7.0, 9.0)  # points
GREYS = 24


def check_picture_path(path: str) -> None:
    """Raise `LuthierError` if no picture can be written at `path`, or if its name says that it is something else."""
    device = Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()
    if not device and Path(path).suffix.lower() not in ENDINGS:
        raise LuthierError(f"expected a picture's name that ends in .png, .pdf or .svg, found {path!r}")
    check_writable(path)


def for_print(path: Path) -> bool:
    """Return whether a picture's name says that it is PDF or SVG."""
    return Path(path).suffix.lower() in ENDINGS[1:]


def write_figure(figure: Any, path: Path, *, dpi: int) -> None:
    """Write a figure of matplotlib in the form that its name's ending says, and close it."""
    from matplotlib import pyplot as plt

    if for_print(path):
        fit_for_print(figure)
        write_fitted(figure, path)
    else:
        with atomic_write(path) as temporary:
            figure.savefig(temporary, dpi=dpi, format="png", metadata={"Software": None})
    plt.close(figure)


def write_fitted(figure: Any, path: Path) -> None:
    """Write a figure that is fit for print as PDF or SVG, without dates, so that the same job makes the same bytes."""
    from matplotlib import rc_context

    kind = Path(path).suffix.lower().lstrip(".")
    nothing: dict[str, Any] = {"CreationDate": None} if kind == "pdf" else {"Date": None}
    with atomic_write(path) as temporary, rc_context({"svg.hashsalt": "luthier", "pdf.fonttype": 42}):
        figure.savefig(temporary, dpi=300, format=kind, metadata=nothing)


def fit_for_print(figure: Any) -> None:
    """Bring a figure to the width of a column, or of a page, and its letters to a size that is read in print."""
    from matplotlib.text import Text

    width, height = figure.get_size_inches()
    scale = (PAGE if width >= WIDE else COLUMN) / width
    for text in figure.findobj(Text):
        text.set_fontsize(min(max(text.get_fontsize() * scale, LETTERS[0]), LETTERS[1]))
    for line in figure.findobj(lambda artist: hasattr(artist, "set_markersize")):
        line.set_markersize(line.get_markersize() * max(scale, 0.6))
    # letters shrink less than the paper, so that they need more of its height
    figure.set_size_inches(width * scale, height * scale * min(1.25, 1.0 / scale))


def save_picture(figure: Any, path: Path, *, colors: Float64, dpi: int) -> None:
    """Write a figure of matplotlib as a small PNG, or as its name's ending says, and close it.

    A PNG's palette has the given `colors`, (n, 3) from 0 to 1, as they are and darkened by lines, and greys: together
    at most 256. What is drawn in other colours gets the nearest of these.
    """
    from matplotlib import pyplot as plt
    from PIL import Image

    if for_print(path):
        write_figure(figure, path, dpi=dpi)
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
