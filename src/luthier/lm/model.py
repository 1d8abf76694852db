"""A language model ready for questions: its words, its table, and the scores of sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int32, Int64, flat
from luthier.core.html import Shown
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.lm import _query_kernels as kernels
from luthier.lm.arpa import UNKNOWN, Arpa, without_marks
from luthier.lm.tables import Tables, build_tables

# What a piece of a sentence must remember, so that it can be put behind or before another.
#
# A state is one row of int32 (docs/symbols.md has its columns). Decoders call the kernels beside this file from
# their own; these functions are the same for Python, with every number checked.


def state_width(order: int) -> int:
    """Return the number of columns of a state: four numbers, and three for each word of a context."""
    return 4 + 3 * (order - 1)


def new_states(n: int, order: int) -> Int32:
    """Return (n, `state_width`) int32: states of no words at all."""
    states = np.zeros((n, state_width(order)), dtype=np.int32)
    states[:, kernels.CONTEXT] = kernels.NO_NODE
    return states


def begin(model: LanguageModel, states: Int32, row: int) -> None:
    """Make a state that of a sentence's beginning."""
    _check(model, states, row)
    kernels.begin_sentence(model.tables, states, row)


def append(model: LanguageModel, states: Int32, row: int, word: int) -> float:
    """Put a word behind a state; return its log10 probability given the words the state knows."""
    _check(model, states, row)
    if not 0 <= word < len(model.words):
        raise IndexError(f"expected a word from 0 to {len(model.words) - 1}, found {word}")
    return float(kernels.append_word(model.tables, states, row, word))


def join(model: LanguageModel, states: Int32, row: int, others: Int32, other: int) -> float:
    """Put a scored piece behind a state; return what its words gain, log10, by knowing the words before them."""
    _check(model, states, row)
    _check(model, others, other)
    if np.shares_memory(states[row], others[other]):
        raise ValueError("expected two states, found one to be joined with itself. hint: copy it first")
    return float(kernels.join_state(model.tables, states, row, others, other))


def key(states: Int32, row: int) -> int:
    """Return a number that two states of one model share only if they are equal."""
    return int(kernels.state_key(states, row))


def _check(model: LanguageModel, states: Int32, row: int) -> None:
    if states.dtype != np.int32 or states.ndim != 2 or states.shape[1] != state_width(model.order):
        raise ValueError(
            f"expected states of {state_width(model.order)} int32 columns, as new_states makes them for a model of "
            f"order {model.order}, found {states.dtype} of shape {states.shape}"
        )
    if not 0 <= row < len(states):
        raise IndexError(f"expected a row from 0 to {len(states) - 1}, found {row}")
    most, state = model.order - 1, states[row]
    right, left = state[kernels.RIGHT_LENGTH], state[kernels.LEFT_LENGTH]
    if not (0 <= right <= most and 0 <= left <= most and (state[kernels.FULL] or right == left < max(most, 1))):
        raise ValueError(f"expected a state that begin, append and join have made, found {state.tolist()}")
    nodes = state[4 + 2 * most : 4 + 2 * most + left]
    if len(nodes) and not (nodes.min() >= 0 and nodes.max() < len(model.tables.records)):
        raise ValueError(f"expected a state of this model, found nodes {nodes.tolist()}")


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceScores:
    """log10 probabilities of sentences, word by word.

    Attributes
    ----------
    offsets : (N+1,) int64
        Sentence i has the numbers ``offsets[i]:offsets[i+1]``, one a word and one for its end.
    probs : (T,) float64
        log10 p of each given the words before it.
    unknown : (T,) bool
        Which are words that the model does not know.
    """

    offsets: Int64
    probs: Float64
    unknown: Bool

    @property
    def totals(self) -> Float64:
        """log10 p of each sentence, (N,)."""
        return np.add.reduceat(self.probs, self.offsets[:-1]) if len(self.offsets) > 1 else np.zeros(0)


