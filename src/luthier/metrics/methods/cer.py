"""CER: characters inserted, deleted or replaced, per character of the reference."""

from __future__ import annotations

import dataclasses

from luthier.core.params import param
from luthier.metrics.base import Stats
from luthier.metrics.batch import Batch
from luthier.metrics.edits import ErrorRate, word_edits


@dataclasses.dataclass(frozen=True)
class Method(ErrorRate):
    """Character error rate: 100 · Σ edit distance / Σ reference length, over code points.

    As usual in speech recognition, the space between two words is a character like others: any white
    space counts as one space, and none at the ends. Without `spaces` only the other characters count,
    as usual for languages that write none.

    If there are several references, the one with the fewest edits counts, with its own length; if several have
    as few, the longest of these counts, which gives the lowest rate. The rate can exceed 100.
    """

    spaces: bool = param(True, help="count the space between words")
    lowercase: bool = param(False, help="ignore case")

    def stats(self, batch: Batch) -> Stats:
        """Return edits and reference length of every hypothesis, (M, 2) int64."""
        characters = batch.characters("single" if self.spaces else "drop", lowercase=self.lowercase)
        return word_edits(batch, *characters)
