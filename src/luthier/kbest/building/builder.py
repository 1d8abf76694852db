"""From blocks of any reader to one pool: ids, names, tokens, storage, order; the same for all formats."""

from __future__ import annotations

import warnings
from typing import TypeVar

import numpy as np

from luthier.core.arrays import Bool, Float64, GrowingArray, Int32, Int64
from luthier.core.errors import InputError, LuthierWarning
from luthier.core.files.streams import read_share
from luthier.core.segments import ascends_in_segments, counts_in_segments, offsets_from_counts, segment_of_rows
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.building.feature_rows import FeatureRows, Filling, compact_features, compact_texts, compact_tokens
from luthier.kbest.building.sentences import OrderCheck, SentenceNumbers, SentenceTable, is_number
from luthier.kbest.derivations import Derivations, rule_keys, split_keys, unique_rules
from luthier.kbest.features import Features
from luthier.kbest.merge import first_rows
from luthier.kbest.pool import Pool, References
from luthier.kbest.reading.column_roles import Roles
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.names import NameTable, collision
from luthier.kbest.reading.reader import Block, Reader, RuleUses, SentenceData, Source, check_columns

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


# From the rule uses that readers deliver, block by block, to a table of distinct rules.


class RuleTable:
    """Takes the derivations of more and more rows; only one copy of each distinct rule is kept.

    A decoder's list uses the same rules again and again: 15 million uses are of some 100,000 rules.
    """

    def __init__(self) -> None:
        self._rules = Interner()
        self._counts = GrowingArray(np.int64)
        self._uses = GrowingArray(np.int32)
        self._any = False

    def append(self, uses: RuleUses | None, n_rows: int) -> None:
        """Take the derivations of a block of `n_rows`; None: they have none."""
        if uses is None:
            self._counts.append(np.zeros(n_rows, dtype=np.int64))
            return
        self._any = True
        names, values = uses.names, uses.values
        if not ascends_in_segments(names, uses.feature_offsets):  # two orders of features are one rule
            order = np.lexsort((names, segment_of_rows(uses.feature_offsets)))
            names, values = names[order], values[order]
        nothing = np.empty((len(uses.rule_texts), 0))
        keys = rule_keys(uses.rule_texts, nothing, uses.feature_offsets, names, values)
        self._counts.append(np.diff(uses.offsets))
        self._uses.append(self._rules.intern_texts(keys))

    def finish(self, names: NameTable, path: str) -> Derivations | None:
        """Return the derivations of all rows, None if no block had any."""
        if not self._any:
            return None
        texts, starts, numbers, values = split_keys(self._rules.texts())
        features = _sparse_features(names, starts, numbers, values, path)
        # two ways of writing a name may have come to one, so that rules have become equal
        offsets = offsets_from_counts(self._counts.finish())
        return unique_rules(offsets, self._uses.finish(), texts, features)


def _sparse_features(table: NameTable, starts: Int64, numbers: Int32, values: Float64, path: str) -> Features:
    """Return local features as entries, so that a rule that has 0 can be told from one that has nothing."""
    used = np.zeros(len(table), dtype=np.bool_)
    used[numbers] = True
    names, mapping = table.resolve(path, used)
    columns, n_rules = mapping[numbers], len(starts) - 1
    repeated = np.empty(n_rules, dtype=np.int64)
    kernels.repeated_name(starts, columns, np.full(len(names) + 1, -1), repeated)
    if np.any(repeated >= 0):
        raise collision(names[columns[repeated.max()]], path)
    order = np.lexsort((columns, segment_of_rows(starts)))
    return Features(tuple(names), np.empty((n_rules, 0)), starts, columns[order], values[order])


