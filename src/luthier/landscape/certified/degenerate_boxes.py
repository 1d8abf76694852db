"""Boxes in which all that is open ties at one point: their sides stand for them.

Suppose that all open rows of each list are equally high at a point q of a box. Along a ray from q the differences of
two of them keep their signs and grow, so whatever wins somewhere on the ray wins where it leaves the box, too: on one
of the sides that do not hold q. These have one dimension less. Without this step a box round such a point never becomes
simpler, however small it is, and features that are whole numbers have many such points.

That is so for weights that win every list by a margin; those that hang on a tie, or on the last digits, are left out.
At q two rows differ by no more than their slack, rounding included. Where one leads by m ≥ 1 slacks and the ray goes on
s ≥ 1 times as far, it leads by s·m − (s − 1) ≥ m: margins do not shrink from step to step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.landscape.certified._box_kernels import Open
from luthier.landscape.certified.rows import Rows, middle_of

FIRST = 64  # lists that are looked at first: mostly these tell that there is no such point
MOST_ROWS = 50_000  # open rows of a box up to which such a point is looked for
NO_SPREAD = 1e-12  # a direction that the squared differences reach by no more than this share counts as none
REFINED = 3  # rounds in which the point is found: each takes away what rounding left
SHARE = 1 / 8  # of a list's slack, by which rows may differ from its first one at the point
AT_END = 1e-9  # nearer to an end of the box than this share of its size is at the end


def sides_for(rows: Rows, low: Float64, high: Float64, found: Open) -> list[tuple[Float64, Float64]] | None:
    """Return the sides that stand for a box, corners (P,) each, or None if its open rows tie at no point of it."""
    moving = np.flatnonzero(high > low)
    if not len(moving) or len(found.rows) > MOST_ROWS:
        return None
    point = tie_point(rows, low, high, _first(found))
    if point is not None and len(found.lists) > FIRST:
        point = tie_point(rows, low, high, found)
    return None if point is None else list(_sides_without(point, low, high, moving))


def tie_point(rows: Rows, low: Float64, high: Float64, found: Open) -> Float64 | None:
    """Return a point of a box, (P,), at which the open rows of each list tie, or None where none was found.

    It is the least-squares one, in units of the box. Sums are NumPy's own, so that they depend on no thread.
    """
    moving = np.flatnonzero(high > low)
    centre, radius = middle_of(low, high)
    counts = np.diff(found.starts)
    differences = rows.heights[found.rows] - rows.heights[np.repeat(found.rows[found.starts[:-1]], counts)]  # (n, P)
    room = SHARE * np.repeat(rows.slack[found.lists], counts)
    units = np.where(room > 0, room, 1.0)[:, None]
    scaled = differences[:, moving] * radius[moving] / units
    with np.errstate(over="ignore", invalid="ignore"):  # then nothing is found
        squares = np.einsum("nk,nl->kl", scaled, scaled)
    if not np.all(np.isfinite(squares)):
        return None
    sizes, axes = np.linalg.eigh(squares)
    reached = sizes > NO_SPREAD * max(float(sizes[-1]), 0.0)
    place = np.zeros(len(moving))
    for _ in range(REFINED):
        point = centre.copy()
        point[moving] = centre[moving] + place * radius[moving]
        left = (scaled * ((differences * point).sum(axis=1) / units[:, 0])[:, None]).sum(axis=0)
        along = (axes[:, reached] * left[:, None]).sum(axis=0) / sizes[reached]
        place = np.clip(place - (axes[:, reached] * along).sum(axis=1), -1.0, 1.0)
    point = _within(centre[moving] + place * radius[moving], place, low[moving], high[moving])
    whole = centre.copy()
    whole[moving] = point
    return whole if np.all(np.abs((differences * whole).sum(axis=1)) <= room) else None


def _within(point: Float64, place: Float64, low: Float64, high: Float64) -> Float64:
    """Return a point inside a box, exactly at an end where it is next to it; places are from −1 to 1."""
    ends = np.where(place > 0, high, low)
    return np.asarray(np.where(np.abs(place) > 1 - AT_END, ends, np.clip(point, low, high)))


def _sides_without(point: Float64, low: Float64, high: Float64, moving: Int64) -> Iterator[tuple[Float64, Float64]]:
    """Yield the sides of a box that do not hold a point of it."""
    for k in moving:
        for end in (low[k], high[k]):
            if point[k] != end:
                corners = low.copy(), high.copy()
                corners[0][k] = corners[1][k] = end
                yield corners


def _first(found: Open) -> Open:
    """Return the first lists of those that are open."""
    starts = found.starts[: FIRST + 1]
    return Open(found.rows[: starts[-1]], starts, found.lists[:FIRST], found.fixed)
