"""The best of many epochs: the answer of tuners whose last epoch need not be their best."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from luthier.tuning.base import State


def keep_best(states: Iterable[State]) -> Iterator[State]:
    """Yield states as they come, and at last the one with the highest gain again; if several have it, the earliest."""
    best: State | None = None
    for state in states:
        yield state
        if best is None or state.gain > best.gain:
            best = state
    if best is not None:
        yield dataclasses.replace(best, did=f"kept {best.did}")
