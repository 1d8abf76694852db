"""Sentence ids while lists are read: which sentence a line belongs to, and whether it may come there."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from luthier.core.arrays import Bool, Int32, Int64
from luthier.core.errors import InputError, LuthierWarning, excerpt
from luthier.core.files.io import display_name
from luthier.core.segments import offsets_from_counts
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, SentenceData

# Which sentences there are, and what is known of each: references and sources from files or lists.

RefPath = str


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceTable:
    """Sentences known before any list is read, in the order the pool will have.

    Attributes
    ----------
    ids : N texts
    references : ragged texts, `reference_offsets` (N+1,), or None
    sources : N texts, or None
    """

    ids: Texts
    references: Texts | None = None
    reference_offsets: Int64 | None = None
    sources: Texts | None = None


def read_sentence_table(
    refs: Sequence[RefPath], source: RefPath | None, *, first_id: int, keyed: bool
) -> SentenceTable | None:
    """Read references and sources, a line per sentence; None where neither is given.

    Line i is the sentence with id `first_id` + i; with `keyed`, each line begins with its id, as in the
    ``text`` files of speech recognition.
    """
    paths = [*refs, *([source] if source else [])]
    if not paths:
        return None
    columns = [read_lines(path) for path in paths]
    if keyed:
        ids, columns = _split_keys(paths, columns)
    else:
        _check_lengths(paths, columns)
        ids = Texts.from_strings(str(first_id + i) for i in range(len(columns[0])))
    sources = columns.pop() if source else None
    if not columns:
        return SentenceTable(ids, sources=sources)
    n, r = len(ids), len(columns)
    together = Texts.concatenate(columns)
    order = np.arange(n * r).reshape(r, n).T.reshape(-1)  # all references of a sentence side by side
    return SentenceTable(ids, together.take(order), offsets_from_counts([r] * n), sources)


def _check_lengths(paths: Sequence[str], columns: Sequence[Texts]) -> None:
    for path, column in zip(paths[1:], columns[1:], strict=True):
        if len(column) != len(columns[0]):
            shorter = min(len(column), len(columns[0]))
            raise InputError(
                expected=f"{len(columns[0])} lines, as in {display_name(paths[0])}",
                found=str(len(column)),
                path=display_name(path),
                line=shorter + 1,
                kind="lengths",
                hint="references and sources must have one line for each sentence, in the same order",
            )


def _split_keys(paths: Sequence[str], columns: Sequence[Texts]) -> tuple[Texts, list[Texts]]:
    keyed: list[dict[str, str]] = []
    for path, column in zip(paths, columns, strict=True):
        table: dict[str, str] = {}
        for line, text in enumerate(column, start=1):
            key, _, rest = text.strip().partition(" ")
            if not key or key in table:
                raise InputError(
                    expected="a sentence id at the start of the line, each only once",
                    found=f"{key!r} again" if key else "an empty line",
                    path=display_name(path),
                    line=line,
                    kind="keys",
                )
            table[key] = rest.strip()
        keyed.append(table)
    for path, table in zip(paths[1:], keyed[1:], strict=True):
        differing = sorted(set(table) ^ set(keyed[0]))
        if differing:
            raise InputError(
                expected=f"the same sentence ids as in {display_name(paths[0])}",
                found=f"{differing[0]!r} in only one of them",
                path=display_name(path),
                kind="keys",
            )
    ids = list(keyed[0])
    return Texts.from_strings(ids), [Texts.from_strings(table[key] for key in ids) for table in keyed]


# Sources and references that lists carry themselves, gathered by sentence id.

V = TypeVar("V")


class SideData:
    """What lists say of their sentences; two lists must not say different things."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}
        self._references: dict[str, tuple[str, ...]] = {}

    def add(self, data: SentenceData, path: str) -> None:
        """Take what one block says."""
        for i, sentence in enumerate(data.ids):
            if data.sources is not None and data.sources[i]:
                self._note(self._sources, sentence, data.sources[i], "source", path)
            if data.references is not None and data.reference_offsets is not None:
                start, stop = data.reference_offsets[i], data.reference_offsets[i + 1]
                refs = tuple(data.references[r] for r in range(start, stop))
                if refs:
                    self._note(self._references, sentence, refs, "references", path)

    @staticmethod
    def _note(table: dict[str, V], sentence: str, value: V, what: str, path: str) -> None:
        if table.setdefault(sentence, value) != value:
            raise InputError(
                expected=f"the same {what} for sentence {sentence!r} throughout",
                found=f"{value!r} after {table[sentence]!r}",
                path=path,
                kind="sentence-data",
            )

    def table(self, ids: Texts, known: SentenceTable | None) -> SentenceTable:
        """Return what is known of the sentences `ids`; what was given in files goes before.

        Raises
        ------
        InputError
            When the lists give references for some of the sentences only.
        """
        sources, references, offsets = None, None, None
        if known is not None:
            sources, references, offsets = known.sources, known.references, known.reference_offsets
        if references is not None and self._references:
            warnings.warn(
                "the references inside the list are skipped: references were given beside it",
                LuthierWarning,
                stacklevel=3,
            )
        elif self._references:
            names = list(ids)
            missing = [name for name in names if name not in self._references]
            if missing:
                raise InputError(
                    expected="references for all sentences or for none",
                    found=f"none for sentence {missing[0]!r} ({len(missing)} such)",
                    kind="sentence-data",
                    hint="give the references as files, with `refs`",
                )
            lists = [self._references[name] for name in names]
            references = Texts.from_strings(text for refs in lists for text in refs)
            offsets = offsets_from_counts([len(refs) for refs in lists])
        if sources is None and self._sources:
            sources = Texts.from_strings(self._sources.get(name, "") for name in ids)
        return SentenceTable(ids, references, offsets, sources)


