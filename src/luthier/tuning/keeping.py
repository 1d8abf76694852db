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
    if best is last:
        name = _name(last)
        note = f"not converged: the last one, {name}, is the best; more may help" if name != "start" else ""
        yield dataclasses.replace(best, did=f"kept {best.did}", note="; ".join(filter(None, [best.note, note])))
    else:
        yield dataclasses.replace(best, did=f"kept {best.did}; the last, {_name(last)}, has a gain of {last.gain:.2f}")


def _name(state: State) -> str:
    return state.did.partition(":")[0]
