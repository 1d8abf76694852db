"""What a reverse search has found so far, in numbers that are kept with its state."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass
class Tally:
    """What was found so far."""

    found: int = 0
    usable: int = 0
    uncertain: int = 0
    deepest: int = 0
    best: int = -1
    best_gain: float = -np.inf
    best_margin: float = 0.0
    best_position: tuple[float, ...] = ()
    length: int = 0  # bytes of the rows that belong to this state


def checked_tally(tally: dict[str, Any], n_found: int, n_axes: int) -> Tally:
    """Return counts from a file, or complain: they are reported, and say how much of the rows to keep."""
    found = Tally(**tally)
    found.best_position = tuple(float(value) for value in found.best_position)
    counts = (found.found, found.usable, found.uncertain, found.deepest, found.length)
    if not all(type(count) is int and count >= 0 for count in counts) or type(found.best) is not int:
        raise ValueError("counts that are no whole numbers")
    within = max(found.usable, found.uncertain) <= found.found == n_found and -1 <= found.best < n_found
    if not within or len(found.best_position) not in (0, n_axes):
        raise ValueError("counts that contradict each other")
    if np.isnan([found.best_gain, found.best_margin]).any() or not np.isfinite(found.best_position).all():
        raise ValueError("numbers that are not finite")
    return found
