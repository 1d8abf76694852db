"""A tuner in a loop, as the table of a study says."""

from __future__ import annotations

import dataclasses

from luthier.core.errors import LuthierError
from luthier.core.settings import Table
from luthier.tuning.base import Tuner

from .base import read_tuner


@dataclasses.dataclass(frozen=True)
class Looped:
    """A tuner, and how its loops are run.

    Attributes
    ----------
    starts : of every turn
    forests : whether it tunes on forests in place of lists
    halfway : whether every turn has the lists of a second weight vector
    k, trust : how many hypotheses of each sentence, and how far weights may go from those that decoded best; None as
        the training says
    baseline : the tuner that it is compared with
    """

    tuner: Tuner
    starts: int
    forests: bool
    halfway: bool
    k: int | None
    trust: float | None
    baseline: str

    @property
    def method(self) -> str:
        """What it is, in full."""
        on = " on forests" * self.forests + " on lists of two vectors" * self.halfway
        return f"{self.tuner.spec}{on}" + (f", k = {self.k}" if self.k else "")


def read_looped(table: Table, path: str, starts: int, baseline: str) -> tuple[str, Looped]:
    """Return a tuner as a table says, and the name that the study gives it."""
    count, k, trust = table.take("starts", int, starts), table.take("k", int, None), table.take("trust", float, None)
    forests, halfway = table.take("forests", bool, False), table.take("halfway", bool, False)
    own_baseline = table.take("baseline", str, baseline)
    name, method = read_tuner(table, path)
    if k is not None and k < 1:
        raise LuthierError(f"{path}: expected at least one hypothesis of a sentence for {name!r}, found k = {k}")
    if forests and halfway:
        raise LuthierError(f"{path}: expected {name!r} to tune on forests or on lists of two vectors, found both")
    return name, Looped(method, count, forests, halfway, k, trust, own_baseline)
