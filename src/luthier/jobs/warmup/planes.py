"""Small jobs that reach the kernels of planes; they import little, since a command may wait for them."""

from __future__ import annotations

import numpy as np

from luthier.core.rng import make_rng
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.certainty import Certainty, Rounding
from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.plane.raster import raster
from luthier.geometry.plane.subdivision import Window


def divide_planes() -> None:
    """Lay out the cells of a small plane, with values that are counts and such that are not."""
    offsets, points = np.array([0, 5, 10]), make_rng(0).standard_normal((10, 3))
    overlay = Overlay(offsets, points, Window(-1.0, 1.0, -1.0, 1.0))
    judge = Certainty(overlay, Rounding(1e-12, 0.0, 0.0), lambda a, b: a != b)
    for values in (np.ones((10, 2), np.int64), np.ones((10, 2))):
        table = Arrangement.make(overlay, values, judge=judge)
        raster(offsets, points, values, np.linspace(-1.0, 1.0, 3), np.zeros(1))
    overlay.cell(table.keys[0])
    table.polygons(np.arange(1))
    overlay.cell_at(0.0, 0.0)


def walk_planes() -> None:
    """Lay out the cells of lists of one row: all kernels of a surface but those that divide a plane by a list."""
    offsets, points = np.arange(3), make_rng(0).standard_normal((2, 3))
    overlay = Overlay(offsets, points, Window(-1.0, 1.0, -1.0, 1.0))
    judge = Certainty(overlay, Rounding(1e-12, 0.0, 0.0), lambda a, b: a != b)
    table = Arrangement.make(overlay, np.ones((2, 2), np.int64), judge=judge)
    table.polygons(np.arange(1))
    overlay.cell(table.keys[0])
    overlay.cell_at(0.0, 0.0)
    raster(offsets, points, np.ones((2, 2), np.int64), np.linspace(-1.0, 1.0, 3), np.zeros(1))
