"""What a metric looks at: hypotheses of many sentences, beside the references of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int32, Int64, frozen
from luthier.core.errors import LuthierError, warn
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.tokenizers import line_tokenizer, tokenization_warning
from luthier.corpus.vocab import Interner, tokenize
from luthier.metrics import _chrf_kernels as kernels

WhiteSpace = Literal["drop", "keep", "single"]
BLOCK_ROWS = 1 << 13
_MODES = {"drop": kernels.DROP_SPACE, "keep": kernels.KEEP_SPACE, "single": kernels.SINGLE_SPACE}


@dataclasses.dataclass(frozen=True, eq=False)
class Sentences:
    """Some consecutive sentences: where their hypotheses and their references lie, (n+1,) each."""

    offsets: Int64
    ref_offsets: Int64


class Side(NamedTuple):
    """The texts of one side, as kernels take them.

    Attributes
    ----------
    offsets : (N+1,) int64
        Texts ``offsets[s]:offsets[s+1]`` are of sentence s.
    starts, ids : (T+1,) int64, int32
        Text r has the tokens ``ids[starts[r]:starts[r+1]]``.
    """

    offsets: Int64
    starts: Int64
    ids: Int32


@dataclasses.dataclass(frozen=True, eq=False)
class Numbered:
    """Tokens of hypotheses and references, as numbers in one vocabulary of V texts."""

    hyps: Tokens
    refs: Tokens
    vocab: Texts

    def mapped(self, function: Callable[[str], str]) -> Numbered:
        """Return the same sequences with every token replaced; equal results share a number."""
        interner = Interner()
        ids = interner.intern_texts(Texts.from_strings(function(word) for word in self.vocab))
        return Numbered(self.hyps.renumbered(ids), self.refs.renumbered(ids), interner.texts())


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """M hypotheses of N sentences and their references.

    Attributes
    ----------
    hyps : M texts
    offsets : (N+1,) int64
        Rows ``offsets[i]:offsets[i+1]`` are the hypotheses of sentence i.
    refs : texts
    ref_offsets : (N+1,) int64
        Sentence i has the references ``ref_offsets[i]:ref_offsets[i+1]``.
    columns : name → (M,) float64
        Given numbers, one per hypothesis.
    given : Numbered, optional
        The tokens of `hyps` and `refs`, split at white space, where somebody has them already.
    """

    hyps: Texts
    offsets: Int64
    refs: Texts
    ref_offsets: Int64
    columns: Mapping[str, Float64] = dataclasses.field(default_factory=dict)
    given: Numbered | None = None
    _known: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("offsets", "ref_offsets"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            object.__setattr__(self, name, frozen(array))
        _check_offsets("hypotheses", self.offsets, len(self.hyps))
        _check_offsets("references", self.ref_offsets, len(self.refs))
        _check_count("sentences with references", len(self.offsets) - 1, len(self.ref_offsets) - 1)
        for name, column in self.columns.items():
            _check_count(f"values of column {name!r}", len(self.hyps), len(column))
        if self.given is not None:
            _check_count("token rows of hypotheses", len(self.hyps), len(self.given.hyps))
            _check_count("token rows of references", len(self.refs), len(self.given.refs))

    @classmethod
    def of(
        cls,
        *,
        texts: Texts,
        offsets: npt.ArrayLike,
        references: Texts | None = None,
        reference_offsets: npt.ArrayLike | None = None,
        tokens: Numbered | None = None,
        columns: Mapping[str, Float64] | None = None,
    ) -> Batch:
        """Put together the pieces of a pool; without references only given columns can be scored."""
        offsets = np.asarray(offsets, dtype=np.int64)
        if references is None or reference_offsets is None:
            references, reference_offsets = Texts.from_strings([]), np.zeros(len(offsets), np.int64)
        ref_offsets = np.asarray(reference_offsets, dtype=np.int64)
        return cls(texts, offsets, references, ref_offsets, columns or {}, tokens)

    @classmethod
    def from_lines(cls, hyps: Sequence[str] | Texts, refs: Sequence[Sequence[str] | Texts]) -> Batch:
        """Pair one hypothesis per sentence with R streams of references.

        >>> batch = Batch.from_lines(["a b"], [["a c"], ["b"]])
        >>> list(batch.refs), batch.ref_offsets.tolist()
        (['a c', 'b'], [0, 2])
        """
        column = _texts(hyps)
        streams = [_texts(stream) for stream in refs]
        for r, stream in enumerate(streams):
            _check_count(f"lines in reference stream {r}", len(column), len(stream))
        n = len(column)
        order = np.arange(n * len(streams)).reshape(len(streams), n).T.reshape(-1)
        together = Texts.concatenate(streams).take(order)
        return cls(column, np.arange(n + 1), together, np.arange(n + 1) * len(streams))

    @property
    def n_sentences(self) -> int:
        """How many sentences, N."""
        return len(self.offsets) - 1

    @property
    def n_hypotheses(self) -> int:
        """How many hypotheses, M."""
        return len(self.hyps)

    @property
    def ref_counts(self) -> Int64:
        """Number of references of each sentence, (N,)."""
        return np.diff(self.ref_offsets)

    def numbered(self, tokenizer: str = "none", *, lowercase: bool = False) -> Numbered:
        """Return all tokens in one vocabulary: white space split as `str.split` does.

        A `tokenizer` other than ``none`` (see `luthier.corpus.tokenizers`) rewrites the texts before;
        each distinct text is rewritten once. What was made is kept for the next call.
        """
        self._check_references()
        key = ("numbered", tokenizer, lowercase)
        if key not in self._known:
            self._known[key] = self._number(tokenizer, lowercase=lowercase)
        result: Numbered = self._known[key]
        return result

    def tokens(self, tokenizer: str = "none", *, lowercase: bool = False) -> tuple[Tokens, Tokens]:
        """Return the tokens of hypotheses and references, in one vocabulary; see `numbered`."""
        if tokenizer == "none":
            self._warn_of_raw_text()
        numbered = self.numbered(tokenizer, lowercase=lowercase)
        return numbered.hyps, numbered.refs

    def characters(self, whitespace: WhiteSpace = "drop", *, lowercase: bool = False) -> tuple[Tokens, Tokens]:
        """Return the code points of hypotheses and references.

        White space is left out (``drop``), kept as it stands (``keep``), or one space between words
        (``single``).
        """
        self._check_references()
        key = ("characters", whitespace, lowercase)
        if key not in self._known:
            self._known[key] = tuple(
                _code_points(_lowered(texts) if lowercase else texts, _MODES[whitespace])
                for texts in (self.hyps, self.refs)
            )
        result: tuple[Tokens, Tokens] = self._known[key]
        return result

    def rewritten(self, function: Callable[[str], str]) -> Batch:
        """Return the batch of ``function(text)``, called once for each distinct text."""
        interner = Interner()
        hyps, refs = interner.intern_texts(self.hyps), interner.intern_texts(self.refs)
        distinct = Texts.from_strings(function(text) for text in interner.texts())
        return dataclasses.replace(self, hyps=distinct.take(hyps), refs=distinct.take(refs), given=None)

    def _warn_of_raw_text(self) -> None:
        """Say once if words are compared of texts that were not split into words, or not alike."""
        if "looked at" not in self._known:
            self._known["looked at"] = tokenization_warning(self.hyps, self.refs)
            if self._known["looked at"]:
                warn(self._known["looked at"], stacklevel=4)

    def _number(self, tokenizer: str, *, lowercase: bool) -> Numbered:
        if tokenizer != "none":
            split = line_tokenizer(tokenizer)
            lowered = self.rewritten(lambda text: split(text.lower() if lowercase else text))
            return lowered.numbered()
        if lowercase:
            # Whether a capital sigma is final depends on its own word only, so words can be lowered
            # one by one, and each of them once.
            return self.numbered().mapped(str.lower)
        if self.given is not None:
            return self.given
        vocab = Interner()
        refs, hyps = _tokenize_blocks(self.refs, vocab), _tokenize_blocks(self.hyps, vocab)
        return Numbered(hyps, refs, vocab.texts())

    def _check_references(self) -> None:
        without = np.flatnonzero((self.ref_counts == 0) & (np.diff(self.offsets) > 0))
        if len(without):
            raise LuthierError(
                f"expected at least one reference for each sentence, found none for sentence {without[0]} "
                f"({len(without)} such, counted from 0). hint: give references"
            )


def _texts(lines: Sequence[str] | Texts) -> Texts:
    return lines if isinstance(lines, Texts) else Texts.from_strings(lines)


def _check_offsets(what: str, offsets: Int64, count: int) -> None:
    if not len(offsets) or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
        raise LuthierError(f"offsets of {what} must start at 0 and never descend")
    _check_count(what, int(offsets[-1]), count)


def _check_count(what: str, expected: int, found: int) -> None:
    if expected != found:
        raise LuthierError(f"expected {expected} {what}, found {found}")


def _tokenize_blocks(texts: Texts, vocab: Interner) -> Tokens:
    """Split a column block by block: the spans between bytes and ids then never leave the cache."""
    starts = range(0, len(texts), BLOCK_ROWS)
    blocks = (Texts(texts.offsets[i : i + BLOCK_ROWS + 1], texts.data) for i in starts)
    return Tokens.concatenate([tokenize(block, vocab) for block in blocks])


def _code_points(texts: Texts, mode: int) -> Tokens:
    offsets = np.empty(len(texts) + 1, dtype=np.int64)
    points: Int32 = np.empty(int(texts.offsets[-1] - texts.offsets[0]), dtype=np.int32)
    used = kernels.code_points(texts.data, texts.offsets, mode, offsets, points)
    return Tokens(offsets, points[:used])


def _lowered(texts: Texts) -> Texts:
    """Return every text as `str.lower` makes it; plain ASCII does not leave its bytes."""
    data = texts.data[texts.offsets[0] : texts.offsets[-1]]
    if not len(data) or data.max() < 128:
        capital = (data >= 65) & (data <= 90)
        return Texts(offsets_from_counts(texts.lengths), data + 32 * capital.astype(np.uint8))
    interner = Interner()
    ids = interner.intern_texts(texts)
    return Texts.from_strings(text.lower() for text in interner.texts()).take(ids)


def sides(sentences: Batch | Sentences, hyps: Tokens, refs: Tokens) -> tuple[Side, Side]:
    """Return hypotheses and references of sentences, in one vocabulary, as kernels take them."""
    return Side(sentences.offsets, hyps.offsets, hyps.ids), Side(sentences.ref_offsets, refs.offsets, refs.ids)
