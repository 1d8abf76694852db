"""TER: edits and block moves that turn a translation into a reference (Snover et al., 2006)."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.params import param
from luthier.corpus.texts import Tokens
from luthier.corpus.tokenizers import tercom_tokenizer
from luthier.metrics.base import Stats
from luthier.metrics.batch import Batch
from luthier.metrics.edits import ErrorRate, translation_edits
from luthier.metrics.ngrams import reference_lengths


@dataclasses.dataclass(frozen=True)
class Method(ErrorRate):
    """Translation edit rate: 100 · Σ edits / Σ reference length [snover2006], as tercom and sacrebleu count.

    An edit inserts, deletes or replaces a word, or moves a block of words. Finding the fewest is hard;
    tercom moves greedily, as long as a move shortens the edit distance, and so does everybody who wants
    comparable numbers. With several references the fewest edits count, over the mean reference length.

    The defaults and options are sacrebleu's, and the statistics are the same in every sentence, its beam
    and its limits (blocks of 10 words, moved by 50, 1000 tries) included.
    """

    case_sensitive: bool = param(False, help="do not ignore case")
    normalized: bool = param(False, help="split off punctuation as tercom does")
    no_punct: bool = param(False, help="leave out punctuation")
    asian_support: bool = param(False, help="with the two before: treat Chinese and Japanese characters too")

    def stats(self, batch: Batch) -> Stats:
        """Return edits and mean reference length of every hypothesis, (M, 2) float64."""
        hyps, refs = self.tokens(batch)
        edits = translation_edits(batch, hyps, refs)
        return np.column_stack([edits, reference_lengths(batch, hyps, refs, "mean")])

    def tokens(self, batch: Batch) -> tuple[Tokens, Tokens]:
        """Return the words of hypotheses and references that are compared."""
        if not (self.normalized or self.no_punct):
            return batch.tokens(lowercase=not self.case_sensitive)
        return batch.rewritten(tercom_tokenizer(**dataclasses.asdict(self))).tokens()
