"""WER: words inserted, deleted or replaced, per word of the reference."""

from __future__ import annotations

import dataclasses

from luthier.core.params import param
from luthier.corpus.tokenizers import TOKENIZERS
from luthier.metrics.base import Stats
from luthier.metrics.batch import Batch
from luthier.metrics.edits import ErrorRate, word_edits


@dataclasses.dataclass(frozen=True)
class Method(ErrorRate):
    """Word error rate: 100 · Σ edit distance / Σ reference length.

    If there are several references, the one with the fewest edits counts, with its own length; if several have
    as few, the longest of these counts, which gives the lowest rate. The rate can exceed 100.
    """

    tokenizer: str = param("none", choices=TOKENIZERS, help="tokenizer of raw text")
    lowercase: bool = param(False, help="ignore case")

    def stats(self, batch: Batch) -> Stats:
        """Return edits and reference length of every hypothesis, (M, 2) int64."""
        return word_edits(batch, *batch.tokens(self.tokenizer, lowercase=self.lowercase))
