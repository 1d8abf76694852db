"""K-best lists of a synthetic decoder: a seeded noisy-channel source of test and benchmark data.

A true sentence of a synthetic language (the reference) becomes a noisy source sentence. About that
source a decoder has many small decisions: which word a source word represents, whether it is dropped,
whether a function word is put in, whether neighbours change places, whether two are translated as
one. A hypothesis is one combination of decisions, so lists are full of near-duplicates, and different
derivations may spell the same text. Scorers of unequal worth judge each hypothesis; hand-set weights
order the list. Better weights exist, for tuners to find.

See `luthier.synthetic.lists.language` and `luthier.synthetic.lists.sentence` for the model's numbers.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bytes, Float64, Int32, Int64
from luthier.core.errors import LuthierError
from luthier.core.files.io import make_folder, write_lines
from luthier.core.params import param, validate
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool, References
from luthier.kbest.storage.writer import write_pool
from luthier.synthetic.lists import _sentence_kernels as kernels
from luthier.synthetic.lists.language import Language, make_language
from luthier.synthetic.lists.sentence import NAMES, RULES, Decisions, draw_decisions, draw_sentence

# What the synthetic decoder believes its scorers are worth.
DECODER_WEIGHTS = {
    "lm": 0.2,
    "channel": 0.2,
    "direct": 0.3,
    "lex": 0.4,
    "length": 0.3,
    "swaps": -0.2,
    "oov": -0.5,
    "rules": 0.1,
}
NOISE_WEIGHT = 0.25
DECIMALS = 4  # decoders print a few digits, so that ties happen
REDUNDANT = "rules2"
SHORTEST, LONGEST = 1, 70
P_SYNONYM = 0.35
CLIMB_SWEEPS = 3
# Derivations scored per one kept, and how sampling around the best one widens until there are enough.
SURPLUS, SHARPNESS, WIDENING, ROUNDS = 1.5, 2.0, 0.75, 12


@dataclasses.dataclass(frozen=True)
class SyntheticLists:
    """Parameters of synthetic lists; `generate` makes a pool of them.

    Sentence i of a seed is the same whatever the number of sentences. The language depends on
    `language` alone, so that lists of two seeds can be tuning and test data of one decoder.
    """

    sentences: int = param(200, low=1, high=10_000_000, help="number of sentences")
    k: int = param(100, low=1, high=1_000_000, help="hypotheses of a sentence, at most")
    n_features: int = param(10, low=1, high=1000, help="features; those beyond the eighth are noise")
    n_references: int = param(1, low=1, high=100, help="references of a sentence, by synonyms")
    mean_length: float = param(18.0, low=1.0, high=50.0, help="mean number of words of a sentence")
    vocabulary: int = param(1000, low=100, high=10_000, help="number of common words")
    candidates: int = param(5, low=2, high=50, help="words offered for a source word, at most")
    redundant: bool = param(False, help="add a feature that is another one plus 1")
    language: int = param(0, low=0, help="seed of the language")

    def __post_init__(self) -> None:
        validate(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        noise = tuple(f"noise_{i}" for i in range(max(0, self.n_features - len(NAMES))))
        return (NAMES + noise)[: self.n_features] + ((REDUNDANT,) if self.redundant else ())

    @property
    def decoder_weights(self) -> dict[str, float]:
        """The hand-set weights by which lists are ordered."""
        return {name: 0.0 if name == REDUNDANT else DECODER_WEIGHTS.get(name, NOISE_WEIGHT) for name in self.names}

    def generate(self, seed: int) -> Pool:
        """Return a pool of lists, each ordered by the decoder's score; same seed, same bytes."""
        language = make_language(make_rng(self.language), vocabulary=self.vocabulary, n_candidates=self.candidates)
        lists = _Lists(self, language)
        with progress("generating lists", self.sentences) as advance:
            for rng in make_rng(seed).spawn(self.sentences):
                lists.add(rng)
                advance(1)
        parameters = dataclasses.asdict(self)
        return lists.pool(
            {
                "generator": "luthier synthetic lists",
                "parameters": parameters,
                "seed": seed,
                "decoder_weights": self.decoder_weights,
            }
        )


