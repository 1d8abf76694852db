"""A picture of what linear weights can tell apart: pairs of hypotheses as points, and the line that keeps them apart.

A point is the difference of two hypotheses' features, the better one's less the worse one's. Weights rank a pair if its
point is on their side of the line through 0 to which they are normal, so a pool is separable if some line through 0 has
all points on one side. Where more than two features differ, the points are seen along the weights of the largest
margin, or, if no weights do it, along the two directions in which they differ most.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.dense_rows import varying_rows
from luthier.landscape.selections.separability import MOST_COLUMNS, Constraints, Model
from luthier.report.figure_style import make_panels, write_figure
from luthier.report.figures.feasibility import INK, MARK, SHADE

FEW = 60  # points that are marked one by one
LEGEND = PAIR, CONFLICT, WRONG, CANCEL = (
    "a pair: the better less the worse",
    "a pair in conflict",
    "ranked wrongly by these weights",
    "pairs that contradict each other",
)
PANEL_MARGIN = 1.3  # of a panel, in units of its farthest point


def draw_separability(models: Sequence[Model], path: Path, width: float | None = None) -> None:
    """Draw the pairs of every model in a panel of its own."""
    figure, panels = make_panels(1, len(models), figsize=(4.2 * len(models), 4.4), layout="constrained", squeeze=False)
    for axis, model in zip(panels[0], models, strict=True):
        _draw_model(axis, model)
    found = [axis.get_legend_handles_labels() for axis in panels[0]]
    known = {label: handle for handles, labels in found for handle, label in zip(handles, labels, strict=True)}
    shown = [label for label in LEGEND if label in known]
    handles, columns = [known[label] for label in shown], min(2, len(models))
    figure.legend(handles, shown, loc="outside lower center", ncols=columns, fontsize=9, frameon=False)
    write_figure(figure, path, dpi=110, width=width)


def _draw_model(axis: Any, model: Model) -> None:
    pairs, every = model.pairs.together, model.pairs.constraints
    columns, rows = varying_rows(model.pool, MOST_COLUMNS)
    names = [model.pool.features.names[k] for k in columns]
    weights = None if pairs.weights is None else pairs.weights[columns]
    points, labels, normal = view(rows[every.better] - rows[every.worse], weights, names)
    reach = PANEL_MARGIN * (float(np.abs(points).max(initial=0.0)) or 1.0)
    if normal is not None:
        along = np.array([-normal[1], normal[0]])
        corners = 3.0 * reach * np.array([along, along - normal, -along - normal, -along])
        axis.fill(*corners.T, color=SHADE, alpha=0.15, linewidth=0, label=WRONG)
        axis.plot(*(3.0 * reach * np.array([along, -along])).T, color=SHADE, linewidth=1.0)
    few = len(points) <= FEW
    style = {"markersize": 7 if few else 3, "linestyle": "", "alpha": 0.75 if few else 0.4}
    for which, color, marker, label in (
        (~pairs.conflicts, INK, "o", PAIR),
        (pairs.conflicts, MARK, "X", CONFLICT),
    ):
        if np.any(which):
            axis.plot(*points[which].T, marker, color=color, label=label, markeredgewidth=0, zorder=3, **style)
    axis.axhline(0.0, color="black", linewidth=0.4)
    axis.axvline(0.0, color="black", linewidth=0.4)
    axis.plot(0.0, 0.0, "+", color="black", markersize=9, zorder=2)
    if pairs.contradiction is not None:
        _draw_contradiction(axis, points, every, pairs.contradiction.constraints)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel=labels[0], ylabel=labels[1])
    axis.set_box_aspect(1)
    for ticks, label in zip((axis.xaxis, axis.yaxis), labels, strict=True):
        ticks.set_major_locator(mpl.ticker.MaxNLocator(5) if label else mpl.ticker.NullLocator())
    verdict = "separable" if pairs.separable else "not separable"
    axis.set_title(f"{model.name}: {verdict}", fontsize=10)


def _draw_contradiction(axis: Any, points: Float64, every: Constraints, few: Constraints) -> None:
    """Join the pairs of the proof with 0: times their multipliers they cancel."""
    places = {pair: place for place, pair in enumerate(zip(every.better.tolist(), every.worse.tolist(), strict=True))}
    for pair in zip(few.better.tolist(), few.worse.tolist(), strict=True):
        end = points[places[pair]]
        axis.plot([0.0, end[0]], [0.0, end[1]], color=MARK, linewidth=1.2, label=CANCEL)


def view(
    differences: Float64, weights: Float64 | None, names: Sequence[str]
) -> tuple[Float64, tuple[str, str], Float64 | None]:
    """Return points of a plane, (P, 2), what its axes are, and the direction of the weights in it, if there are any.

    The axes are the features that differ, if these are one or two.
    """
    axes, labels = _axes(differences, weights, names)
    if weights is None or not np.any(weights):
        return differences @ axes.T, labels, None
    normal = axes @ weights
    return differences @ axes.T, labels, normal / np.linalg.norm(normal)


def _axes(differences: Float64, weights: Float64 | None, names: Sequence[str]) -> tuple[Float64, tuple[str, str]]:
    """Return two directions of features, (2, D), and what they are called."""
    used = np.flatnonzero((differences != 0).any(axis=0))
    if len(used) <= 2:
        first, second = [*(f"Δ {names[k]}" for k in used.tolist()), "", ""][:2]
        axes = np.zeros((2, len(names)))
        axes[np.arange(len(used)), used] = 1.0
        return axes, (first, second)
    if weights is None:
        return _principal(differences)[:2], ("where they differ most", "next to it")
    along = weights / np.linalg.norm(weights)
    across = _principal(differences - np.outer(differences @ along, along))[0]
    return np.stack([along, across]), ("along the weights", "across the weights")


def _principal(differences: Float64) -> Float64:
    """Return the directions in which differences from 0 are largest, (D, D); the largest entry of each is positive."""
    scaled = differences / (np.abs(differences).max(initial=0.0) or 1.0)
    directions = np.linalg.eigh(scaled.T @ scaled)[1].T[::-1]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0))
