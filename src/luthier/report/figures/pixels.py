"""A picture of a metric at the pixels of a window of weights."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from luthier.landscape.axes import axes_of
from luthier.landscape.planes.pixels import Pixels, told_window
from luthier.report.figures.surface import BEST, mark_best
from luthier.report.pictures import save_picture

COLORS, DPI, LEVELS = "viridis", 100, 64


def draw_pixels(pixels: Pixels, path: Path, width: float | None = None) -> None:
    """Draw the raster, and where the best pixel is."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    colors = mpl.colormaps[COLORS if pixels.metric.higher_is_better else f"{COLORS}_r"]
    figure, axis = plt.subplots(figsize=(6.1, 5.2), layout="constrained")
    image = axis.imshow(
        pixels.scores,
        origin="lower",
        extent=tuple(told_window(pixels.subspace, pixels.window)),
        aspect="auto",
        cmap=colors,
        interpolation="nearest",
    )
    row, column = pixels.best
    label = f"best, {pixels.scores[row, column]:.4g}"
    mark_best(axis, float(pixels.told[0][column]), float(pixels.told[1][row]), label)
    axis.set_xlabel(axes_of(pixels.subspace)[0].label)
    axis.set_ylabel(axes_of(pixels.subspace)[1].label)
    axis.set_title(f"{pixels.metric.name}: exact at every pixel", fontsize=10)
    figure.legend(loc="outside lower center", fontsize=9, frameon=False)
    figure.colorbar(image, ax=axis)
    marks = mpl.colors.to_rgba_array([BEST])[:, :3]
    save_picture(
        figure, path, colors=np.concatenate([colors(np.linspace(0, 1, LEVELS))[:, :3], marks]), dpi=DPI, width=width
    )
