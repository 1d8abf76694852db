"""The language models of a search: their tables side by side, and the target words by their numbers in each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Int32, frozen
from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts
from luthier.lm.arpa import UNKNOWN
from luthier.lm.model import LanguageModel
from luthier.lm.tables import RECORD, Tables

MOST = 4  # tables always travel as so many, so that kernels are compiled once for any number of models
FIRST_WORD = 3  # before it stand <unk>, <s> and </s>
NAME = "LanguageModel"


@dataclasses.dataclass(frozen=True, eq=False)
class Models:
    """L language models; where there is none, one that knows nothing and says 0 stands in (`given` is then 0).

    Attributes
    ----------
    tables : tuple of Tables
    order : int
        The longest of their orders: all states have the width it asks for.
    names : tuple of str
        Two features of each: what it says, log10, and how many words it does not know.
    """

    given: tuple[LanguageModel, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, models: Sequence[LanguageModel], names: Sequence[str] | None = None) -> Models:
        """Name models as given, or `LanguageModel`, `LanguageModel_2`, …"""
        if names is None:
            names = [NAME if k == 0 else f"{NAME}_{k + 1}" for k in range(len(models))]
        if len(models) > MOST:
            raise LuthierError(f"expected at most {MOST} language models, found {len(models)}")
        if len(names) != len(models):
            raise LuthierError(f"expected a name for each of {len(models)} language models, found {len(names)}")
        return cls(tuple(models), tuple(part for name in names for part in (name, f"{name}_OOV")))

    def __len__(self) -> int:
        return max(1, len(self.given))

    @property
    def tables(self) -> tuple[Tables, ...]:
        """What kernels take: those of L models, and the first again up to `MOST`, which nobody asks."""
        tables = [model.tables for model in self.given] or [_silent()]
        return tuple(tables + [tables[0]] * (MOST - len(tables)))

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return max((model.order for model in self.given), default=1)

    def word_ids(self, words: Texts) -> Int32:
        """Return the number of each word in each model, (L, n); those that look like a mark are unknown."""
        ids = np.zeros((len(self), len(words)), dtype=np.int32)
        for row, model in zip(ids, self.given, strict=False):
            found = model.word_ids(words)
            row[:] = np.where(found < FIRST_WORD, UNKNOWN, found)
        return ids


def _silent() -> Tables:
    return Tables(frozen(np.zeros(FIRST_WORD + 1, dtype=RECORD)), FIRST_WORD, 1)
