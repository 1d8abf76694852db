"""A picture of a reverse search in a plane: the cells it found, and the tree that leads to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.landscape.cones.minkowski_view import SearchView
from luthier.report.figure_style import make_panels, save_picture
from luthier.report.figures.surface import BEST, mark_best

OPACITY, SHADES = 0.75, 37
MOST_BRANCHES = 1_500  # more lines than that are a smear


def draw_search(view: SearchView, path: Path, width: float | None = None) -> None:
    """Draw the cells coloured by the order in which they were found, their borders, and the tree."""
    from matplotlib.collections import LineCollection

    figure, axis = make_panels(figsize=(6.9, 6.4), layout="constrained")
    left, right, bottom, top = view.window
    order = np.ma.masked_less(view.cells.astype(np.float64), 0.0)
    colors = mpl.colormaps["viridis"].with_extremes(bad="white")
    image = axis.imshow(
        order,
        origin="lower",
        extent=view.window,
        aspect="auto",
        cmap=colors,
        vmin=0,
        vmax=len(view.parents),
        interpolation="nearest",
        alpha=OPACITY,
    )
    axis.imshow(_borders(view.cells), origin="lower", extent=view.window, aspect="auto", interpolation="bilinear")
    if len(view.parents) <= MOST_BRANCHES:
        children = np.flatnonzero(view.parents >= 0)
        branches = np.stack([view.points[children], view.points[view.parents[children]]], axis=1)
        branches = branches[np.all(np.isfinite(branches), axis=(1, 2))]
        axis.add_collection(LineCollection(list(branches), colors="black", linewidths=0.9))
        axis.plot(*view.points.T, "o", color="black", markersize=2.6, label="a point inside each cone")
        axis.plot([], [], color="black", linewidth=0.9, label="to its parent")
    axis.plot(
        [0],
        [0],
        marker="s",
        color="black",
        markeredgecolor="white",
        markersize=8,
        linestyle="none",
        label="the start, w0",
    )
    if view.best:
        x, y, *_ = view.best
        if left < x < right and bottom < y < top:
            _outline_best(axis, view, x, y)
            mark_best(axis, x, y, "the best cone found", small=True)
    axis.set_xlim(left, right)
    axis.set_ylim(bottom, top)
    axis.set_xlabel(f"{view.names[0]}: change of weight")
    axis.set_ylabel(f"{view.names[1]}: change of weight")
    axis.set_title(_title(view), fontsize=10)
    figure.colorbar(image, ax=axis, label="order in which the cells were found")
    figure.legend(fontsize=8, loc="outside lower center", ncols=2, frameon=False)
    save_picture(figure, path, colors=_palette(mpl.colormaps["viridis"]), dpi=110, width=width)


def _outline_best(axis: Any, view: SearchView, x: float, y: float) -> None:
    """Draw the border of the cell at a place, as pixels show it."""
    left, right, bottom, top = view.window
    rows, columns = view.cells.shape
    wide, high = (right - left) / columns, (top - bottom) / rows
    own = view.cells == view.cells[int((y - bottom) / high), int((x - left) / wide)]
    places = left + (np.arange(columns) + 0.5) * wide, bottom + (np.arange(rows) + 0.5) * high
    for color, width in (("white", 2.4), (BEST, 1.2)):
        axis.contour(*places, own.astype(np.float64), levels=[0.5], colors=color, linewidths=width)


def _palette(colors: Any) -> Float64:
    """Return the colours of cells, of borders between them, and of the start: (n, 3)."""
    shades = 1.0 - OPACITY * (1.0 - colors(np.linspace(0.0, 1.0, SHADES))[:, :3])
    return np.concatenate([shades, 0.5 + 0.5 * shades, [(0.91, 0.19, 0.23), (0.95, 0.59, 0.61)]])


def _title(view: SearchView) -> str:
    missing = "\nwhite: not found yet" if np.any(view.cells < 0) else ""
    return f"{len(view.parents):,} vertices, at most {int(view.depths.max(initial=0))} steps from the root{missing}"


def _borders(cells: Int64) -> Any:
    """Return white lines, (P, P, 4), where neighbouring pixels belong to different cells."""
    edge = np.zeros(cells.shape, np.bool_)
    across, along = cells[:, 1:] != cells[:, :-1], cells[1:] != cells[:-1]
    for beside in (edge[:, 1:], edge[:, :-1]):  # two pixels wide, so that none is lost when it is drawn
        beside |= across
    for beside in (edge[1:], edge[:-1]):
        beside |= along
    picture = np.ones((*cells.shape, 4))
    picture[..., 3] = 0.8 * edge
    return picture