# A longer run of digits is a name, not a number.
MOST_DIGITS = 18


def is_number(name: str) -> bool:
    """Return whether a sentence id is a whole number."""
    return name.isascii() and name.isdigit() and len(name) <= MOST_DIGITS


class SentenceNumbers:
    """Numbers sentences: as the references do, or else in the order of first appearance."""

    def __init__(self, known: SentenceTable | None, *, by_source: bool = False) -> None:
        keys = None if known is None else known.sources if by_source else known.ids
        self.interner = Interner() if keys is None else Interner.of(keys)
        self.n_known = None if keys is None else len(keys)
        self.by_source = by_source
        if len(self.interner) < (self.n_known or 0):
            raise InputError(
                expected="sources that differ, as sentences are told apart by them",
                found=f"{self.n_known} of which only {len(self.interner)} differ",
                kind="keys",
                hint="give the rows an id",
            )

    def of_block(self, bad: BadLines, block: Block, path: str) -> tuple[Int32, Bool]:
        """Return the sentence of each row, and which rows have one."""
        sentences = self.interner.intern_texts(block.ids)
        if self.n_known is None:
            return sentences, np.ones(len(sentences), dtype=np.bool_)
        good = sentences < self.n_known
        at, n = np.flatnonzero(~good), self.n_known

        def describe(i: int) -> InputError:
            row, what = int(at[i]), "source" if self.by_source else "id"
            return InputError(
                expected=f"the {what} of one of the {n} sentences that have a reference",
                found=excerpt(block.ids[row].encode("utf-8"), 60) if self.by_source else repr(block.ids[row]),
                path=path,
                line=int(block.lines[row]),
                kind="unknown-id",
                hint="`source` has the sources as the list has them"
                if self.by_source
                else "ids count from 0 unless `first_id` says otherwise; string ids need `keyed` references",
            )

        bad.add("unknown-id", block.lines[at], describe)
        return sentences, good


class OrderCheck:
    """Watches one file: a sentence's hypotheses stand together, and integer ids ascend if they must."""

    def __init__(self, *, ascending: bool = True) -> None:
        self._ascending = ascending
        self._closed: set[int] = set()
        self._current = -1
        self._highest: int | None = None

    def of_block(self, bad: BadLines, block: Block, sentences: Int32, good: Bool, path: str) -> Bool:
        """Return which of the `good` rows stand where they may."""
        rows = np.flatnonzero(good)
        if not len(rows):
            return good
        changes = np.flatnonzero(np.diff(sentences[rows], prepend=-1))
        fine = good.copy()
        for change, following in zip(changes, [*changes[1:], len(rows)], strict=True):
            row = int(rows[change])
            complaint = self._enter(int(sentences[row]), block.ids[row])
            if complaint:
                chosen = rows[change:following]
                fine[chosen] = False
                self._report(bad, block, chosen, complaint, path)
        return fine

    def _enter(self, sentence: int, name: str) -> str:
        """Note that a list of `sentence` begins; return what is wrong with that, if anything."""
        if sentence == self._current:
            return ""
        number = int(name) if is_number(name) else None
        if sentence in self._closed:
            return f"{name!r} again, after other sentences"
        if self._ascending and number is not None and self._highest is not None and number < self._highest:
            return f"{name!r} after {str(self._highest)!r}"
        if self._current >= 0:
            self._closed.add(self._current)
        self._current = sentence
        if number is not None:
            self._highest = number
        return ""

    def close(self) -> None:
        """End the list of the sentence that is being read."""
        self._closed.add(self._current)
        self._current = -1

    def _report(self, bad: BadLines, block: Block, rows: Int64, found: str, path: str) -> None:
        order = "sentence ids in ascending order, " if self._ascending else ""

        def describe(i: int) -> InputError:
            return InputError(
                expected=f"{order}the hypotheses of a sentence together",
                found=found,
                path=path,
                line=int(block.lines[rows[i]]),
                kind="order",
                hint="`any_order` sorts the list by sentence" if self._ascending else "",
            )

        bad.add("order", block.lines[rows], describe)
