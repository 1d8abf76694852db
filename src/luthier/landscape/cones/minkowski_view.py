"""What a picture of a search in a plane needs: the cells as pixels, the tree over them."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.files.arrow import read_column
from luthier.landscape.cones.minkowski import SearchJob

PIXELS = 1000
SHARE_SHOWN = 70.0  # per cent of the vertices that the window holds, along each axis
STRIP = 16


@dataclasses.dataclass(frozen=True, eq=False)
class SearchView:
    """A window of a plane with the cells that were found.

    Attributes
    ----------
    window : left, right, bottom, top
    cells : (P, P) int64
        The vertex that each pixel's centre selects, −1 where it is not found yet; the first row is the lowest.
    points : (V, 2) float64
        Where each vertex stands; NaN for those that the plane does not meet.
    parents, depths : (V,) int64
    best : where the best cone is; None without a metric
    names : names of the two axes
    """

    window: tuple[float, float, float, float]
    cells: Int64
    points: Float64
    parents: Int64
    depths: Int64
    best: tuple[float, ...] | None
    names: tuple[str, ...]


def view_search(job: SearchJob) -> SearchView:
    """Return the view of a search that has run, over two axes."""
    if job.subspace.n_axes != 2:
        raise LuthierError(f"a picture needs two axes, found {job.subspace.n_axes}")
    columns = {
        name: np.concatenate(list(read_column(job.options.output, name)))
        for name in ("key", "coordinates", "usable", "parent", "depth")
    }
    points = np.where(columns["usable"][:, None], columns["coordinates"][:, 1:], np.nan)
    window = _window(points)
    xs, ys = (
        low + (np.arange(PIXELS) + 0.5) * (high - low) / PIXELS
        for low, high in ((window[0], window[1]), (window[2], window[3]))
    )
    cells = np.empty((PIXELS, PIXELS), np.int64)
    order = np.argsort(columns["key"])
    sorted_keys = columns["key"][order]
    for first in range(0, PIXELS, STRIP):
        rows = ys[first : first + STRIP]
        grid = np.stack([np.ones((len(rows), PIXELS)), *np.meshgrid(xs, rows)], axis=-1).reshape(-1, 3)
        selections, _ = job.summands.select(job.summands.to_grid(grid))
        keys = job.search.keys(selections)
        place = np.minimum(np.searchsorted(sorted_keys, keys), len(order) - 1)
        cells[first : first + STRIP] = np.where(sorted_keys[place] == keys, order[place], -1).reshape(-1, PIXELS)
    best = None if job.metric is None else job.tally.best_position
    return SearchView(window, cells, points, columns["parent"], columns["depth"], best, job.subspace.names)


def _window(points: Float64) -> tuple[float, float, float, float]:
    """Return a window that holds most points and the start."""
    shown = points[np.isfinite(points[:, 0])]
    low, high = np.percentile(shown, [(100 - SHARE_SHOWN) / 2, (100 + SHARE_SHOWN) / 2], axis=0)
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    room = 0.08 * np.where(high > low, high - low, 1.0)
    low, high = low - room, high + room
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])
