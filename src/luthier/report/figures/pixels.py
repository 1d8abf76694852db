"""A picture of a metric at the pixels of a window of weights."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from luthier.landscape.planes.pixels import Pixels
from luthier.report.pictures import save_picture

COLORS, MARK, DPI, LEVELS = "viridis", "#e8303a", 100, 64


def draw_pixels(pixels: Pixels, path: Path) -> None:
    """Draw the raster, and where the best pixel is."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    colors = mpl.colormaps[COLORS if pixels.metric.higher_is_better else f"{COLORS}_r"]
    figure, axis = plt.subplots(figsize=(6.1, 5.2), layout="constrained")
    image = axis.imshow(
        pixels.scores, origin="lower", extent=pixels.window.limits, aspect="auto", cmap=colors, interpolation="nearest"
    )
    row, column = pixels.best
    label = f"best, {pixels.scores[row, column]:.4g}"
    axis.plot(pixels.xs[column], pixels.ys[row], "x", color=MARK, markersize=10, label=label)
    axis.set_xlabel(f"added along {pixels.subspace.names[0]}")
    axis.set_ylabel(f"added along {pixels.subspace.names[1]}")
    axis.set_title(f"{pixels.metric.name}: exact at every pixel", fontsize=10)
    axis.legend(fontsize=9)
    figure.colorbar(image, ax=axis)
    marks = mpl.colors.to_rgba_array([MARK])[:, :3]
    save_picture(figure, path, colors=np.concatenate([colors(np.linspace(0, 1, LEVELS))[:, :3], marks]), dpi=DPI)
