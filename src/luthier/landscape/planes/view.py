"""What the picture of a plane shows: a raster of the window, and exact cells around the optimum."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.cells import Cell
from luthier.geometry.plane.raster import raster
from luthier.geometry.plane.subdivision import Window
from luthier.landscape.planes.plane import Plane, shown_window
from luthier.landscape.planes.surface import SurfaceReport

UNSEEN_BELOW = 1e-12  # of the window: less cannot be seen, nor reached
PIXELS = 560
MOST_POLYGONS = 20_000
# How many cells the second panel should show, about, and how often its size is tried for that.
CLOSE_CELLS, TRIES = 2_000, 12
SURROUNDINGS = 6.0  # times the best cell's own size is what that panel shows each way, if it has so much


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """A part of the plane, as a raster or as polygons.

    Attributes
    ----------
    limits : 4 floats
        x low and high, y low and high.
    raster : (ny, nx) float64, optional
        Scores at the centres of pixels, row 0 at y low.
    polygons : arrays (v, 2), and their scores and areas (n,)
    """

    limits: tuple[float, float, float, float]
    raster: Float64 | None = None
    polygons: Sequence[npt.NDArray[np.float64]] = ()
    scores: Float64 | None = None
    areas: Float64 | None = None

    @property
    def shown(self) -> Float64:
        """All scores that can be seen: cells without area, where many sides meet in a point, take no colour."""
        if self.raster is not None:
            return self.raster.reshape(-1)
        assert self.scores is not None  # one of both is there
        x0, x1, y0, y1 = self.limits
        wide = self.scores if self.areas is None else self.scores[self.areas > UNSEEN_BELOW * (x1 - x0) * (y1 - y0)]
        return wide if len(wide) else self.scores


def surface_scenes(report: SurfaceReport, *, threads: int = 1) -> tuple[Scene, ...]:
    """Return the window, and exact cells around the optimum, at its own scale, where the window does not show them."""
    plane, centre, cells = report.plane, report.optimum.cell.position, report.survey.cells
    window = shown_window(plane, centre[None])
    scenes = [window_scene(plane, window, cells, threads=threads)]
    close = close_window(plane, window, centre, cells, threads=threads)
    close = cell_window(close or window, report.optimum.cell) or close
    if close is not None:
        scenes.append(polygon_scene(plane, close, threads=threads))
    return tuple(scenes)


def cell_window(window: Window, cell: Cell) -> Window | None:
    """Return the part of a window at the scale of a cell; None if the cell is plain to see in all of it."""
    limits, centre = np.array(window.limits), cell.position
    corners = np.clip(cell.polygon, limits[::2], limits[1::2])
    half = SURROUNDINGS * np.maximum(np.abs(corners - centre).max(axis=0), UNSEEN_BELOW * (limits[1::2] - limits[::2]))
    low, high = np.maximum(centre - half, limits[::2]), np.minimum(centre + half, limits[1::2])
    if not np.all(low < high) or np.all(2 * (high - low) > limits[1::2] - limits[::2]):
        return None
    return Window(float(low[0]), float(high[0]), float(low[1]), float(high[1]))


def raster_scene(plane: Plane, window: Window, *, threads: int) -> Scene:
    """Return the scores at the centres of pixels that fill a window: each what a re-rank there gives."""
    x_low, x_high, y_low, y_high = window.limits
    share = (np.arange(PIXELS) + 0.5) / PIXELS
    near = plane.within(window)
    sums = raster(
        near.offsets,
        near.points,
        near.values,
        x_low + share * (x_high - x_low),
        y_low + share * (y_high - y_low),
        threads=threads,
    )
    return Scene(window.limits, raster=plane.score(sums))


def polygon_scene(plane: Plane, window: Window, *, threads: int) -> Scene:
    """Return every cell of a window with its corners."""
    near = plane.within(window)
    record = Arrangement.make(near.overlay, near.values, threads=threads)
    offsets, corners = record.polygons(np.arange(len(record)))
    polygons, scores = np.split(corners, offsets[1:-1]), plane.score(record.sums)
    return Scene(window.limits, polygons=polygons, scores=scores, areas=record.area)


def window_scene(plane: Plane, window: Window, cells: int, *, threads: int) -> Scene:
    """Return a window as cells if they are few, as a raster if they are many."""
    if cells <= MOST_POLYGONS:
        return polygon_scene(plane, window, threads=threads)
    return raster_scene(plane, window, threads=threads)


def close_window(plane: Plane, window: Window, centre: Float64, cells: int, *, threads: int) -> Window | None:
    """Return a window of the same shape about `centre` with some thousands of cells; None if `window` has no more.

    `cells` is how many `window` has.
    """
    if cells <= 2 * CLOSE_CELLS:
        return None
    limits = np.array(window.limits)
    size = (limits[1::2] - limits[::2]) / 2
    share, chosen = np.sqrt(CLOSE_CELLS / cells), None
    for _ in range(TRIES):
        low = np.maximum(centre - share * size, limits[::2])
        high = np.minimum(centre + share * size, limits[1::2])
        if not np.all(low < high):
            break
        chosen = Window(float(low[0]), float(high[0]), float(low[1]), float(high[1]))
        found = plane.within(chosen).overlay.count(threads=threads)
        if CLOSE_CELLS / 2 <= found <= 1.5 * CLOSE_CELLS:
            break
        share *= float(np.clip(np.sqrt(CLOSE_CELLS / found), 0.1, 4.0))
    return chosen
