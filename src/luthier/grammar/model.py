"""The index of a text: its places sorted by the words that begin there, as deep as patterns reach."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.alignment.bitext import MAX_WORDS, Bitext, Side, read_bitext
from luthier.alignment.links import Links, read_links
from luthier.core.arrays import Int32, Int64, flat, frozen
from luthier.core.errors import InputError
from luthier.core.files.array_file import Arrays, open_array_folder, save_arrays, wrong_column
from luthier.core.files.io import display_name, make_folder
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus.texts import Texts, Tokens
from luthier.grammar import _index_kernels as kernels
from luthier.grammar.lexicon import Lexicon, count_links
from luthier.grammar.storage import check_offsets, texts_of


def sort_places(words: Int32, n_words: int, depth: int) -> Int32:
    """Return the places of all words, sorted by the next `depth` words, equal ones in the order of the text.

    Parameters
    ----------
    words : (P,)
        Word numbers from 1; a 0 behind every sentence, and `depth` of them at the end.
    n_words
        The largest word number.

    >>> sort_places(np.array([2, 1, 0, 1, 2, 0, 0], np.int32), 2, 2).tolist()
    [1, 3, 4, 0]
    """
    before = np.flatnonzero(words).astype(np.int32)
    after = np.empty_like(before)
    starts = np.empty(n_words + 2, dtype=np.int64)
    words = flat(words)
    for shift in range(depth - 1, -1, -1):  # a stable sort by the last word first
        kernels.sort_pass(words, shift, starts, before, after)
        before, after = after, before
    return frozen(before)


def find_chunks(words: Int32, places: Int32, text: Int32, depth: int) -> tuple[Int64, Int64]:
    """Return the range of places of every chunk of up to `depth` words of `text`, as two (len(text), depth) arrays."""
    lows = np.empty((len(text), depth), dtype=np.int64)
    highs = np.empty_like(lows)
    kernels.find_chunks(flat(words), flat(places), flat(text), lows, highs)
    return lows, highs


# What rules are looked up in: a parallel text with its links, indexed.

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
        *vocabularies,
        frozen(words),
        sort_places(words, len(vocabularies[0]) - 1, depth),
        frozen(sentence),
        frozen(starts),
        target.offsets,
        target.ids,
        source_low,
        source_high,
        target_low,
        target_high,
        frozen(offsets_from_counts(np.bincount(from_place, minlength=len(words)))),
        frozen(links.target.astype(np.int16)),
        lexicon,
        depth,
    )


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
                expected="words that cannot be taken for the signs of a grammar",
                found=repr(word),
                path=display_name(side) if isinstance(side, str | os.PathLike) else "",
                line=int(np.searchsorted(tokens.offsets, place, side="right")),
                hint="write brackets and bars otherwise, such as &#91; &#93; &#124;",
            )


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


# A model on disk: a folder that is mapped into memory, so that it opens at once.

KIND = "rule model 1"
FILE = "rules.luthier"
COLUMNS = {
    "words": "<i4",
    "places": "<i4",
    "sentence": "<i4",
    "source_start": "<i8",
    "target_start": "<i8",
    "target": "<i4",
    "source_low": "<i2",
    "source_high": "<i2",
    "target_low": "<i2",
    "target_high": "<i2",
    "link_offsets": "<i8",
    "link_target": "<i2",
}
LEXICON = {
    "offsets": "<i8",
    "targets": "<i4",
    "counts": "<i4",
    "source_null": "<i4",
    "target_null": "<i4",
    "source_total": "<i8",
    "target_total": "<i8",
}


def save_model(model: Model, folder: str | os.PathLike[str]) -> None:
    """Write a model into a folder, which is made if it is not there."""
    make_folder(folder)
    arrays: Arrays = {name: getattr(model, name) for name in COLUMNS}
    arrays |= {f"lexicon_{name}": getattr(model.lexicon, name) for name in LEXICON}
    for name in ("source_words", "target_words"):
        texts = getattr(model, name)
        arrays |= {f"{name}_offsets": texts.offsets, f"{name}_data": texts.data}
    save_arrays(Path(folder, FILE), KIND, arrays, {"depth": model.depth})


def open_model(folder: str | os.PathLike[str]) -> Model:
    """Map a model into memory.

    Raises
    ------
    InputError
        No model in the folder, one of another version, cut off or changed, or with numbers that no model has.
    """
    name = display_name(Path(folder, FILE))
    hint = "'luthier engine extract' makes it from a parallel text and its links"
    arrays, about = open_array_folder(folder, FILE, KIND, holds="a model", hint=hint)
    columns = COLUMNS | {f"lexicon_{column}": dtype for column, dtype in LEXICON.items()}
    if wrong := wrong_column(arrays, {column: (dtype, 1) for column, dtype in columns.items()}):
        raise _fault(name, wrong)
    depth = about.get("depth")
    if type(depth) is not int or not 1 <= depth <= DEEPEST:
        raise _fault(name, f"a depth of {depth!r}")
    lexicon = Lexicon(*(arrays[f"lexicon_{column}"] for column in LEXICON))
    model = Model(
        texts_of(arrays, "source_words", name),
        texts_of(arrays, "target_words", name),
        lexicon=lexicon,
        depth=depth,
        **{column: arrays[column] for column in COLUMNS},
    )
    _check(model, name)
    return model


def _check(model: Model, name: str) -> None:
    """Raise `InputError` for the first number that a kernel could stumble over."""
    m, n, size = model, model.n_pairs, len(model.words)
    n_source, n_target = len(m.source_words), len(m.target_words)
    check_offsets(m.source_start, size - m.depth, "source sentences", name)
    check_offsets(m.target_start, len(m.target), "target sentences", name)
    check_offsets(m.link_offsets, len(m.link_target), "links", name)
    check_offsets(m.lexicon.offsets, len(m.lexicon.targets), "the lexicon", name)
    lengths = {
        "sentence": size,
        "source_low": size,
        "source_high": size,
        "target_low": len(m.target),
        "target_high": len(m.target),
        "target_start": n + 1,
        "link_offsets": size + 1,
    }
    if any(len(getattr(m, column)) != length for column, length in lengths.items()):
        raise _fault(name, "columns of unequal length")
    sizes = {"offsets": n_source + 1, "counts": len(m.lexicon.targets), "source_null": n_source}
    sizes |= {"target_null": n_target, "source_total": n_source, "target_total": n_target}
    if any(len(getattr(m.lexicon, column)) != length for column, length in sizes.items()):
        raise _fault(name, "a lexicon with columns of unequal length")
    _within(m.words, 0, n_source, "words", name)
    _within(m.target, 1, n_target, "words", name)
    _within(m.lexicon.targets, 1, n_target, "words of the lexicon", name)
    _within(m.places, 0, size, "places", name)
    ends = m.source_start[1:] - 1
    if (np.diff(m.source_start) < 1).any() or m.words[ends].any() or m.words[size - m.depth :].any():
        raise _fault(name, "sentences without an end")
    own = np.zeros(size, dtype=np.int32)
    own[: size - m.depth] = np.repeat(np.arange(n, dtype=np.int32), np.diff(m.source_start))
    if not np.array_equal(own, m.sentence):
        raise _fault(name, "places in the wrong sentence")
    source_lengths, target_lengths = np.diff(m.source_start) - 1, np.diff(m.target_start)
    of_target = np.repeat(np.arange(n), target_lengths)
    _spans(m.source_low, m.source_high, target_lengths[own] if n else own, name)
    _spans(m.target_low, m.target_high, source_lengths[of_target], name)
    limits = np.repeat(target_lengths[own] if n else own, np.diff(m.link_offsets))
    if (m.link_target < 0).any() or (m.link_target >= limits).any():
        raise _fault(name, "links out of range")


def _within(values: npt.NDArray[Any], low: int, high: int, what: str, name: str) -> None:
    if len(values) and not (low <= values.min() and values.max() < high):
        raise _fault(name, f"{what} out of range")


def _spans(low: npt.NDArray[Any], high: npt.NDArray[Any], limits: npt.NDArray[Any], name: str) -> None:
    linked = low >= 0
    if (high[linked] <= low[linked]).any() or (high > limits).any() or (low < -1).any() or (high[~linked] != -1).any():
        raise _fault(name, "spans of links out of range")


def _fault(name: str, found: str) -> InputError:
    return InputError(
        expected="a whole model of rules", found=found, path=name, hint="make it again: luthier engine extract"
    )
