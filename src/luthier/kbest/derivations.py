"""The rules a hypothesis used, with their local features: what discretisation later looks at."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int32, Int64, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, rows_of_segments
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.features import Features, concatenate_features


@dataclasses.dataclass(frozen=True, eq=False)
class Derivations:
    """For each of M hypotheses, the rules applied.

    Attributes
    ----------
    offsets : (M+1,) int64
    rules : (A,) int32
        Applications; hypothesis m used the rules ``rules[offsets[m]:offsets[m+1]]``.
    texts : R texts
        What each distinct rule is.
    features : Features of R rows
        Local features of each distinct rule. Two rules of the same text but other features are two.
    """

    offsets: Int64
    rules: Int32
    texts: Texts
    features: Features

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.ascontiguousarray(self.offsets, dtype=np.int64)))
        object.__setattr__(self, "rules", frozen(np.ascontiguousarray(self.rules, dtype=np.int32)))
        if len(self.texts) != len(self.features):
            raise LuthierError(
                f"expected local features for each of {len(self.texts)} rules, found {len(self.features)}"
            )
        if len(self.rules) and not 0 <= self.rules.min() <= self.rules.max() < len(self.texts):
            raise LuthierError("a derivation names a rule that is not in the table of rules")

    def take(self, rows: npt.ArrayLike) -> Derivations:
        """Return the derivations of the chosen hypotheses; the table of rules stays."""
        rows = np.asarray(rows, dtype=np.int64)
        counts = self.offsets[rows + 1] - self.offsets[rows]
        return dataclasses.replace(
            self, offsets=offsets_from_counts(counts), rules=self.rules[rows_of_segments(self.offsets, rows)]
        )


def unique_rules(offsets: Int64, uses: Int64, texts: Texts, features: Features) -> Derivations:
    """Return derivations whose table has each (text, features) once, numbered by first appearance.

    ``uses[offsets[m]:offsets[m+1]]`` are rows of `texts` and `features`, which may repeat themselves.
    """
    interner = Interner()
    numbers = interner.intern_texts(_keys(texts, features))
    first = np.unique(numbers, return_index=True)[1]
    return Derivations(offsets, numbers[uses], texts.take(first), features.take(first))


def concatenate_derivations(parts: Sequence[Derivations]) -> Derivations:
    """Put the derivations of several pools one behind another, with one table of rules."""
    features = concatenate_features([part.features for part in parts])
    texts = Texts.concatenate([part.texts for part in parts])
    shifts = offsets_from_counts([len(part.texts) for part in parts])
    uses = np.concatenate([part.rules + shift for part, shift in zip(parts, shifts, strict=False)])
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return unique_rules(offsets_from_counts(counts), uses, texts, features)


def _keys(texts: Texts, features: Features) -> Texts:
    """Return, for each rule, its text and the bytes of its features as one comparable key."""
    dense = np.ascontiguousarray(features.dense).view(np.uint8).reshape(len(texts), -1)
    text_data, text_offsets = texts.data.tobytes(), texts.offsets.tolist()
    indices, values, indptr = features.indices.tobytes(), features.values.tobytes(), features.indptr.tolist()
    keys = [
        text_data[text_offsets[r] : text_offsets[r + 1]]
        + b"\x00"
        + dense[r].tobytes()
        + indices[4 * indptr[r] : 4 * indptr[r + 1]]
        + values[8 * indptr[r] : 8 * indptr[r + 1]]
        for r in range(len(texts))
    ]
    return Texts(offsets_from_counts([len(key) for key in keys]), np.frombuffer(b"".join(keys), np.uint8))
