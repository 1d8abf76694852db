"""What rules are looked up in: a parallel text with its links, indexed."""

from __future__ import annotations

import dataclasses
import os
import re

import numpy as np

from luthier.alignment.bitext import MAX_WORDS, Bitext, Side, read_bitext
from luthier.alignment.links import Links, read_links
from luthier.core.arrays import Int32, Int64, frozen
from luthier.core.errors import InputError
from luthier.core.files.io import display_name
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus.texts import Texts, Tokens
from luthier.grammar.indexing.index import sort_places
from luthier.grammar.indexing.lexicon import Lexicon, count_links

LIKE_A_SYMBOL = re.compile(r"\|\|\||\[[^\]]*,[0-9]+\]|\[X\]\[X\]")
DEEPEST = 8  # the most words of a chunk: Limits.max_symbols


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """N sentence pairs in which occurrences are found and projected.

    Places count through the whole source text, in which a 0 stands behind every sentence; word numbers begin at 1.

    Attributes
    ----------
    source_words, target_words : Texts
        The words by number; number 0 is the empty text.
    words : (P,) int32
        The source text.
    places : (T,) int32
        The places of its words, sorted by the next `depth` words.
    sentence : (P,) int32
        The sentence of each place.
    source_start, target_start : (N+1,) int64
        Where each sentence begins.
    target : (T',) int32
        The target text, without anything between its sentences.
    source_low, source_high : (P,) int16
        The span of the target words a source word is linked with, within its sentence; −1, −1 for none.
    target_low, target_high : (T',) int16
        The same the other way.
    link_offsets : (P+1,) int64
    link_target : (L,) int16
        The target words of each place.
    lexicon : Lexicon
    """

    source_words: Texts
    target_words: Texts
    words: Int32
    places: Int32
    sentence: Int32
    source_start: Int64
    target_start: Int64
    target: Int32
    source_low: np.ndarray
    source_high: np.ndarray
    target_low: np.ndarray
    target_high: np.ndarray
    link_offsets: Int64
    link_target: np.ndarray
    lexicon: Lexicon
    depth: int

    @property
    def n_pairs(self) -> int:
        """The number of sentence pairs."""
        return len(self.source_start) - 1


def make_model(bitext: Bitext, links: Links, *, depth: int = 5) -> Model:
    """Index a parallel text whose words are numbered from 1 (0 is no word); pairs that are not kept count as empty."""
    source, target, links = _kept(bitext, links)
    vocabularies = bitext.source_words, bitext.target_words
    n = len(source)
    starts = source.offsets - source.offsets[0] + np.arange(n + 1)
    words = np.zeros(int(starts[-1]) + depth, dtype=np.int32)
    at = np.arange(len(source.ids)) + segment_of_rows(source.offsets)
    words[at] = source.ids
    pair = segment_of_rows(links.offsets)
    from_place, to_place = starts[pair] + links.source, target.offsets[pair] + links.target
    source_low, source_high = _hulls(from_place, links.target, len(words))
    target_low, target_high = _hulls(to_place, links.source, len(target.ids))
    lexicon = count_links(
        (words[from_place], target.ids[to_place]),
        (source.ids[source_low[at] < 0], target.ids[target_low < 0]),
        (len(vocabularies[0]), len(vocabularies[1])),
    )
    sentence = np.zeros(len(words), dtype=np.int32)
    sentence[: starts[-1]] = np.repeat(np.arange(n, dtype=np.int32), np.diff(starts))
    return Model(
        *vocabularies, frozen(words), sort_places(words, len(vocabularies[0]) - 1, depth), frozen(sentence),
        frozen(starts), target.offsets, target.ids, source_low, source_high, target_low, target_high,
        frozen(offsets_from_counts(np.bincount(from_place, minlength=len(words)))),
        frozen(links.target.astype(np.int16)), lexicon, depth,
    )  # fmt: skip


def read_model(
    source: Side, target: Side, links: str | os.PathLike[str] | Links, *, depth: int = 5, max_words: int = MAX_WORDS
) -> tuple[Model, Bitext]:
    """Read and index a parallel text and its links; return the text too, which knows what was left out."""
    no_word = Texts.from_strings([""])
    bitext = read_bitext(source, target, max_words=max_words, known=(no_word, no_word))
    for side, tokens, words in (
        (source, bitext.source, bitext.source_words),
        (target, bitext.target, bitext.target_words),
    ):
        _check_words(side, tokens, words)
    if not isinstance(links, Links):
        links = read_links(links, bitext.source.lengths, bitext.target.lengths)
    return make_model(bitext, links, depth=depth), bitext


def _check_words(side: Side, tokens: Tokens, words: Texts) -> None:
    """Raise for a word that a grammar would take for a gap or a separator."""
    first = np.append(words.data, np.uint8(0))[words.offsets[:-1]]
    suspects = np.flatnonzero((first == ord("[")) | (first == ord("|")))
    for number in suspects[words.lengths[suspects] > 0]:
        word = words[int(number)]
        if LIKE_A_SYMBOL.fullmatch(word):
            place = int(np.argmax(tokens.ids == number))
            raise InputError(
                expected="words that cannot be taken for the signs of a grammar", found=repr(word),
                path=display_name(side) if isinstance(side, str | os.PathLike) else "",
                line=int(np.searchsorted(tokens.offsets, place, side="right")),
                hint="write brackets and bars otherwise, such as &#91; &#93; &#124;",
            )  # fmt: skip


def _kept(bitext: Bitext, links: Links) -> tuple[Tokens, Tokens, Links]:
    """Return the text and its links with nothing in the pairs that are left out."""
    if len(bitext.kept) == len(bitext):
        return bitext.source, bitext.target, links
    keep = np.zeros(len(bitext), dtype=bool)
    keep[bitext.kept] = True
    source, target = (
        Tokens(offsets_from_counts(side.lengths * keep), side.ids[keep[segment_of_rows(side.offsets)]])
        for side in (bitext.source, bitext.target)
    )
    rows = keep[segment_of_rows(links.offsets)]
    return source, target, Links(offsets_from_counts(links.counts * keep), links.source[rows], links.target[rows])


def _hulls(places: Int64, others: Int32, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return of each place the first of the words it is linked with and the place behind the last, −1 for none."""
    low = np.full(size, np.iinfo(np.int16).max, dtype=np.int16)
    high = np.full(size, -1, dtype=np.int16)
    np.minimum.at(low, places, others.astype(np.int16))
    np.maximum.at(high, places, (others + 1).astype(np.int16))
    low[high < 0] = -1
    return frozen(low), frozen(high)
