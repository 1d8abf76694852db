"""The best of many epochs: the answer of tuners whose last epoch need not be their best."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from luthier.tuning.base import State

KEEPS = ("best", "last")


def keep_best(states: Iterable[State]) -> Iterator[State]:
    """Yield states as they come, and at last the one with the highest gain again; if several have it, the earliest.

    It says how far from it the last one ended; and that more steps may help, where the last one is the best.
    """
    best: State | None = None
    last: State | None = None
    for state in states:
        yield state
        last = state
        if best is None or state.gain > best.gain:
            best = state
    if best is None or last is None:
        return
    name, note = _name(last), ""
    if best is not last:
        note = f"{_name(best)} kept; the last, {name}, has a gain of {last.gain:.4g}"
    elif name != "start":
        note = f"not converged: the last one, {name}, is the best; more may help"
    yield dataclasses.replace(best, did=f"kept {best.did}", note="; ".join(filter(None, [best.note, note])))


def _name(state: State) -> str:
    return state.did.partition(":")[0]
