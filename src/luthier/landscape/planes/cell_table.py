"""Cells of a plane as columns of a table: all that are recorded, or the best ones.

Places are weights, or offsets along an axis that combines features (`luthier.landscape.axes`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.files.tables import Ragged
from luthier.core.segments import offsets_from_counts
from luthier.kbest.pool import Pool
from luthier.landscape.axes import origins
from luthier.landscape.planes.surface import SurfaceReport

Columns = dict[str, npt.NDArray[Any] | Ragged]


def all_columns(report: SurfaceReport, pool: Pool, *, polygons: bool) -> Columns:
    """Return the columns of all cells; lists have their numbers in the pool, whose empty ones the report left out."""
    record = report.record
    assert record is not None  # the caller has looked
    origin = origins(report.plane.subspace)
    changed, sentences = record.change_list, np.flatnonzero(pool.list_lengths > 0)
    offsets, corners = record.polygons(np.arange(len(record) if polygons else 0))
    return {
        "x": record.position[:, 0] + origin[0],
        "y": record.position[:, 1] + origin[1],
        "metric": report.scores,
        "area": record.area,
        "margin": record.margin,
        "radius": record.radius,
        "representable": record.representable,
        "neighbour": record.neighbour,
        "change_list": np.where(changed < 0, -1, sentences[changed]),
        "change_row": record.change_row,
        **({"polygon": Ragged(offsets, corners + origin)} if polygons else {}),
    }


def best_columns(report: SurfaceReport, keep: int, *, polygons: bool) -> Columns:
    """Return the columns of the best cells alone."""
    best = report.best[:keep]
    origin = origins(report.plane.subspace)
    corners = [one.cell.polygon + origin for one in best]
    return {
        "x": np.array([one.cell.position[0] for one in best]) + origin[0],
        "y": np.array([one.cell.position[1] for one in best]) + origin[1],
        "metric": np.array([one.score for one in best]),
        "area": np.array([one.cell.area for one in best]),
        "margin": np.array([one.cell.margin for one in best]),
        "radius": np.array([one.cell.radius for one in best]),
        "representable": np.array([one.representable for one in best]),
        **(
            {"polygon": Ragged(offsets_from_counts([len(c) for c in corners]), np.concatenate(corners))}
            if polygons
            else {}
        ),
    }