class _Rows:
    """What blocks have brought so far, in growing columns."""

    def __init__(self, names: NameTable) -> None:
        self.features = FeatureRows(names)
        self.sentences = GrowingArray(np.int32)
        self.text_lengths, self.text_data = GrowingArray(np.int64), GrowingArray(np.uint8)
        self.token_counts, self.token_ids = GrowingArray(np.int64), GrowingArray(np.int32)
        self.columns: dict[str, GrowingArray] = {}
        self.rules = RuleTable()

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
    ) -> None:
        self._roles, self._filling = roles or Roles(), filling or Filling()
        self._known = known
        self._numbers = SentenceNumbers(known)
        self._any_order = any_order
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
        sentences, good = self._numbers.of_block(bad, block, source.name)
        if order is not None:
            good = order.of_block(bad, block, sentences, good, source.name)
        good = good & _check_repeats(bad, block, source)
        source.faults.settle(bad)
        if block.sentences is not None:
            self._side.add(block.sentences, source.name)
        kept = block.keep(good)
        self._rows.append(kept, sentences[good], tokenize(kept.texts, self._vocab))
        return len(kept)

    @property
    def filled(self) -> dict[str, int]:
        """How many missing values of each feature were filled in; known once the pool is built."""
        return self._rows.features.filled

    def build(self, source: Source, *, keep_duplicates: bool) -> Pool:
        """Assemble the pool; each growing column is let go as soon as it is used.

        Repeated rows are left out in place: the arrays are nobody else's yet.
        """
        ids, rank = self._sentence_order()
        self._check_first_id(source.name)
        sentences = rank[self._rows.sentences.finish()]
        order = _sorting(sentences)
        offsets = offsets_from_counts(np.bincount(sentences, minlength=len(ids)))
        features = self._rows.features.finish(order, source.name, self._filling)
        texts = Texts(offsets_from_counts(self._rows.text_lengths.finish()), self._rows.text_data.finish())
        tokens = Tokens(offsets_from_counts(self._rows.token_counts.finish()), self._rows.token_ids.finish())
        derivations = self._rows.rules.finish(source.local_names, source.name)
        columns = self._columns()
        if order is not None:
            texts, tokens = texts.take(order), tokens.take(order)
            columns = {name: column[order] for name, column in columns.items()}
            derivations = None if derivations is None else derivations.take(order)
        first = np.ones(len(tokens), np.bool_) if keep_duplicates else first_rows(offsets, features, tokens, columns)
        if not first.all():
            rows = np.flatnonzero(first)
            offsets = offsets_from_counts(counts_in_segments(offsets, rows))
            features, tokens = compact_features(features, first), compact_tokens(tokens, first)
            texts = compact_texts(texts, first)
            columns = {name: column[rows] for name, column in columns.items()}
            derivations = None if derivations is None else derivations.take(rows)
        references, sources = self._about_sentences(ids)
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
            columns=columns,
            provenance={"missing": filled} if (filled := self._rows.features.filled_with) else {},
        )

    def _check_first_id(self, path: str) -> None:
        """Refuse a list whose ids all stand one beyond the references: it counts from 1.

        Left alone, each hypothesis would be judged by the reference of its neighbour.
        """
        n = self._numbers.n_known
        if not n:
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

    def _sentence_order(self) -> tuple[Texts, Int64]:
        """Return the sentence ids in the pool's order, and each number's place in it.

        Without references, integer ids are put in numerical order; others stay as they first came.
        """
        ids = self._numbers.interner.texts()
        n = self._numbers.n_known
        if n is not None:
            return ids.take(np.arange(n)), np.arange(len(ids))
        names = list(ids)
        order = np.arange(len(ids))
        if all(is_number(name) for name in names):
            order = np.array(sorted(range(len(names)), key=lambda i: int(names[i])), dtype=np.int64)
        rank = np.empty(len(ids), dtype=np.int64)
        rank[order] = np.arange(len(ids))
        return ids.take(order), rank

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

    def _about_sentences(self, ids: Texts) -> tuple[References | None, Texts | None]:
        table = self._side.table(ids, self._known)
        references = None
        if table.references is not None and table.reference_offsets is not None:
            tokens = tokenize(table.references, self._vocab)
            references = References(table.reference_offsets, table.references, tokens)
        return references, table.sources


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
