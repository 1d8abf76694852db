"""Pictures on disk: PNG with a palette, a third as large as without."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.io import atomic_write

GREYS = 24


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
