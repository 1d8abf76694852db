"""What a request asks for: JSON of a stranger, in which every value is checked before it is used."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.settings import T, parse_json, typed
from luthier.explorer.sessions.session import Session

LARGEST_WEIGHT = 1e30
MOST_CHANGED = 2000  # weights that a request may change
LONGEST_TEXT = 200
LARGEST_NUMBER = 2**53


@dataclasses.dataclass(frozen=True)
class _Weights:
    """Weights as a request has them: those of a name, by its number, and (feature, value) for each that differs."""

    base: int = 0
    set: list[tuple[int, float]] = dataclasses.field(default_factory=list)


class CheckedRequest:
    """The values of one request, by name."""

    def __init__(self, raw: bytes) -> None:
        try:
            self._values = typed(parse_json(raw, parse_constant=_no_constant), dict[str, Any], "the request")
        except ValueError as error:
            raise LuthierError(f"expected JSON, found {error}") from None

    def part(self, name: str) -> CheckedRequest:
        """Return an object within the request; an empty one where there is none."""
        found = CheckedRequest(b"{}")
        found._values = self._take(name, dict[str, Any], {})
        return found

    def _take(self, name: str, kind: type[T], default: T | None = None) -> T:
        return typed(self._values.get(name, default), kind, repr(name))

    def has(self, name: str) -> bool:
        """Return whether a value was given, and is not null."""
        return self._values.get(name) is not None

    def number(self, name: str, default: float | None = None) -> float:
        """Return a finite number."""
        return _finite(self._take(name, float, default), name)

    def whole(self, name: str, *, low: int, high: int, default: int | None = None) -> int:
        """Return a whole number from `low` to `high`."""
        return _within(self._take(name, int, default), name, low, high)

    def choice(self, name: str, words: Sequence[str]) -> str:
        """Return one of some words, the first if none is given."""
        found = self._values.get(name, words[0])
        if found not in words:
            raise LuthierError(f"expected one of {', '.join(words)} as {name!r}")
        return str(found)

    def text(self, name: str) -> str:
        """Return a short text, empty if none is given."""
        found = self._take(name, str, "")
        if len(found) > LONGEST_TEXT:
            raise LuthierError(f"expected a text of at most {LONGEST_TEXT} characters as {name!r}")
        return found

    def items(self, name: str, *, most: int) -> list[Any]:
        """Return a list of at most so many things."""
        found = self._take(name, list[Any], [])
        if len(found) > most:
            raise LuthierError(f"expected a list of at most {most} as {name!r}")
        return found

    def window(self, name: str, size: int) -> tuple[float, ...] | None:
        """Return low and high for each of some axes, or None."""
        if not self.has(name):
            return None
        ends = tuple(_finite(end, name) for end in self._take(name, list[float]))
        if len(ends) != 2 * size or not all(a < b for a, b in zip(ends[::2], ends[1::2], strict=True)):
            raise LuthierError(f"expected {size} times low and high, low below high, as {name!r}")
        return ends

    def weights(self, session: Session, name: str = "weights") -> Float64:
        """Return weights, (D,): those of a name, some of them changed."""
        return weights_of(self._values.get(name, {}), session, name)

    def systems(self, session: Session, name: str, *, most: int) -> list[Float64]:
        """Return several weight vectors."""
        return [weights_of(item, session, name) for item in self.items(name, most=most)]


def weights_of(asked: Any, session: Session, name: str) -> Float64:
    """Return weights, (D,), from ``{"base": number, "set": [[feature, value], …]}``."""
    found = typed(asked, _Weights, repr(name))
    if len(found.set) > MOST_CHANGED:
        raise LuthierError(f"expected at most {MOST_CHANGED} changed weights, found {len(found.set)}")
    weights = np.array(session.named[_within(found.base, "base", 0, len(session.named) - 1)].weights)
    for feature, value in found.set:
        if not abs(value) <= LARGEST_WEIGHT:
            raise LuthierError(f"expected weights of at most {LARGEST_WEIGHT:g}")
        weights[_within(feature, name, 0, len(weights) - 1)] = value
    return weights


def changed_from_start(session: Session, weights: Float64) -> dict[str, Any]:
    """Return weights as a request has them: what differs from the start."""
    places = np.flatnonzero(weights != session.start)
    return {"base": 0, "set": [[d, weights[d]] for d in places.tolist()]}


def _no_constant(text: str) -> float:
    raise ValueError(f"{text}, which is no number")


def _finite(value: float, name: str) -> float:
    if not abs(value) < math.inf:
        raise LuthierError(f"expected a finite number as {name!r}")
    return value


def _within(value: int, name: str, low: int, high: int) -> int:
    if not low <= value <= high:
        raise LuthierError(f"expected a whole number from {low} to {high} as {name!r}")
    return value
