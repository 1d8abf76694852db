"""One alignment from two: where both directions agree, and what grows from there (Koehn et al. 2003)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from luthier.alignment import _link_kernels as kernels
from luthier.alignment.links import Links
from luthier.core.arrays import Int32, Int64
from luthier.core.errors import LuthierError

WAYS = ("grow-diag-final-and", "grow-diag-final", "grow-diag", "intersect", "union", "forward", "backward")
DEFAULT_WAY = WAYS[0]
LEAST_FREE = {"grow-diag-final-and": 2, "grow-diag-final": 1, "grow-diag": 3}  # words without link a last point has


def symmetrize(forward: Links, backward: Links, how: str = DEFAULT_WAY) -> Links:
    """Return one alignment from the links of two directions, both written source before target.

    *intersect* and *union* are what they say, *forward* and *backward* one side alone. *grow-diag* starts from the
    intersection; in passes until nothing is added it visits the points of the union in order of (source,
    target) and adds one if a word of it has no link yet and one of its eight neighbours is linked.
    *grow-diag-final* then adds points of the forward, then of the backward links, one of whose words has no link;
    *grow-diag-final-and*, both of whose words [koehn2003].
    """
    if how not in WAYS:
        raise LuthierError(f"there is no {how!r} among the ways to symmetrize. known: {', '.join(WAYS)}")
    if how in ("forward", "backward"):
        return forward if how == "forward" else backward
    offsets, source, target, sides = unite(forward, backward)
    taken = sides == kernels.BOTH if how != "union" else np.ones(len(sides), dtype=bool)
    if how in LEAST_FREE:
        linked = [np.zeros(int(side.max(initial=-1)) + 1, dtype=np.int64) for side in (source, target)]
        kernels.grow(offsets, source, target, sides, LEAST_FREE[how], taken, *linked)
    before = np.concatenate([[0], np.cumsum(taken)])  # points taken before each
    return Links(before[offsets], source[taken], target[taken])


def unite(first: Links, second: Links) -> tuple[Int64, Int32, Int32, npt.NDArray[np.int8]]:
    """Return the union of two alignments, and of each link whether it is in the first (1), second (2) or both (3).

    Returns
    -------
    offsets : (N+1,), source, target : (L,), sides : (L,)
    """
    if len(first) != len(second):
        raise LuthierError(f"expected links of as many sentence pairs, found {len(first)} and {len(second)}")
    room = len(first.source) + len(second.source)
    offsets = np.empty(len(first) + 1, dtype=np.int64)
    source, target = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    sides = np.empty(room, dtype=np.int8)
    one, other = ((links.offsets, links.source, links.target) for links in (first, second))
    n = kernels.unite(one, other, offsets, source, target, sides)
    return offsets, source[:n], target[:n], sides[:n]
