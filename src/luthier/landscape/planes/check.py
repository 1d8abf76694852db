"""Proof by re-ranking: the original lists, re-ranked at inner points of cells, select what the cells say."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.progress import progress
from luthier.geometry.plane.cells import Cell
from luthier.kbest.rerank import rerank
from luthier.landscape.planes.plane import Plane

CELLS_AT_ONCE = 256


@dataclasses.dataclass(frozen=True)
class Check:
    """How many cells were re-ranked, and with what outcome.

    Attributes
    ----------
    representable : int
        Cells that a re-rank is certain to find, in spite of rounding.
    agreed, wrong : int
        Of these, the ones at which every list selects what the cell says, and the others. There are no others, or
        there is a mistake in this program.
    lucky : int
        Of the cells that are not certain, those at which every list selects it all the same.
    """

    tried: int = 0
    representable: int = 0
    agreed: int = 0
    wrong: int = 0
    lucky: int = 0


def check_cells(plane: Plane, keys: Int64, recorded: tuple[Float64, Bool] | None = None, *, threads: int = 1) -> Check:
    """Re-rank the lists inside the cells of some keys, (n, 2).

    `recorded` is where, (n, 2), and whether that is certain to find them, (n,); by default the cells say both.
    """
    found = Check()
    with progress("re-ranking cells", len(keys)) as advance:
        for first in range(0, len(keys), CELLS_AT_ONCE):
            part = slice(first, first + CELLS_AT_ONCE)
            cells = [plane.overlay.cell(key) for key in keys[part]]
            if recorded is None:
                positions, certain = np.array([cell.position for cell in cells]), certain_cells(plane, cells)
            else:
                positions, certain = recorded[0][part], recorded[1][part]
            selected = rerank(plane.problem.pool, plane.subspace.weights(positions), threads=threads)  # (W, N)
            agrees = np.all(selected == np.array([cell.selection for cell in cells]), axis=1)
            found = _plus(found, agrees, certain)
            advance(len(cells))
    return found


def certain_cells(plane: Plane, cells: list[Cell]) -> Bool:
    """Return which cells a re-rank is certain to find."""
    positions: Float64 = np.array([cell.position for cell in cells]).reshape(-1, 2)
    sums = np.array([plane.judge.columns[cell.selection].sum(axis=0) for cell in cells]).reshape(-1, 2)
    return plane.judge.judge(positions, np.array([cell.radius for cell in cells]), sums)


def _plus(so_far: Check, agrees: Bool, certain: Bool) -> Check:
    return Check(
        tried=so_far.tried + len(agrees),
        representable=so_far.representable + int(certain.sum()),
        agreed=so_far.agreed + int(np.sum(agrees & certain)),
        wrong=so_far.wrong + int(np.sum(~agrees & certain)),
        lucky=so_far.lucky + int(np.sum(agrees & ~certain)),
    )
