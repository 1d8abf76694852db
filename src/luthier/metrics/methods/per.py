"""PER: words that are wrong wherever they stand, per word of the reference (Tillmann et al., 1997)."""

from __future__ import annotations

import dataclasses

from luthier.core.params import param
from luthier.corpus.tokenizers import TOKENIZERS
from luthier.metrics.base import Stats
from luthier.metrics.batch import Batch
from luthier.metrics.edits import ErrorRate, bag_edits


@dataclasses.dataclass(frozen=True)
class Method(ErrorRate):
    """Position-independent error rate: 100 · Σ (max(n, m) − matches) / Σ m.

    Here n and m are the words of hypothesis and reference, and matches are the words that both hold,
    each as often as in the one that has it less often.

    If there are several references, the one with the fewest edits counts, with its own length; if several have
    as few, the longest of these counts, which gives the lowest rate. The rate can exceed 100.
    """

    tokenizer: str = param("none", choices=TOKENIZERS, help="tokenizer of raw text")
    lowercase: bool = param(False, help="ignore case")

    def stats(self, batch: Batch) -> Stats:
        """Return edits and reference length of every hypothesis, (M, 2) int64."""
        return bag_edits(batch, *batch.tokens(self.tokenizer, lowercase=self.lowercase))
