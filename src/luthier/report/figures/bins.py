"""A picture of bins: which values each covers, how many instances it has."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.features.bins import Bins, FeatureBins
from luthier.features.curves import Curve
from luthier.report.figure_style import BLUE, ORANGE, VERMILION, make_figure, make_panels, write_figure

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


# A picture of learned shapes: weights of bins against values, a fitted logarithm, and populations below.

CURVE_COLUMNS, CURVE_PANEL = 2, (5.8, 3.9)
LOG_AXIS_FROM = 300.0  # values over so many times the least are drawn on a logarithmic axis
WEIGHT, AGAINST, FITTED = BLUE, VERMILION, ORANGE
THINNEST = 0.004  # of a bar, as a share of the axis


@dataclasses.dataclass(frozen=True)
class View:
    """A curve under a title; with `end` the values up to that alone, on a linear axis."""

    curve: Curve
    title: str
    end: float | None = None


def draw_curves(curves: Sequence[Curve], path: Path, *, steps: bool = True, width: float | None = None) -> None:
    """Draw each feature; bins are `steps` over their values, or tips that lines join."""
    draw_views([View(curve, curve.bins.feature) for curve in curves], path, steps=steps, width=width)


def draw_views(views: Sequence[View], path: Path, *, steps: bool = True, width: float | None = None) -> None:
    """Draw a panel for each view, two beside each other (the first of very many)."""
    shown = views[:MOST_PANELS]
    columns = min(CURVE_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    figure = make_figure(figsize=(CURVE_PANEL[0] * columns, CURVE_PANEL[1] * rows), layout="constrained")
    panels = np.atleast_1d(figure.subfigures(rows, columns, squeeze=False)).ravel()
    for panel, view in zip(panels, shown, strict=False):
        upper, lower = panel.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        _draw_weights(upper, view, steps=steps)
        _draw_populations(lower, view)
        if view.end is not None:
            _cut_off(upper, lower, view.curve, view.end)
    _add_legend(figure, steps=steps, columns=columns + 1)  # one panel is narrower than the three beside each other
    write_figure(figure, path, dpi=110, width=width)


def _cut_off(upper: Any, lower: Any, curve: Curve, end: float) -> None:
    """Show the values up to `end`, and of weights and populations what is there."""
    seen = curve.bins.means <= end
    first = float(curve.bins.lows[0])
    upper.set_xlim(first - 0.02 * (end - first), end)
    if np.any(seen):
        last = [] if curve.log is None else [curve.log.a + curve.log.b * np.log(min(end, curve.bins.means[-1]))]
        heights = np.concatenate([curve.weights[seen], curve.fitted[seen], last])
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        margin = 0.05 * (high - low) or 1.0
        upper.set_ylim(low - margin, high + margin)
        lower.set_ylim(0.0, 1.05 * max(float(curve.bins.populations[seen].max()), 1.0))


def _draw_weights(axis: Any, view: View, *, steps: bool) -> None:
    curve = view.curve
    bins, x = curve.bins, curve.bins.means
    if view.end is None and bins.lows[0] > 0 and bins.highs[-1] > LOG_AXIS_FROM * bins.lows[0]:
        axis.set_xscale("log")
    axis.axhline(0.0, color="0.85", linewidth=0.8, zorder=0)
    if steps:
        axis.hlines(curve.weights, bins.lows, bins.highs, color=WEIGHT, linewidth=2.0, zorder=2)
    axis.plot(x, curve.weights, "o" if steps else "o-", color=WEIGHT, markersize=4, zorder=3)
    for j in np.flatnonzero(curve.against):
        axis.plot(x[j : j + 2], curve.weights[j : j + 2], ":", color=AGAINST, linewidth=1.6, zorder=2)
    title = view.title
    if curve.log is not None:
        where = np.geomspace(x[x > 0][0], x[-1], 200)
        axis.plot(where, curve.log.a + curve.log.b * np.log(where), color=FITTED, linewidth=1.4)
        title += f"\n{curve.log.a:.3g} {curve.log.b:+.3g} log x, R² {curve.log.r2:.3f}".replace("-", "−")
    axis.set_title(title, fontsize=10)
    axis.set_ylabel("weight", fontsize=9)
    axis.tick_params(labelsize=8)


def _add_legend(figure: Any, *, steps: bool, columns: int) -> None:
    """Say below all panels what colours mean: inside it would lie on the curves."""
    from matplotlib.lines import Line2D

    said = ["weight of a bin, over its values" if steps else "weight at a bin's mean"]
    said += ["a step against the direction of the whole", "a + b log x, fitted"]
    looks: tuple[dict[str, Any], ...] = (
        {"color": WEIGHT, "marker": "o"},
        {"color": AGAINST, "linestyle": ":"},
        {"color": FITTED},
    )
    lines = [Line2D([], [], **look) for look in looks]
    figure.legend(lines, said, loc="outside lower center", ncols=columns, fontsize=9, frameon=False)


def _draw_populations(axis: Any, view: View) -> None:
    bins = view.curve.bins
    if axis.get_xscale() == "log":
        factor = (bins.highs[-1] / bins.lows[0]) ** (THINNEST / 2)
        left, right = np.minimum(bins.lows, bins.means / factor), np.maximum(bins.highs, bins.means * factor)
    else:
        end = bins.highs[-1] if view.end is None else view.end
        half = THINNEST / 2 * max(end - bins.lows[0], np.finfo(np.float64).tiny)
        left, right = np.minimum(bins.lows, bins.means - half), np.maximum(bins.highs, bins.means + half)
    axis.bar(left, bins.populations, width=right - left, align="edge", color="0.7", edgecolor="0.4", linewidth=0.4)
    axis.set_ylabel("instances", fontsize=9)
    axis.set_xlabel("value", fontsize=9)
    axis.tick_params(labelsize=8)
    axis.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4))
    axis.yaxis.get_offset_text().set_fontsize(8)
