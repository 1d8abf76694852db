"""Length: words of the hypotheses in per cent of the words of the references."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.corpus.tokenizers import TOKENIZERS
from luthier.metrics.base import Metric, Rate, Stats, ratio
from luthier.metrics.batch import Batch
from luthier.metrics.ngrams import REFERENCE_LENGTHS, reference_lengths


@dataclasses.dataclass(frozen=True)
class Method(Metric):
    """100 · hypothesis length / reference length: 100 is as long as the references.

    Neither longer nor shorter is better, so the ratio has no direction: it is reported beside others,
    and an expression that contains it must say whether to minimize or to maximize.
    """

    stat_names = ("hyp_len", "ref_len")
    rate = Rate("hyp_len", "ref_len")
    higher_is_better = None

    reference_length: str = param(
        "closest", choices=REFERENCE_LENGTHS, help="which of several references gives the length"
    )
    tokenizer: str = param("none", choices=TOKENIZERS, help="tokenizer of raw text")

    def stats(self, batch: Batch) -> Stats:
        """Return both lengths of every hypothesis, (M, 2)."""
        hyps, refs = batch.tokens(self.tokenizer)
        return np.stack([hyps.lengths, reference_lengths(batch, hyps, refs, self.reference_length)], axis=1)

    def score(self, stats: Stats) -> Float64:
        """Return the ratio in per cent; 0 where there are no reference words."""
        stats = self.check_stats(stats)
        return 100.0 * ratio(stats[..., 0], stats[..., 1])
