"""One sentence of a synthetic list: its truth, its noisy source, and the decisions about it."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Bool, Float64, Int32, Int64
from luthier.synthetic.lists.language import P_NAME, Language

# The channel from truth to source: words lost, words that mean nothing, neighbours exchanged.
P_LOST, P_SPURIOUS, P_SWAP = 0.04, 0.03, 0.08
N_FUNCTION_WORDS = 12
# Kinds of options of a slot besides its candidate words: nothing; a function word besides; a lost word.
N_EXTRA = 3
# How often a decision is open at all.
P_DROP_OPTION, P_INSERT_OPTION, P_SWAP_SITE, P_JOIN_SITE = 0.3, 0.25, 0.25, 0.3
LOG_DROP, LOG_INSERT, LOG_COPY, LOG_NOT_COPY = -3.2, -3.0, -0.5, -5.0

# The features that mean something; what follows them is noise. "lm" comes first, it is not local.
NAMES = ("lm", "channel", "direct", "lex", "length", "swaps", "oov", "rules")
CHANNEL, DIRECT, LEX, LENGTH, SWAPS, OOV, RULES = range(len(NAMES) - 1)
CHANNEL_NOISE, DIRECT_NOISE, LEX_NOISE, WORTHLESS_NOISE = 0.4, 1.0, 1.2, 0.8


@dataclasses.dataclass(frozen=True, eq=False)
class Sentence:
    """A true sentence and the L slots its source offers to a decoder, in the order of the source.

    Attributes
    ----------
    truth : (n,) int32
        The words that were meant.
    source : (L,) int64
    meant : (L,) int32
        The word behind each source word, −1 where it means nothing.
    lost : (L,) int32
        A word that followed it and left no trace in the source, or −1.
    swapped : (L,) bool
        Whether this slot and the next were exchanged.
    """

    truth: Int32
    source: Int64
    meant: Int32
    lost: Int32
    swapped: Bool


@dataclasses.dataclass(frozen=True, eq=False)
class Decisions:
    """The T = 2L decisions about a sentence, as `_synthetic_kernels` wants them.

    Attributes
    ----------
    words : (L, C, 2) int32
    swap_sites : (L,) bool
    open : (2L, C) bool
        Which options there are.
    features : (2L, C, J) float64
        What an option adds to the J local features.
    """

    words: Int32
    swap_sites: Bool
    open: Bool
    features: Float64

    @property
    def n_derivations(self) -> float:
        """How many derivations there are."""
        return float(np.prod(self.open.sum(axis=1), dtype=np.float64))


def draw_sentence(language: Language, rng: np.random.Generator, length: int) -> Sentence:
    """Draw a true sentence of `length` words from the chain and send it through the channel."""
    truth = np.empty(length, dtype=np.int32)
    before = len(language.chain) - 1
    for i in range(length):
        if rng.random() < P_NAME:
            truth[i] = rng.integers(language.n_common, len(language.words))
        else:
            row = np.cumsum(np.exp(language.chain[before, : language.n_common]))
            truth[i] = np.searchsorted(row, rng.random() * row[-1], side="right")
        before = min(int(truth[i]), language.n_common)
    return _through_channel(language, rng, truth)


def _through_channel(language: Language, rng: np.random.Generator, truth: Int32) -> Sentence:
    slots: list[list[int]] = []  # [source word, word meant, word lost behind it]
    name_shift = language.n_common_sources - language.n_common
    for word in truth.tolist():
        common = word < language.n_common
        if slots and slots[-1][2] < 0 and common and rng.random() < P_LOST:
            slots[-1][2] = word
            continue
        if not common:
            slots.append([word + name_shift, word, -1])
        else:
            drawn = np.searchsorted(np.cumsum(language.source_shares[word]), rng.random())
            slots.append([int(language.sources[word, min(drawn, language.sources.shape[1] - 1)]), word, -1])
        if rng.random() < P_SPURIOUS:
            slots.append([int(rng.integers(N_FUNCTION_WORDS)), -1, -1])
    swapped = np.zeros(len(slots), dtype=np.bool_)
    for i in range(len(slots) - 1):
        if not swapped[i - 1] and rng.random() < P_SWAP:
            slots[i], slots[i + 1], swapped[i] = slots[i + 1], slots[i], True
    table = np.array(slots)
    return Sentence(
        truth,
        table[:, 0].astype(np.int64),
        table[:, 1].astype(np.int32),
        table[:, 2].astype(np.int32),
        swapped,
    )


def draw_decisions(language: Language, rng: np.random.Generator, sentence: Sentence, n_noise: int) -> Decisions:
    """Return the decisions a decoder has about a sentence; the truth is always among them."""
    n_slots, n_words = len(sentence.source), language.candidates.shape[1]
    n_options = n_words + N_EXTRA
    words = np.full((n_slots, n_options, 2), -1, dtype=np.int32)
    words[:, :n_words, 0] = _candidates(language, rng, sentence)
    usual = words[:, 0, 0]
    drop, insert, restore = n_words, n_words + 1, n_words + 2
    words[:, insert, 0] = usual
    words[:, insert, 1] = rng.integers(0, N_FUNCTION_WORDS, n_slots)
    words[:, restore, 0] = np.where(sentence.meant >= 0, sentence.meant, usual)
    words[:, restore, 1] = sentence.lost
    swap_sites, join_sites = _sites(rng, sentence.swapped)
    is_open = np.zeros((2 * n_slots, n_options), dtype=np.bool_)
    is_open[:n_slots, :n_words] = words[:, :n_words, 0] >= 0
    is_open[:n_slots, drop] = (rng.random(n_slots) < P_DROP_OPTION) | (sentence.meant < 0)
    is_open[:n_slots, insert] = rng.random(n_slots) < P_INSERT_OPTION
    is_open[:n_slots, restore] = sentence.lost >= 0
    is_open[n_slots:, 0] = True
    is_open[n_slots:, 1] = swap_sites | join_sites
    features = _features(language, rng, sentence, words, n_noise)
    _add_site_features(rng, features, swap_sites, join_sites)
    return Decisions(words, swap_sites, is_open, features)


def _candidates(language: Language, rng: np.random.Generator, sentence: Sentence) -> Int32:
    """Return the (L, C) candidate words of each slot, the meant one among them."""
    is_name = sentence.source >= language.n_common_sources
    candidates = language.candidates[np.where(is_name, 0, sentence.source)].copy()
    candidates[is_name] = -1
    candidates[is_name, 0] = sentence.meant[is_name]
    candidates[is_name, 1:3] = rng.integers(language.n_common // 20, language.n_common, (is_name.sum(), 2))
    absent = (sentence.meant >= 0) & ~(candidates == sentence.meant[:, None]).any(axis=1)
    candidates[absent, -1] = sentence.meant[absent]
    return candidates


def _sites(rng: np.random.Generator, swapped: Bool) -> tuple[Bool, Bool]:
    """Return where neighbours may be exchanged (never at two places in a row), and where joined."""
    n_slots = len(swapped)
    swap_sites = swapped.copy()
    for i in np.flatnonzero(rng.random(n_slots - 1) < P_SWAP_SITE).tolist():
        if not swap_sites[max(i - 1, 0) : i + 2].any():
            swap_sites[i] = True
    join_sites = (rng.random(n_slots) < P_JOIN_SITE) & ~swap_sites
    join_sites[-1] = False
    return swap_sites, join_sites


def _features(language: Language, rng: np.random.Generator, sentence: Sentence, words: Int32, n_noise: int) -> Float64:
    """Return the (2L, C, J) local features of the slots' options; those of the sites are 0."""
    n_slots, n_options, _ = words.shape
    first = words[:, :, 0]
    common = np.clip(first, 0, language.n_common - 1)
    is_name = (sentence.source >= language.n_common_sources)[:, None]
    source = np.where(is_name[:, 0], 0, sentence.source)
    channel = language.log_channel(source, common)
    direct = channel + language.log_prior[common] - language.log_source[source][:, None]
    copied = first >= language.n_common
    not_table = np.where(copied, LOG_COPY, LOG_NOT_COPY)
    channel, direct = (np.where(is_name, not_table, value) for value in (channel, direct))
    penalty = np.where(words[:, :, 1] >= 0, LOG_INSERT, 0.0)
    channel, direct = (np.where(first < 0, LOG_DROP, value) + penalty for value in (channel, direct))
    noise = rng.standard_normal((3, n_slots, n_options))
    features = np.zeros((2 * n_slots, n_options, len(NAMES) - 1 + n_noise))
    slots = features[:n_slots]
    slots[:, :, CHANNEL] = channel + CHANNEL_NOISE * noise[0]
    slots[:, :, DIRECT] = 0.5 * (channel + CHANNEL_NOISE * noise[0]) + 0.5 * direct + DIRECT_NOISE * noise[1]
    slots[:, :, LEX] = 0.3 * channel + LEX_NOISE * noise[2]
    slots[:, :, LENGTH] = (words >= 0).sum(axis=2)
    slots[:, :, OOV] = copied
    slots[:, :, RULES] = 1.0
    slots[:, :, len(NAMES) - 1 :] = WORTHLESS_NOISE * rng.standard_normal((n_slots, n_options, n_noise))
    return features


def _add_site_features(rng: np.random.Generator, features: Float64, swaps: Bool, joins: Bool) -> None:
    """Let an exchange count, and a join save a rule and change what the scorers of rules say."""
    taken = features[len(swaps) :, 1]  # (L, J)
    taken[swaps, SWAPS] = 1.0
    taken[joins, RULES] = -1.0
    taken[joins, DIRECT] = 0.5 * DIRECT_NOISE * rng.standard_normal(joins.sum())
    taken[joins, LEX] = 0.5 * LEX_NOISE * rng.standard_normal(joins.sum())
    n_noise = features.shape[2] - len(NAMES) + 1
    taken[joins, len(NAMES) - 1 :] = 0.5 * WORTHLESS_NOISE * rng.standard_normal((joins.sum(), n_noise))
