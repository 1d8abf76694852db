"""Lists with derivations in which a raw probability counts by its logarithm: a shape for bins to find.

Every rule has a probability P, a number of words, and a noise; a hypothesis is some rules, and the columns of the pool
are their sums, as a linear decoder has them. What a hypothesis is worth is planted: Σ log P of its rules, and a little
for each word, with noise. No weight on ΣP can say that; weights on bins of P can.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.params import param, validate
from luthier.core.rng import make_rng
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.derivations import Derivations
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool

PROBABILITY, WORDS, NOISE, GLUE = "P", "Words", "Noise", "Glue"
WORTH = "worth"
WORTH_OF_A_WORD = 0.5
POINTS = 4.0  # of worth, for one unit of the planted score and one probability


@dataclasses.dataclass(frozen=True)
class PlantedLists:
    """Parameters of such lists; `generate` makes a pool of them, with the column "worth" in 0–100.

    The table of rules depends on `language` alone, so that two seeds can be tuning and test data.
    """

    sentences: int = param(100, low=1, high=10_000_000, help="lists")
    k: int = param(50, low=1, high=1_000_000, help="hypotheses of a list")
    uses: int = param(8, low=1, high=1000, help="rules of a hypothesis, beside a glue rule")
    changed: int = param(3, low=1, high=1000, help="rules in which a hypothesis may differ from the first of its list")
    features: int = param(1, low=1, high=100, help="probabilities of a rule, P, P2, …; all count alike")
    rules: int = param(2000, low=1, high=1_000_000, help="rules of the table that all lists share, beside glue")
    noise: float = param(2.0, low=0.0, high=1e6, help="spread of what the worth has beside the planted score")
    lowest: float = param(1e-4, low=1e-12, high=0.5, help="least probability")
    language: int = param(0, low=0, help="seed of the table of rules")

    def __post_init__(self) -> None:
        validate(self)

    @property
    def probabilities(self) -> list[str]:
        """Names of the probabilities of a rule."""
        return [PROBABILITY, *(f"{PROBABILITY}{number}" for number in range(2, self.features + 1))]

    def generate(self, seed: int) -> Pool:
        """Return the pool of a seed."""
        rng, table = make_rng(seed), self._table()
        m, rules = self.sentences * self.k, self._derivations(rng)
        sums = np.column_stack([table, self._score(table)])[rules].sum(axis=1)  # (M, D + 1)
        planted = sums[:, -1].reshape(self.sentences, self.k) + self.noise * rng.normal(size=(self.sentences, self.k))
        worth = np.clip(50.0 + POINTS / self.features * (planted - planted.mean(axis=1, keepdims=True)), 0.0, 100.0)
        local = self._local(table)
        texts = ["[S] ||| [X,1]", *(f"[X] ||| s{r} ||| t{r}" for r in range(1, self.rules + 1))]
        offsets = offsets_from_counts(np.full(m, rules.shape[1]))
        return Pool(
            offsets=offsets_from_counts(np.full(self.sentences, self.k)),
            features=Features.from_dense(local.names, np.round(sums[:, :-1], 6)),
            sentence_ids=Texts.from_strings([str(s) for s in range(self.sentences)]),
            texts=Texts(np.zeros(m + 1, np.int64), np.zeros(0, np.uint8)),
            tokens=Tokens(np.zeros(m + 1, np.int64), np.zeros(0, np.int32)),
            vocab=Texts.from_strings([]),
            derivations=Derivations(offsets, rules.ravel().astype(np.int32), Texts.from_strings(texts), local),
            columns={WORTH: worth.ravel()},
            provenance={"generator": dataclasses.asdict(self), "seed": seed},
        )

    def _table(self) -> Float64:
        """Return the features of rules, (R, D): first those of glue, which has neither probability nor words."""
        rng = make_rng(self.language)
        sizes = (self.rules, self.features)
        probabilities = np.round(np.exp(rng.uniform(np.log(self.lowest), 0.0, sizes)), 6).clip(self.lowest)
        more = np.column_stack(
            [rng.integers(1, 4, self.rules), np.round(rng.normal(size=self.rules), 4), np.zeros(self.rules)]
        )
        glue = np.zeros(self.features + more.shape[1])
        glue[-1] = 1.0
        return np.vstack([glue, np.hstack([probabilities, more])])

    def _local(self, table: Float64) -> Features:
        """Return the table as features of rules, in which 0 is none."""
        rows, columns = np.nonzero(table)
        offsets = offsets_from_counts(np.bincount(rows, minlength=len(table)))
        names = (*self.probabilities, WORDS, NOISE, GLUE)
        return Features(names, np.empty((len(table), 0)), offsets, columns.astype(np.int32), table[rows, columns])

    def _score(self, table: Float64) -> Float64:
        """Return what a rule is worth, (R,)."""
        probabilities = table[:, : self.features]
        logs = np.log(np.where(probabilities > 0, probabilities, 1.0)).sum(axis=1)
        score: Float64 = logs + WORTH_OF_A_WORD * table[:, self.features]
        return score

    def _derivations(self, rng: np.random.Generator) -> Int64:
        """Return the rules of all hypotheses, (M, uses + 1): glue, and those of the list's first with some changed."""
        base = np.repeat(rng.integers(1, self.rules + 1, (self.sentences, self.uses)), self.k, axis=0)
        m = len(base)
        at = rng.integers(0, self.uses, (m, self.changed))
        base[np.arange(m)[:, None], at] = rng.integers(1, self.rules + 1, (m, self.changed))
        return np.column_stack([np.zeros(m, np.int64), base])
