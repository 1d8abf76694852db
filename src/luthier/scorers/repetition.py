"""Repetition: the share of a hypothesis's n-grams that stood in it before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from luthier.core.params import param
from luthier.scorers._scorer import Item, Scorer


@dataclasses.dataclass(frozen=True)
class Method(Scorer):
    """1 − different n-grams / all n-grams; 0 where there is none. Models that loop score near 1."""

    order: int = param(4, low=1, high=100, help="length of the n-grams")
    unit: str = param("words", choices=("words", "chars"), help="what n-grams are made of")

    def score(self, batch: Sequence[Item]) -> Sequence[float]:
        """Return the share for each hypothesis."""
        return [self._share(item.hyp.split() if self.unit == "words" else item.hyp) for item in batch]

    def _share(self, units: Sequence[str]) -> float:
        n = len(units) - self.order + 1
        if n < 1:
            return 0.0
        different = {tuple(units[k : k + self.order]) for k in range(n)}
        return 1.0 - len(different) / n
