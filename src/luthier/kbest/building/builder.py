"""From blocks of any reader to one pool: ids, names, tokens, storage, order; the same for all formats."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, GrowingArray, Int32, Int64
from luthier.core.errors import InputError, LuthierWarning
from luthier.core.files.streams import read_share
from luthier.core.segments import counts_in_segments, offsets_from_counts
from luthier.corpus.texts import RepeatedTexts, Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.building.feature_rows import FeatureRows, Filling, compact_features, compact_texts, compact_tokens
from luthier.kbest.building.joining import Rows, check_new
from luthier.kbest.building.rule_table import RuleTable
from luthier.kbest.building.sentences import OrderCheck, SentenceNumbers, SentenceTable, SideData, is_number
from luthier.kbest.merge import first_rows
from luthier.kbest.pool import COUNTS, INTEGER_IDS, Pool, References
from luthier.kbest.reading.column_roles import Roles
from luthier.kbest.reading.columns import decimals
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Block, Reader, Source, check_columns

INTEGER_ID, TEXT_ID = 1, 2
EMPTY_TEXT = Texts.from_strings([""])


class _Rows:
    """What blocks have brought so far, in growing columns."""

    def __init__(self, names: NameTable) -> None:
        self.features = FeatureRows(names)
        self.sentences = GrowingArray(np.int32)
        self.text_lengths, self.text_data = GrowingArray(np.int64), GrowingArray(np.uint8)
        self.token_counts, self.token_ids = GrowingArray(np.int64), GrowingArray(np.int32)
        self.columns: dict[str, GrowingArray] = {}
        self.rules = RuleTable()
        self.keys, self.key_ids = Interner(), GrowingArray(np.int32)

    def append(self, block: Block, sentences: Int32, tokens: Tokens) -> None:
        """Take the rows of a block."""
        names = {**self.columns, **block.columns}
        check_columns(list(names))
        for name in names:
            if name not in self.columns:
                self.columns[name] = GrowingArray(np.float64)
                self.columns[name].append(np.full(len(self.sentences), np.nan))
            self.columns[name].append(block.columns.get(name, np.full(len(block), np.nan)))
        self.sentences.append(sentences)
        self.text_lengths.append(block.texts.lengths)
        self.text_data.append(block.texts.data)
        self.token_counts.append(tokens.lengths)
        self.token_ids.append(tokens.ids)
        self.features.append(block.row_starts, block.names, block.values, gaps=block.gaps)
        self.rules.append(block.rule_uses, len(block))
        if block.other_keys is None:
            self.key_ids.append(np.repeat(self.keys.intern_texts(EMPTY_TEXT), len(block)))
        else:
            self.key_ids.append(self.keys.intern_texts(block.other_keys.texts)[block.other_keys.ids])

    def other_keys(self) -> RepeatedTexts | None:
        """Return the other keys of all rows, if any has one."""
        texts = self.keys.texts()
        return RepeatedTexts(texts, self.key_ids.finish()) if texts.lengths.any() else None

    def expect(self, n_rows: float) -> None:
        """Say about how many rows there will be."""
        if len(self.sentences):
            growth = n_rows / len(self.sentences)
            columns = self.sentences, self.text_lengths, self.text_data, self.token_counts, self.token_ids
            for column in (*columns, *self.columns.values()):
                column.expect(growth * len(column))
            self.features.expect(growth)


class PoolBuilder:
    """Takes sources one after another and makes a pool of them."""

    def __init__(
        self,
        known: SentenceTable | None,
        names: NameTable,
        *,
        any_order: bool = False,
        roles: Roles | None = None,
        filling: Filling | None = None,
        join: Callable[[Rows], Mapping[str, Float64]] | None = None,
    ) -> None:
        self._join = join
        self._roles, self._filling = roles or Roles(), filling or Filling()
        self._known = known
        self._numbers = SentenceNumbers(known)
        self._any_order = any_order
        self._id_kinds = np.zeros(0, dtype=np.uint8)
        self._vocab = Interner()
        self._side = SideData()
        self._rows = _Rows(names)

    def add(self, reader: Reader, source: Source) -> int:
        """Read a source to its end; return how many hypotheses it gave."""
        order = OrderCheck() if reader.ordered and not self._any_order else None
        before = added = len(self._rows.sentences)
        for raw in reader.blocks(source):
            added += self.add_block(raw, source, order)
            share = read_share(source.stream)
            if share > 0:
                self._rows.expect(before + (added - before) / share)
        return added - before

    def add_block(self, raw: Block, source: Source, order: OrderCheck | None = None) -> int:
        """Take the rows of one block; return how many were good."""
        block = self._roles.apply(raw, source.names)
        bad = block.bad
        if len(block) and block.by_source != self._numbers.by_source:
            self._start_by_source(source.name)
        sentences, good = self._numbers.of_block(bad, block, source.name)
        good = good & self._check_id_kinds(bad, block, sentences, source.name) & _check_sources(bad, block, source.name)
        if order is not None and not block.by_source:
            good = order.of_block(bad, block, sentences, good, source.name)
        good = good & _check_repeats(bad, block, source)
        source.faults.settle(bad)
        if block.sentences is not None:
            self._side.add(block.sentences, source.name)
        kept = block.keep(good)
        self._rows.append(kept, sentences[good], tokenize(kept.texts, self._vocab))
        return len(kept)

    def _start_by_source(self, path: str) -> None:
        """Tell sentences apart by their sources from the first row on."""
        if len(self._rows.sentences):
            raise InputError(
                expected="ids on all rows of all lists, or on none",
                found="rows with ids beside rows that are told apart by their sources",
                path=path,
                kind="fields",
            )
        self._numbers = SentenceNumbers(self._known, by_source=True)

    def _check_id_kinds(self, bad: BadLines, block: Block, sentences: Int32, path: str) -> Bool:
        """Return which rows have an id that is not a number here and a text there."""
        if block.integer_ids is None or block.by_source:
            return np.ones(len(block), dtype=np.bool_)
        kinds = np.zeros(max(len(self._numbers.interner), len(self._id_kinds)), dtype=np.uint8)
        kinds[: len(self._id_kinds)] = self._id_kinds
        own = np.where(block.integer_ids, INTEGER_ID, TEXT_ID).astype(np.uint8)
        first = np.unique(sentences, return_index=True)[1]
        new = first[kinds[sentences[first]] == 0]
        kinds[sentences[new]] = own[new]
        self._id_kinds = kinds
        at = np.flatnonzero(kinds[sentences] != own)

        def describe(i: int) -> InputError:
            name = block.ids[int(at[i])]
            return InputError(
                expected=f"ids of one kind: {name} or {json.dumps(name)}",
                found="both",
                path=path,
                line=int(block.lines[at[i]]),
                kind="id",
                hint="write ids as numbers throughout, or as texts",
            )

        bad.add("id", block.lines[at], describe)
        return np.asarray(kinds[sentences] == own)

    @property
    def by_source(self) -> bool:
        """Whether sources tell sentences apart."""
        return self._numbers.by_source

    @property
    def filled(self) -> dict[str, int]:
        """How many missing values of each feature were filled in; known once the pool is built."""
        return self._rows.features.filled

    def build(self, source: Source, *, keep_duplicates: bool) -> Pool:
        """Assemble the pool; each growing column is let go as soon as it is used.

        Repeated rows are left out in place: the arrays are nobody else's yet.
        """
        ids, keys, rank = self._sentence_order(source.name)
        self._check_first_id(source.name)
        sentences = rank[self._rows.sentences.finish()]
        order = _sorting(sentences)
        offsets = offsets_from_counts(np.bincount(sentences, minlength=len(ids)))
        features = self._rows.features.finish(order, source.name, self._filling)
        texts = Texts(offsets_from_counts(self._rows.text_lengths.finish()), self._rows.text_data.finish())
        tokens = Tokens(offsets_from_counts(self._rows.token_counts.finish()), self._rows.token_ids.finish())
        derivations = self._rows.rules.finish(source.local_names, source.name)
        columns, other_keys = self._columns(), self._rows.other_keys()
        references, sources = self._about_sentences(keys)
        joined = {} if self._join is None else dict(self._join(Rows(ids, sentences, texts, sources)))
        check_new(joined, {*columns, *features.names})
        columns |= {name: joined.pop(name) for name in list(joined) if name in self._roles.columns}
        features = features.with_columns({n: v if order is None else v[order] for n, v in joined.items()})
        if order is not None:
            texts, tokens = texts.take(order), tokens.take(order)
            columns = {name: column[order] for name, column in columns.items()}
            derivations = None if derivations is None else derivations.take(order)
            other_keys = None if other_keys is None else other_keys.take(order)
        drawn = self._drawn(columns, len(tokens), source.name)
        first = np.ones(len(tokens), np.bool_)
        if not keep_duplicates:
            first = first_rows(offsets, features, tokens, columns, counts=drawn)
        if drawn is not None:
            columns[self._roles.counts] = drawn
        if not first.all():
            rows = np.flatnonzero(first)
            offsets = offsets_from_counts(counts_in_segments(offsets, rows))
            features, tokens = compact_features(features, first), compact_tokens(tokens, first)
            texts = compact_texts(texts, first)
            columns = {name: column[rows] for name, column in columns.items()}
            derivations = None if derivations is None else derivations.take(rows)
            other_keys = None if other_keys is None else other_keys.take(rows)
        filled = self._rows.features.filled_with
        return Pool(
            offsets=offsets,
            features=features,
            sentence_ids=ids,
            texts=texts,
            tokens=tokens,
            vocab=self._vocab.texts(),
            references=references,
            sources=sources,
            derivations=derivations,
            other_keys=other_keys,
            columns=columns,
            provenance=self._about_ids(ids)
            | ({"missing": filled} if filled else {})
            | ({} if drawn is None else {COUNTS: self._roles.counts}),
        )

    def _about_ids(self, ids: Texts) -> dict[str, Any]:
        """Return which ids are numbers, if any are."""
        kinds = self._id_kinds
        if self._numbers.by_source or (len(kinds) and np.all(kinds == INTEGER_ID)):
            return {INTEGER_IDS: True}
        if not np.any(kinds == INTEGER_ID):
            return {}
        texts = self._numbers.interner.texts()
        integers = set(texts.strings(np.flatnonzero(kinds == INTEGER_ID)))
        return {INTEGER_IDS: [name for name in ids if name in integers]}

    def _check_first_id(self, path: str) -> None:
        """Refuse a list whose ids all stand one beyond the references: it counts from 1.

        Left alone, each hypothesis would be judged by the reference of its neighbour.
        """
        n = self._numbers.n_known
        if not n or self._numbers.by_source:
            return
        ids = list(self._numbers.interner.texts())
        used = np.bincount(self._rows.sentences.peek(), minlength=n)
        if len(ids) == n + 1 and ids[0].isdigit() and ids[n] == str(int(ids[0]) + n) and not used[0]:
            raise InputError(
                expected=f"sentence ids from {ids[0]} on, as the references are counted",
                found=f"ids from {ids[1] if n > 1 else ids[n]} to {ids[n]}",
                path=path,
                kind="unknown-id",
                hint="the list counts from 1: say `first_id` 1",
            )

    def _sentence_order(self, path: str) -> tuple[Texts, Texts, Int64]:
        """Return the sentence ids in the pool's order, what tells sentences apart, and each number's place in it.

        Without references, integer ids are put in numerical order; others stay as they first came.
        """
        keys = self._numbers.interner.texts()
        n = self._numbers.n_known
        if n is not None:
            assert self._known is not None
            return self._known.ids, keys.take(np.arange(n)), np.arange(len(keys))
        order = np.arange(len(keys))
        if self._numbers.by_source:
            if self._known is not None and len(self._known.ids) != len(keys):
                raise InputError(
                    expected=f"{len(self._known.ids)} different sources, one for each reference",
                    found=str(len(keys)),
                    path=path,
                    kind="length",
                    hint="`source` says which source each reference belongs to",
                )
            return decimals(order) if self._known is None else self._known.ids, keys, order
        names = list(keys)
        if all(is_number(name) for name in names):
            order = np.array(sorted(range(len(names)), key=lambda i: int(names[i])), dtype=np.int64)
        rank = np.empty(len(keys), dtype=np.int64)
        rank[order] = np.arange(len(keys))
        return keys.take(order), keys.take(order), rank

    def _columns(self) -> dict[str, Float64]:
        """Return the columns that every row has; others are left out, with a warning."""
        columns = {}
        for name, growing in self._rows.columns.items():
            column = growing.finish()
            missing = int(np.count_nonzero(np.isnan(column)))
            if missing:
                warnings.warn(
                    f"the column {name!r} is left out: {missing} of {len(column)} hypotheses have none",
                    LuthierWarning,
                    stacklevel=2,
                )
            else:
                columns[name] = column
        return columns

    def _drawn(self, columns: dict[str, Float64], n: int, path: str) -> Float64 | None:
        """Take out how often each row was drawn, (M,): by its column, or once; None where nobody wants to know."""
        name = self._roles.counts
        if not name:
            return None
        drawn = columns.pop(name, np.full(n, np.nan if name in self._rows.columns else 1.0)).copy()
        wrong = np.flatnonzero(~((drawn >= 0) & (drawn == np.floor(drawn))))
        if len(wrong):
            found = "none" if np.isnan(drawn[wrong[0]]) else f"{drawn[wrong[0]]:g}"
            raise InputError(expected=f"whole numbers from 0 on in {name!r}", found=found, path=path, kind="fields")
        return drawn

    def _about_sentences(self, keys: Texts) -> tuple[References | None, Texts | None]:
        table = self._side.table(keys, self._known)
        references = None
        if table.references is not None and table.reference_offsets is not None:
            tokens = tokenize(table.references, self._vocab)
            references = References(table.reference_offsets, table.references, tokens)
        return references, table.sources


def _check_sources(bad: BadLines, block: Block, path: str) -> Bool:
    """Return which rows have something that tells their sentence apart."""
    if not block.by_source:
        return np.ones(len(block), dtype=np.bool_)
    at = np.flatnonzero(block.ids.lengths == 0)

    def describe(i: int) -> InputError:
        expected = "a source on each row, as sentences have no id"
        return InputError(expected=expected, found="none", path=path, line=int(block.lines[at[i]]), kind="fields")

    bad.add("fields", block.lines[at], describe)
    return np.asarray(block.ids.lengths > 0)


def _check_repeats(bad: BadLines, block: Block, source: Source) -> Bool:
    """Return which rows name no feature twice."""
    out = np.empty(len(block), dtype=np.int64)
    last_row = np.full(len(source.names) + 1, -1, dtype=np.int64)
    kernels.repeated_name(block.row_starts, block.names, last_row, out)
    at = np.flatnonzero(out >= 0)

    def describe(i: int) -> InputError:
        label, position = source.names.label_of(int(block.names[out[at[i]]]))
        return InputError(
            expected="each feature once on a line",
            found=f"{label + ('' if position < 0 else '=')!r} twice",
            path=source.name,
            line=int(block.lines[at[i]]),
            kind="repeated-name",
        )

    bad.add("repeated-name", block.lines[at], describe)
    return out < 0


def _sorting(sentences: Int64) -> Int64 | None:
    """Return the stable order of the rows by sentence, None if they stand in it."""
    if np.all(sentences[1:] >= sentences[:-1]):
        return None
    return np.argsort(sentences, kind="stable")