class _Lists:
    """Lists made so far, in blocks of one sentence each."""

    def __init__(self, spec: SyntheticLists, language: Language) -> None:
        self.spec, self.language = spec, language
        self.weights = np.array(list(spec.decoder_weights.values()))
        self.features: list[Float64] = []
        self.lengths: list[Int64] = []
        self.ids: list[Int32] = []
        self.scores: list[Float64] = []
        self.references: list[Int32] = []
        self.sources: list[str] = []

    def add(self, rng: np.random.Generator) -> None:
        """Make the list of one more sentence."""
        spec, language = self.spec, self.language
        length = int(np.clip(rng.gamma(2.5, spec.mean_length / 2.5), SHORTEST, LONGEST))
        sentence = draw_sentence(language, rng, length)
        self.sources.append(" ".join(language.source_words[word] for word in sentence.source))
        self.references.append(sentence.truth)
        for own in rng.spawn(spec.n_references - 1):  # so that their number changes nothing else
            self.references.append(_paraphrase(language, own, sentence.truth))
        n_noise = max(0, spec.n_features - len(NAMES))
        decisions = draw_decisions(language, rng, sentence, n_noise)
        choices = draw_derivations(decisions, language.scorer, self._local_weights(n_noise), spec.k, rng)
        self._keep_best(decisions, choices)

    def _local_weights(self, n_noise: int) -> Float64:
        """Return the decoder's weights of "lm" and all local features, 0 for those left out."""
        weights = self.spec.decoder_weights
        noise = [weights.get(f"noise_{i}", 0.0) for i in range(n_noise)]
        return np.array([weights.get(name, 0.0) for name in NAMES] + noise)

    def _keep_best(self, decisions: Decisions, choices: Int32) -> None:
        measured = np.empty((len(choices), 1 + decisions.features.shape[2]))
        lengths = np.empty(len(choices), dtype=np.int64)
        kernels.measure(
            choices,
            decisions.words,
            decisions.swap_sites,
            decisions.features,
            self.language.scorer,
            measured,
            lengths,
        )
        features = measured[:, : self.spec.n_features]
        if self.spec.redundant:
            features = np.column_stack([features, measured[:, 1 + RULES] + 1.0])
        features = np.round(np.ascontiguousarray(features), DECIMALS)
        scores = Features.from_dense(self.spec.names, features).scores(self.weights)
        best = np.argsort(-scores, kind="stable")[: self.spec.k]
        offsets = offsets_from_counts(lengths[best])
        ids = np.empty(int(offsets[-1]), dtype=np.int32)
        kernels.spell_rows(choices[best], decisions.words, decisions.swap_sites, offsets, ids)
        self.features.append(features[best])
        self.lengths.append(lengths[best])
        self.ids.append(ids)
        self.scores.append(scores[best])

    def pool(self, provenance: dict[str, object]) -> Pool:
        """Return the pool of all lists; the blocks are given up on the way."""
        vocab = Texts.from_strings(self.language.words)
        offsets = offsets_from_counts([len(scores) for scores in self.scores])
        tokens = Tokens(offsets_from_counts(_drained(self.lengths)), _drained(self.ids))
        reference_tokens = Tokens(
            offsets_from_counts([len(ids) for ids in self.references]), np.concatenate(self.references)
        )
        n_references = np.full(self.spec.sentences, self.spec.n_references)
        return Pool(
            offsets=offsets,
            features=Features.from_dense(self.spec.names, _drained(self.features)),
            sentence_ids=Texts.from_strings([str(i) for i in range(self.spec.sentences)]),
            texts=texts_of(tokens, vocab),
            tokens=tokens,
            vocab=vocab,
            references=References(
                offsets_from_counts(n_references), texts_of(reference_tokens, vocab), reference_tokens
            ),
            sources=Texts.from_strings(self.sources),
            columns={"score": _drained(self.scores)},
            provenance=provenance,
        )


