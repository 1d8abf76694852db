"""One cell of an overlay: its polygon, a point well inside, and the rows that are selected on it."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.geometry.plane import _arrangement_kernels as shapes
from luthier.geometry.plane import _face_kernels as kernels
from luthier.geometry.plane.subdivision import FAR, Subdivisions, Window, border_lines, without_fault


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """A convex piece of the plane on which every list selects one row.

    Attributes
    ----------
    polygon : (v, 2) float64
        Corners, counter-clockwise, cut by the window; a corner that is infinitely far is ±inf.
    position : (2,) float64
        A point inside: the centroid, of a finite part where the cell has no end.
    area : float
    sides : (l, 3) float64
        Lines of its sides, ``c + x·p + y·q ≥ 0`` inside, p² + q² = 1; the window's where they are finite.
    radius : float
        How far the position is from the nearest side.
    margin : float
        At the position: the least difference in score to a row that takes over beyond a side.
    selection : (N,) int64
        The row of each list.
    beyond : (b,) int64
        The row that takes over, in its list, beyond each of the first b `sides`; the others are the window's.
    """

    polygon: Float64
    position: Float64
    area: float
    sides: Float64
    radius: float
    margin: float
    selection: Int64
    beyond: Int64


def cell_of_faces(divided: Subdivisions, points: Float64, faces: Int64) -> Cell:
    """Return the cell on which each list selects the given face, (N,); `points` (M, 3) are the lists' scores."""
    faces = flat(faces)
    corners, lines = _clip(divided, divided.arrays.border, faces)
    if not len(corners):
        raise LuthierError("these rows are nowhere selected together")
    units = divided.grid.units
    near = corners
    if not np.all(np.abs(corners) < FAR / 4):
        near = _finite_part(divided, faces)
    inner = lines[lines[:, 0] >= 0]
    gaps = points[divided.rows[inner[:, 0]]] - points[divided.rows[inner[:, 1]]]
    sides = np.concatenate([gaps / np.hypot(gaps[:, 1], gaps[:, 2])[:, None], _borders(divided.window, lines)])
    area, centroid = area_and_centroid(near * units)
    polygon = np.where(np.abs(corners) < FAR / 4, corners * units, np.copysign(np.inf, corners))
    return Cell(
        polygon=polygon,
        position=centroid,
        area=area if near is corners else np.inf,
        sides=sides,
        radius=max(0.0, float(np.min(sides[:, 0] + sides[:, 1:] @ centroid, initial=np.inf))) if area > 0.0 else 0.0,
        margin=float(np.min(gaps[:, 0] + gaps[:, 1:] @ centroid, initial=np.inf)),
        selection=divided.rows[faces],
        beyond=divided.rows[inner[:, 1]],
    )


def _clip(divided: Subdivisions, border: Float64, faces: Int64) -> tuple[Float64, Int64]:
    """Return the corners of a cell within a border, on the grid, (v, 2), and its lines, (v, 2)."""
    found = divided.room_for_cell()
    n = without_fault(kernels.clip_cell(divided.arrays, border, faces, found))
    return found.points[:n, 1:3] / found.points[:n, :1], found.names[:n]


def _borders(window: Window, lines: Int64) -> Float64:
    """Return those of the window's finite lines that are among lines by their names, (l, 3)."""
    x_low, x_high, y_low, y_high = window.limits
    borders = np.array([[-y_low, 0.0, 1.0], [x_high, -1.0, 0.0], [y_high, 0.0, -1.0], [-x_low, 1.0, 0.0]])
    here = borders[-1 - lines[lines[:, 0] < 0, 0]]
    finite: Float64 = here[np.isfinite(here[:, 0])]
    return finite


def _finite_part(divided: Subdivisions, faces: Int64) -> Float64:
    """Return the corners of a part of an endless cell: that within four times the least box that meets it."""
    limits = np.array(divided.window.limits)
    units = np.repeat(divided.grid.units, 2)
    reach = np.array([-4.0, 4.0, -4.0, 4.0]) * units
    while True:
        found = []
        for box in (reach, 4.0 * reach):
            low, high = np.maximum(limits[::2], box[::2]), np.minimum(limits[1::2], box[1::2])
            window = Window(low[0], high[0], low[1], high[1]) if np.all(low < high) else None
            found.append(_clip(divided, flat(border_lines(window, divided.grid)), faces)[0] if window else ())
        if len(found[0]):
            return np.asarray(found[1])
        reach = 4.0 * reach


def area_and_centroid(polygon: Float64) -> tuple[float, Float64]:
    """Return both of a convex polygon, (v, 2); of one without area the mean of its corners.

    >>> area, centroid = area_and_centroid(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]))
    >>> area, centroid.tolist()
    (2.0, [1.0, 0.5])
    """
    centroid = np.empty(2)
    return float(shapes.centre_of(flat(polygon), len(polygon), centroid)), centroid
