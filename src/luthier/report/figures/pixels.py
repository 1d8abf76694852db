"""A picture of a metric at the pixels of a window of weights."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from luthier.landscape.planes.pixels import Pixels
from luthier.report.figures.surface import BEST, mark_best
from luthier.report.pictures import make_panels, save_picture

COLORS, DPI, LEVELS = "viridis", 100, 64


def draw_pixels(pixels: Pixels, path: Path, width: float | None = None) -> None:
    """Draw the raster, and where the best pixel is."""
    colors = mpl.colormaps[COLORS if pixels.metric.higher_is_better else f"{COLORS}_r"]
    figure, axis = make_panels(figsize=(6.1, 5.2), layout="constrained")
    image = axis.imshow(
        pixels.scores, origin="lower", extent=pixels.window.limits, aspect="auto", cmap=colors, interpolation="nearest"
    )
    row, column = pixels.best
    label = f"best, {pixels.scores[row, column]:.4g}"
    mark_best(axis, float(pixels.xs[column]), float(pixels.ys[row]), label)
    axis.set_xlabel(f"added along {pixels.subspace.names[0]}")
    axis.set_ylabel(f"added along {pixels.subspace.names[1]}")
    axis.set_title(f"{pixels.metric.name}: exact at every pixel", fontsize=10)
    figure.legend(loc="outside lower center", fontsize=9, frameon=False)
    figure.colorbar(image, ax=axis)
    marks = mpl.colors.to_rgba_array([BEST])[:, :3]
    save_picture(
        figure, path, colors=np.concatenate([colors(np.linspace(0, 1, LEVELS))[:, :3], marks]), dpi=DPI, width=width
    )