def _drained(blocks: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    whole = np.concatenate(blocks)
    blocks.clear()
    return whole


def _paraphrase(language: Language, rng: np.random.Generator, truth: Int32) -> Int32:
    """Return the sentence with some words replaced by synonyms."""
    replaced = rng.random(len(truth)) < P_SYNONYM
    words = [language.synonym(w, rng) if r else w for w, r in zip(truth.tolist(), replaced, strict=True)]
    return np.array(words, dtype=np.int32)


def draw_derivations(
    decisions: Decisions, scorer: Float64, weights: Float64, k: int, rng: np.random.Generator
) -> Int32:
    """Return distinct derivations near the decoder's best: about 1.5 k rows of choices, or all there are.

    The best one is sought by single changes; the others are drawn decision by decision, an option that
    costs x having the probability exp(−sharpness·x), the sharpness falling until there are enough.
    """
    n_decisions, n_options = decisions.open.shape
    if decisions.n_derivations <= 2 * SURPLUS * k:
        return _all_derivations(decisions)
    option_scores = np.where(decisions.open, decisions.features @ weights[1:], -np.inf)
    best = option_scores.argmax(axis=1).astype(np.int32)
    losses = np.empty((n_decisions, n_options))
    kernels.climb(best, decisions.words, decisions.swap_sites, option_scores, scorer, weights[0], CLIMB_SWEEPS, losses)
    found: Int32 = best[None, :]
    wanted, sharpness = int(SURPLUS * k), SHARPNESS
    for _ in range(ROUNDS):
        chances = np.exp(sharpness * np.minimum(losses, 0.0))
        cumulative = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        cumulative[cumulative >= cumulative[:, -1:]] = np.inf  # rounding never reaches a closed option
        choices = np.empty((wanted, n_decisions), dtype=np.int32)
        kernels.draw(cumulative, rng.random((wanted, n_decisions)), choices)
        found = _distinct(np.concatenate([found, choices]))
        if len(found) >= wanted:
            break
        sharpness *= WIDENING
    return found


def _all_derivations(decisions: Decisions) -> Int32:
    options = [np.flatnonzero(row).astype(np.int32) for row in decisions.open]
    rows = np.zeros((1, 0), dtype=np.int32)
    for choice in options:
        rows = np.column_stack([np.repeat(rows, len(choice), axis=0), np.tile(choice, len(rows))])
    return np.ascontiguousarray(rows)


def _distinct(choices: Int32) -> Int32:
    """Return the rows without repetitions, in the order of first appearance."""
    factors = make_rng(0).integers(1, 1 << 62, choices.shape[1])
    hashes = choices.astype(np.int64) @ factors  # wraps around; two rows meet with a chance near 2⁻⁶²
    first: Int64 = np.sort(np.unique(hashes, return_index=True)[1])
    return choices[first]


def texts_of(tokens: Tokens, vocab: Texts) -> Texts:
    """Return token sequences as text, one space between words."""
    counts = np.empty(len(tokens), dtype=np.int64)
    kernels.joined_lengths(tokens.ids, tokens.offsets, vocab.offsets, counts)
    offsets = offsets_from_counts(counts)
    data: Bytes = np.empty(int(offsets[-1]), dtype=np.uint8)
    kernels.join_words(tokens.ids, tokens.offsets, vocab.data, vocab.offsets, offsets, data)
    return Texts(offsets, data)


def write(pool: Pool, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a synthetic pool as the files a decoder's user has; return their paths.

    ``list.moses.gz``, ``source.txt``, ``refs.0.txt``, ``refs.1.txt``, … and ``weights.txt``, lines of
    ``name value``.
    """
    weights = pool.provenance.get("decoder_weights")
    if weights is None or pool.references is None or pool.sources is None:
        raise LuthierError("expected a pool made by SyntheticLists, found another")
    target = Path(folder)
    make_folder(target)
    write_pool(pool, target / "list.moses.gz")
    references = list(pool.references.texts)
    n = len(references) // pool.n_sentences
    contents = {
        "source.txt": list(pool.sources),
        **{f"refs.{r}.txt": references[r::n] for r in range(n)},
        "weights.txt": [f"{name} {value!r}" for name, value in weights.items()],
    }
    for name, lines in contents.items():
        write_lines(target / name, lines)
    return [target / "list.moses.gz", *(target / name for name in contents)]
