"""Our own decoder as the loop sees it: a function from weights to lists of given sentences."""

from __future__ import annotations

import dataclasses

from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.kbest.pool import Pool
from luthier.kbest.weights import Weights


@dataclasses.dataclass(frozen=True, eq=False)
class OwnDecoder:
    """A decoder on one set of sentences.

    Attributes
    ----------
    references : columns of texts, one for each sentence
    k, unique : how many hypotheses of each sentence, and whether no two have the same words
    """

    decoder: Decoder
    sentences: Texts
    references: tuple[Texts, ...]
    k: int
    unique: bool = True
    threads: int = 1

    def __call__(self, weights: Weights) -> Pool:
        """Return the lists that weights lead to."""
        return self.decoder.decode(
            self.sentences, weights, k=self.k, unique=self.unique, references=self.references, derivations=False,
            threads=self.threads,
        ).pool  # fmt: skip
