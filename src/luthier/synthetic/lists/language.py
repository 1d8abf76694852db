"""A synthetic language and its noisy translation: the ground on which synthetic lists stand.

Common words follow Zipf's law and a class-based bigram chain with favourite successors. Words of one
meaning are synonyms. A meaning is expressed in the source language by one of several words, each of
which represents several meanings: that is the ambiguity a decoder has to resolve. Names are words
beyond every model's vocabulary, the same in both languages.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int32, Int64
from luthier.synthetic.words import invent_words

N_NAMES = 300
N_CLASSES = 16
N_FAVOURITES = 8
# Shares of the bigram distribution: what follows the class, the word itself, anything.
CLASS_SHARE, FAVOURITE_SHARE, ANY_SHARE = 0.30, 0.60, 0.10
P_NAME, P_END = 0.02, 0.05
# How likely a meaning is expressed by its first, second, … source word.
SOURCE_SHARES = (0.70, 0.16, 0.09, 0.05)
LM_NOISE = 0.4

TARGET_SOUNDS = ([*"bdfgklmnprstvz", "br", "tr", "st", "pl"], [*"aeiou", "ai", "ou"], ["", "n", "r", "s"])
SOURCE_SOUNDS = ([*"hjkwqxy", "ts", "kh", "sh", "th"], [*"aeoüö", "ää", "ei"], ["", "k", "m", "tt", "sh"])


@dataclasses.dataclass(frozen=True, eq=False)
class Language:
    """Words and tables of V common words, and what represents them in the source language.

    Attributes
    ----------
    words, source_words
        Common words first, by frequency; then names, the same ones in both.
    meanings : (V,) int32
        Words of one meaning are synonyms; the most usual source word of meaning k is word k.
    log_prior : (V,) float64
        log p(word).
    chain : (V+2, V+2) float64
        log p(next word | word); column and row V are any name, V+1 the sentence's boundary.
    scorer : (V+2, V+2) float64
        The same as an imperfect language model knows it.
    sources : (V, A) int32; source_shares : (V, A) float64
        The source words of each word, with p(source word | word).
    candidates : (number of source words without names, C) int32
        The likeliest words behind each source word, −1 where there are fewer.
    log_source : log p(source word)
    """

    words: list[str]
    source_words: list[str]
    meanings: Int32
    log_prior: Float64
    chain: Float64
    scorer: Float64
    sources: Int32
    source_shares: Float64
    candidates: Int32
    log_source: Float64

    @property
    def n_common(self) -> int:
        """How many common words there are, V."""
        return len(self.meanings)

    @property
    def n_common_sources(self) -> int:
        """How many source words are not names."""
        return len(self.candidates)

    def synonym(self, word: int, rng: np.random.Generator) -> int:
        """Return a random word of the same meaning, perhaps the word itself; a name is its own."""
        if word >= self.n_common:
            return word
        return int(rng.choice(np.flatnonzero(self.meanings == self.meanings[word])))

    def log_channel(self, source: Int64, words: Int32) -> Float64:
        """Return log p(source word | word) for common words (L, C) behind source words (L,)."""
        same = self.sources[words] == source[:, None, None]  # (L, C, A)
        log_shares: Float64 = np.log(np.maximum((self.source_shares[words] * same).sum(axis=2), 1e-4))
        return log_shares


def make_language(rng: np.random.Generator, *, vocabulary: int, n_candidates: int) -> Language:
    """Invent a language of `vocabulary` common words."""
    prior: Float64 = 1.0 / (np.arange(vocabulary, dtype=np.float64) + 2.7)
    prior /= prior.sum()
    meanings = _meanings(vocabulary, rng)
    n_meanings = int(meanings.max()) + 1
    chain = _chain(prior, rng.integers(0, N_CLASSES, n_meanings)[meanings], rng)
    sources, shares = _sources(meanings, n_meanings, rng)
    joint = np.zeros((n_meanings, vocabulary))  # p(source word, word)
    for a in range(sources.shape[1]):
        np.add.at(joint, (sources[:, a], np.arange(vocabulary)), prior * shares[:, a])
    candidates = np.argsort(-joint, axis=1, kind="stable")[:, :n_candidates].astype(np.int32)
    candidates[np.take_along_axis(joint, candidates.astype(np.int64), axis=1) <= 0] = -1
    names = [name.capitalize() for name in invent_words(N_NAMES, TARGET_SOUNDS, rng, syllables=3)]
    return Language(
        words=invent_words(vocabulary, TARGET_SOUNDS, rng) + names,
        source_words=invent_words(n_meanings, SOURCE_SOUNDS, rng) + names,
        meanings=meanings,
        log_prior=np.log(prior),
        chain=chain,
        scorer=chain + LM_NOISE * rng.standard_normal(chain.shape),
        sources=sources,
        source_shares=shares,
        candidates=candidates,
        log_source=np.log(joint.sum(axis=1)),
    )


def _meanings(vocabulary: int, rng: np.random.Generator) -> Int32:
    """Group words of like frequency into meanings of one to three words."""
    near = np.argsort(np.arange(vocabulary) + rng.uniform(0, 1 + np.arange(vocabulary) / 4))
    sizes = rng.choice([1, 2, 3], size=vocabulary, p=[0.65, 0.27, 0.08])
    meanings = np.empty(vocabulary, dtype=np.int32)
    meanings[near] = np.repeat(np.arange(vocabulary, dtype=np.int32), sizes)[:vocabulary]
    return meanings


def _chain(prior: Float64, classes: Int64, rng: np.random.Generator) -> Float64:
    """Return the logarithm of the bigram table, (V+2, V+2)."""
    vocabulary = len(prior)
    membership = np.zeros((N_CLASSES, vocabulary))
    membership[classes, np.arange(vocabulary)] = prior
    members = membership.sum(axis=1, keepdims=True)
    within = np.divide(membership, members, out=np.zeros_like(membership), where=members > 0)
    # Row N_CLASSES: after a name, and at the start of a sentence.
    order = rng.dirichlet(np.full(N_CLASSES, 0.3), size=N_CLASSES + 1) @ within  # (classes + 1, V)
    rows = np.append(classes, [N_CLASSES, N_CLASSES])
    favourite = np.zeros((vocabulary + 2, vocabulary))
    chosen = rng.choice(vocabulary, size=(vocabulary + 2, N_FAVOURITES), p=prior**0.75 / (prior**0.75).sum())
    shares = rng.dirichlet(np.full(N_FAVOURITES, 0.6), size=vocabulary + 2)
    np.add.at(favourite, (np.arange(vocabulary + 2)[:, None], chosen), shares)
    table = np.empty((vocabulary + 2, vocabulary + 2))
    table[:, :vocabulary] = CLASS_SHARE * order[rows] + FAVOURITE_SHARE * favourite + ANY_SHARE * prior
    table[:, :vocabulary] *= (1 - P_NAME - P_END) / table[:, :vocabulary].sum(axis=1, keepdims=True)
    table[:, vocabulary], table[:, vocabulary + 1] = P_NAME, P_END
    return np.log(table)


def _sources(meanings: Int32, n_meanings: int, rng: np.random.Generator) -> tuple[Int32, Float64]:
    """Return the source words of each word and how often it is expressed by each."""
    n_shares = len(SOURCE_SHARES)
    near = np.arange(n_meanings)[:, None] + np.rint(rng.normal(0, 12, (n_meanings, n_shares)))
    near[:, 0] = np.arange(n_meanings)
    of_meaning = (np.abs(near) % n_meanings).astype(np.int32)
    shares = np.array(SOURCE_SHARES) * rng.uniform(0.5, 1.5, (len(meanings), n_shares))
    return of_meaning[meanings], shares / shares.sum(axis=1, keepdims=True)
