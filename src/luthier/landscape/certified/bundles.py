"""Open rows of boxes that are looked at together, and of one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Int64
from luthier.landscape.certified._box_kernels import Bundle, Open


def bundled(opens: Sequence[Open]) -> tuple[Bundle, Int64]:
    """Return open rows one after another, each set once, and which of the sets each of those given is."""
    places: dict[int, int] = {}
    parents = np.array([places.setdefault(id(each), len(places)) for each in opens], np.int64)
    sets = [opens[int(np.argmax(parents == place))] for place in range(len(places))]
    row_ends = np.cumsum([0, *(len(each.rows) for each in sets)])
    list_ends = np.cumsum([0, *(len(each.lists) for each in sets)])
    starts = [each.starts[:-1] + first for each, first in zip(sets, row_ends[:-1], strict=True)]
    bundle = Bundle(
        np.concatenate([each.rows for each in sets]), np.concatenate([*starts, row_ends[-1:]]),
        np.concatenate([each.lists for each in sets]), list_ends.astype(np.int64),
        np.stack([each.fixed for each in sets]),
    )  # fmt: skip
    return bundle, parents


def open_of(bundle: Bundle, box: int) -> Open:
    """Return the open rows of one box, not copied."""
    first, last = int(bundle.ends[box]), int(bundle.ends[box + 1])
    row, end = int(bundle.starts[first]), int(bundle.starts[last])
    starts = bundle.starts[first : last + 1] - row
    return Open(bundle.rows[row:end], starts, bundle.lists[first:last], bundle.fixed[box])
