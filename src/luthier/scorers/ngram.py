"""N-gram: log10 probability of the hypothesis under a language model, an ARPA file."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.corpus.texts import Texts
from luthier.lm.model import LanguageModel
from luthier.lm.storage import open_lm
from luthier.scorers._scorer import Item, Scorer


@dataclasses.dataclass(frozen=True)
class Method(Scorer):
    """Log10 probability, with the end of the sentence; words are separated by white space."""

    model: str = param("", help="the language model: an ARPA file, as 'luthier engine lm' or KenLM writes it")
    per_word: bool = param(False, help="divide by the number of words and the end")

    @functools.cached_property
    def _opened(self) -> LanguageModel:
        if not self.model:
            raise LuthierError("expected the `model` of the scorer ngram, found none. hint: `option` model=lm.arpa")
        return open_lm(self.model)

    def score(self, batch: Sequence[Item]) -> Sequence[float]:
        """Return the log probability of each hypothesis."""
        model = self._opened
        scores = model.score_tokens(model.tokens(Texts.from_strings(item.hyp for item in batch), skip_symbols=True))
        totals = scores.totals
        if self.per_word:
            totals = totals / (scores.offsets[1:] - scores.offsets[:-1])
        return [float(total) for total in totals]
