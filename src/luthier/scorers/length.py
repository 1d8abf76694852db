"""Length: how long a hypothesis is, in words or characters, or beside its source."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from luthier.core.params import param
from luthier.scorers._scorer import Item, Scorer


@dataclasses.dataclass(frozen=True)
class Method(Scorer):
    """Words or characters; with `relative`, divided by those of the source (at least 1)."""

    unit: str = param("words", choices=("words", "chars"), help="what is counted")
    relative: bool = param(False, help="divide by the length of the source")

    def score(self, batch: Sequence[Item]) -> Sequence[float]:
        """Return the length of each hypothesis."""
        return [self._count(item.hyp) / (max(self._count(item.src), 1) if self.relative else 1) for item in batch]

    def _count(self, text: str) -> int:
        return len(text.split()) if self.unit == "words" else len(text)