@dataclasses.dataclass(frozen=True, eq=False)
class LanguageModel:
    """An n-gram model.

    Attributes
    ----------
    order : int
        Length of the longest n-grams.
    words : Texts
        Word i; 0, 1 and 2 are <unk>, <s> and </s>.
    counts : tuple of int
        Number of n-grams of each order.
    tables : Tables
        What kernels take.
    """

    order: int
    words: Texts
    counts: tuple[int, ...]
    tables: Tables

    @classmethod
    def from_arpa(cls, arpa: Arpa) -> LanguageModel:
        """Make a model of n-grams read or estimated."""
        return cls(arpa.order, arpa.words, arpa.counts, build_tables(arpa))

    def word_ids(self, texts: Texts) -> Int64:
        """Return the number of each text as a word, (n,) int64; `UNKNOWN` for those that are none."""
        ids = Interner.of(self.words).intern_texts(texts).astype(np.int64)
        return np.where(ids < len(self.words), ids, UNKNOWN)

    def tokens(self, texts: Texts, path: str = "", *, skip_symbols: bool = False) -> Tokens:
        """Return texts as numbers of words; <s>, </s> and <unk> in them are an error with its line, or skipped."""
        tokens = without_marks(tokenize(texts, Interner.of(self.words)), path, skip=skip_symbols)
        return Tokens(tokens.offsets, np.where(tokens.ids < len(self.words), tokens.ids, UNKNOWN).astype(np.int32))

    def score(self, texts: Texts | Sequence[str]) -> SentenceScores:
        """Return the log10 probabilities of sentences with their beginnings and ends."""
        return self.score_tokens(self.tokens(texts if isinstance(texts, Texts) else Texts.from_strings(texts)))

    def score_tokens(self, tokens: Tokens) -> SentenceScores:
        """Return the log10 probabilities of sentences given as `tokens` returns them."""
        ids = tokens.ids[tokens.offsets[0] : tokens.offsets[-1]]
        if len(ids) and not (ids.min() >= 0 and ids.max() < len(self.words)):
            raise IndexError(f"expected numbers of words from 0 to {len(self.words) - 1}, found others")
        inner = tokens.offsets - tokens.offsets[0]
        offsets = inner + np.arange(len(inner))
        probs = np.empty(int(offsets[-1]), dtype=np.float64)
        kernels.score_sentences(self.tables, flat(inner), flat(ids), new_states(1, self.order), probs)
        unknown = np.zeros(len(probs), dtype=bool)
        ends = np.zeros(len(probs), dtype=bool)
        ends[offsets[1:] - 1] = True
        unknown[~ends] = ids == UNKNOWN
        return SentenceScores(offsets, probs, unknown)


# How well a model expects a text.


@dataclasses.dataclass(frozen=True)
class Perplexity(Shown):
    """10 to the mean of −log10 p over words and ends of sentences; of none, None.

    `with_unknown` counts all words; `without_unknown` leaves those out that the model does not know (they
    still stand in the contexts of others).
    """

    n_sentences: int
    n_words: int
    n_unknown: int
    log10_prob: float
    with_unknown: float | None
    without_unknown: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)


def perplexity(scores: SentenceScores) -> Perplexity:
    """Return the perplexity of a text from the scores of its words."""
    n_sentences = len(scores.offsets) - 1
    known = scores.probs[~scores.unknown]
    return Perplexity(
        n_sentences,
        len(scores.probs) - n_sentences,
        int(np.count_nonzero(scores.unknown)),
        float(scores.probs.sum()),
        _power(scores.probs),
        _power(known),
    )


def _power(logs: Float64) -> float | None:
    """Return 10^−mean; None where there is no number, or none that a double can hold."""
    mean = -float(logs.mean()) if len(logs) else np.inf
    return 10.0**mean if mean < 308 else None


def sentence_columns(scores: SentenceScores) -> dict[str, Int64 | Float64]:
    """Return what is known of each sentence: its line, words, unknown words, log10 p and perplexity."""
    n = len(scores.offsets) - 1
    lengths = np.diff(scores.offsets)
    unknown = np.diff(np.concatenate(([0], np.cumsum(scores.unknown)))[scores.offsets])
    totals = scores.totals
    with np.errstate(over="ignore"):
        powers = 10.0 ** (-totals / lengths)
    return {
        "line": np.arange(1, n + 1),
        "words": lengths - 1,
        "unknown": unknown,
        "log10_prob": totals,
        "perplexity": powers,
    }
