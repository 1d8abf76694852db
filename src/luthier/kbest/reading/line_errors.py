"""What is wrong with lines of a list: collected by block, so that the first in the file speaks first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import InputError

Describe = Callable[[int], InputError]


class BadLines:
    """Faulty lines of one block, by kind; descriptions are made only for those that are shown."""

    def __init__(self) -> None:
        self._groups: list[tuple[str, Int64, Describe]] = []

    def add(self, kind: str, lines: Int64, describe: Describe) -> None:
        """Add lines with a fault; ``describe(i)`` returns the complaint about ``lines[i]``."""
        if len(lines):
            self._groups.append((kind, np.asarray(lines, dtype=np.int64), describe))

    def extend(self, other: BadLines) -> None:
        """Add all that another collection holds."""
        self._groups.extend(other._groups)

    def __iter__(self) -> Iterator[tuple[str, Int64, Describe]]:
        return iter(self._groups)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def first(self) -> InputError:
        """Return the complaint about the lowest line."""
        _, lines, describe = min(self._groups, key=lambda group: int(group[1].min()))
        return describe(int(np.argmin(lines)))


class LineErrors:
    """Stops at the first fault, or, where the user said so, counts and goes on.

    Attributes
    ----------
    skip : bool
        Go on past faulty lines.
    counts : kind → number of lines left out
    fixed : kind → number of places put right (only with `skip`)
    first : kind → the first complaint of that kind
    """

    def __init__(self, *, skip: bool = False) -> None:
        self.skip = skip
        self.counts: Counter[str] = Counter()
        self.fixed: Counter[str] = Counter()
        self.first: dict[str, InputError] = {}

    def settle(self, bad: BadLines) -> None:
        """Raise the complaint about the first faulty line, or count them all."""
        if bad and not self.skip:
            raise bad.first()
        for kind, lines, describe in bad:
            self.counts[kind] += len(lines)
            if kind not in self.first:
                self.first[kind] = describe(int(np.argmin(lines)))

    def settle_file(self, error: InputError) -> None:
        """Raise a complaint about a whole file, or count it."""
        if not self.skip:
            raise error
        self.counts[error.kind] += 1
        self.first.setdefault(error.kind, error)

    def fix(self, error: InputError, places: int = 1) -> None:
        """Raise a complaint about something that can be put right, or count that it was."""
        if not self.skip:
            raise error
        self.fixed[error.kind] += places
        self.first.setdefault(error.kind, error)
