"""Pictures on disk: PNG with a palette, a third as large as without."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.io import atomic_write, check_writable

ENDING = ".png"
GREYS = 24


def check_picture_path(path: str) -> None:
    """Raise `LuthierError` if no PNG can be written at `path`, or if its name says that it is something else."""
    device = Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()
    if not device and Path(path).suffix.lower() != ENDING:
        raise LuthierError(f"expected a picture's name that ends in {ENDING}, found {path!r}")
    check_writable(path)


def save_picture(figure: Any, path: Path, *, colors: Float64, dpi: int) -> None:
    """Write a figure of matplotlib as a PNG, and close it.

    Its palette has the given `colors`, (n, 3) from 0 to 1, as they are and darkened by lines, and greys: together
    at most 256. What is drawn in other colours gets the nearest of these.
    """
    from matplotlib import pyplot as plt
    from PIL import Image

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
