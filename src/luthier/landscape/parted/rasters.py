"""The raster of a pool in parts, by whoever works on the parts.

Whole numbers are added part by part. Other numbers must be added in the order of the sentences, so that there a unit
is some rows of pixels, for which it goes through all parts.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.errors import LuthierError
from luthier.core.tasks import Engine, Given, run_units
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.parts.part_files import check_files
from luthier.landscape.parted.part_answers import packed
from luthier.landscape.parted.part_work import PartsRecipe, PartsSource, Vectors, vectors
from luthier.landscape.planes.pixels import Pixels, add_changes, centres, pixels_from

ROWS = 64  # of pixels, a unit
MOST_BYTES = 1 << 30  # of answers that wait to be added


@dataclasses.dataclass(frozen=True)
class AskedRaster:
    """Parts, a plane as the rows of its matrix, the limits of a window, its pixels a side, and which rows of them."""

    parts: tuple[int, ...]
    plane: Vectors
    limits: tuple[float, ...]
    side: int
    first: int
    end: int


def part_raster(source: PartsSource, asked: AskedRaster) -> npt.NDArray[Any]:
    """Return what is to be summed along x for some rows of a raster, (rows, side, S), packed."""
    subspace = Subspace(np.array(asked.plane[0]), np.array(asked.plane[1:]))
    xs, ys = centres(Window(*asked.limits), asked.side)
    changes = None
    for part in asked.parts:
        changes = add_changes(source.problem(part), subspace, (xs, ys[asked.first : asked.end]), onto=changes)
    assert changes is not None  # no unit is without parts
    return packed(changes)


def parted_pixels(
    source: PartsSource, subspace: Subspace, window: Window, side: int, *, engine: Engine | None = None
) -> Pixels:
    """Return the raster of all parts, in the bytes of the pool in one piece."""
    centres(window, side)  # checked before anybody is asked
    check_files(source.manifest)
    if not source.filled:
        raise LuthierError("expected lists with hypotheses, found none")
    plane, limits = vectors(subspace.matrix), tuple(map(float, window.limits))
    if source.whole_numbers:
        asked = [AskedRaster((part,), plane, limits, side, 0, side) for part in source.filled]
    else:
        all_parts, firsts = tuple(source.filled), range(0, side, ROWS)
        asked = [AskedRaster(all_parts, plane, limits, side, first, min(first + ROWS, side)) for first in firsts]
    total = np.zeros((side, side, len(source.metric.stat_names)), np.int64 if source.whole_numbers else np.float64)
    at_once = max(1, MOST_BYTES // total.nbytes)
    given = Given(source, PartsRecipe.of(source))
    for begin in range(0, len(asked), at_once):
        some = asked[begin : begin + at_once]
        found = run_units(part_raster, given, dict(enumerate(some)), engine=engine)
        for number, changes in found.items():
            total[some[number].first : some[number].end] += changes
    return pixels_from(total, subspace, window, source.metric)
