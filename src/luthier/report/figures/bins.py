"""A picture of bins: which values each covers, how many instances it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from luthier.features.bins import Bins, FeatureBins
from luthier.report.colors import BLUE
from luthier.report.pictures import make_panels, write_figure

COLUMNS, PANEL, HEAD = 2, (5.6, 2.7), 0.5
MOST_PANELS = 40


def draw_bins(bins: Bins, path: Path, width: float | None = None) -> None:
    """Draw a panel for each feature (the first of very many): the population of each bin, by the order of values."""
    shown = bins.features[:MOST_PANELS]
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    size = (PANEL[0] * columns, PANEL[1] * rows + HEAD)
    figure, axes = make_panels(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axis, feature in zip(axes.flat, shown, strict=False):
        _draw_feature(axis, feature)
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    write_figure(figure, path, dpi=110, width=width)


def _draw_feature(axis: Any, feature: FeatureBins) -> None:
    places = np.arange(len(feature))
    axis.bar(places, feature.populations, width=0.86, color="0.8", label="instances")
    axis.bar(places, feature.capped, width=0.5, color=BLUE, label="no value counting more than one bin's worth")
    axis.set_title(feature.feature, fontsize=10)
    axis.set_ylabel("instances", fontsize=9)
    if feature.populations.max() > 20 * max(feature.capped.max(), 1.0):
        axis.set_yscale("log")
    step = -(-len(feature) // 8)
    ticks = places[::step]
    axis.set_xticks(ticks, [f"{feature.lows[j]:.3g}" for j in ticks], fontsize=8)
    axis.set_xlabel("lowest value of the bin", fontsize=9)
    axis.tick_params(labelsize=8)
