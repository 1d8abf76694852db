"""The language models of a search: their tables side by side, and the target words by their numbers in each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64, Int32, frozen
from luthier.core.errors import LuthierError
from luthier.core.progress import notice
from luthier.corpus.texts import Texts
from luthier.kbest.weights import Weights
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


# Weights for a search: by name, checked, with a stated default for every feature that is known here.

# Set by hand, where costs are negative: a start for tuning, and better than nothing without it.
DEFAULTS = {
    "EgivenFCoherent": -1.0,
    "SampleCountF": -0.1,
    "CountEF": 0.1,
    "MaxLexFgivenE": -0.5,
    "MaxLexEgivenF": -0.5,
    "IsSingletonF": -0.1,
    "IsSingletonFE": -0.1,
    "Glue": -0.1,
    "PassThrough": -5.0,
    "WordPenalty": -1.0,
}
MODEL_DEFAULT, UNKNOWN_DEFAULT = 1.0, -1.0
# On words that neither grammar nor model knows both are 1: without limits one may grow as the other falls.
LIMITS = dict.fromkeys(("PassThrough", f"{NAME}_OOV"), (-math.inf, 0.0))
SHOWN = 5


def default_weights(names: Sequence[str], model_names: Sequence[str] = (NAME, f"{NAME}_OOV")) -> Weights:
    """Return the stated default weights: 0 for features that nothing is said of.

    `model_names` are two of each language model: what it says, and how many words it does not know.
    """
    known = dict(DEFAULTS)
    for said, unknown in zip(model_names[::2], model_names[1::2], strict=True):
        known[said], known[unknown] = MODEL_DEFAULT, UNKNOWN_DEFAULT
    return Weights({name: known.get(name, 0.0) for name in names})


def weight_vector(weights: Mapping[str, float], names: Sequence[str], *, quiet: bool = False) -> Float64:
    """Return the weights of features in their order, (D,); one that is missing counts 0, which is said unless `quiet`.

    Raises
    ------
    LuthierError
        A weight that is no finite number, or no feature with a weight other than 0.
    """
    for name, value in weights.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise LuthierError(f"expected a finite weight for {name!r}, found {value!r}")
    vector = np.array([float(weights.get(name, 0.0)) for name in names])
    if not vector.any():
        raise LuthierError(
            f"expected a weight other than 0 for a feature of the search ({', '.join(names[:SHOWN])} …), found none. "
            "hint: with all weights 0 every translation is as good as any other"
        )
    if quiet:
        return vector
    known = set(names)
    _say("have no weight, which counts 0", "features", [name for name in names if name not in weights])
    _say("are of no feature of the search, and are not used", "weights", [n for n in weights if n not in known])
    return vector


def _say(what: str, kind: str, names: Sequence[str]) -> None:
    if names:
        shown = ", ".join(repr(name) for name in names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
        notice(f"{len(names)} {kind} {what}: {shown}")
