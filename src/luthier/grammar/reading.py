"""Rules as they come, in any order; in the end they are grouped by source side."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Bytes, Float64, GrowingArray, Int32, Int64, flat
from luthier.core.errors import InputError, LuthierWarning, excerpt
from luthier.core.files.io import BOM, LineBlock, display_name, line_blocks, open_bytes
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.core.plugins import available, load
from luthier.core.segments import offsets_from_counts, rows_of_segments
from luthier.corpus._field_kernels import split_fields
from luthier.corpus.lines import (
    CARRIAGE_RETURN,
    bom_error,
    check_utf8,
    empty_error,
    line_spans,
    windows_line_error,
)
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.grammar import _rule_kernels, _trie_kernels
from luthier.grammar.grammar import NO_SENTENCES, Grammar, make_grammar, no_trie
from luthier.grammar.reader import HEAD_BYTES, PACKAGE, Reader, phrase_table_hint
from luthier.grammar.storage import is_grammar_file, open_grammar


class _Lists:
    """A growing column of lists."""

    def __init__(self, *types: type) -> None:
        self._counts = GrowingArray(np.int64)
        self._values = [GrowingArray(kind) for kind in types]

    def append(self, offsets: Int64, *values: np.ndarray) -> None:
        self._counts.append(np.diff(offsets))
        for column, more in zip(self._values, values, strict=True):
            column.append(more)

    def finish(self) -> list[np.ndarray]:
        return [offsets_from_counts(self._counts.finish()), *(column.finish() for column in self._values)]


class RuleTable:
    """Rules that are being read."""

    def __init__(self) -> None:
        self.source_words, self.target_words, self.names, self.labels = (Interner() for _ in range(4))
        self.n_lines = self.glue = 0
        self._source, self._target = _Lists(np.int32), _Lists(np.int32)
        self._features, self._links = _Lists(np.int32, np.float64), _Lists(np.uint8, np.uint8)

    def add(
        self,
        source: tuple[Int64, Int32],
        target: tuple[Int64, Int32],
        features: tuple[Int64, Int32, Float64],
        links: tuple[Int64, Bytes],
    ) -> None:
        """Add rules: columns of lists, each with its offsets."""
        self._source.append(*source)
        self._target.append(*target)
        self._features.append(*features)
        self._links.append(links[0], links[1][:, 0], links[1][:, 1])

    def finish(self) -> Grammar:
        """Return the grammar: source sides in the order of their first rule, rules in the order in which they came."""
        offsets, symbols = self._source.finish()
        side, first = _sides(offsets, symbols)
        order = np.argsort(side, kind="stable")
        target_offsets, target_symbols = self._target.finish()
        feature_offsets, ids, values = self._features.finish()
        link_offsets, *links = self._links.finish()
        entries, pairs = rows_of_segments(feature_offsets, order), rows_of_segments(link_offsets, order)
        return make_grammar(
            Grammar(
                self.source_words.texts(),
                self.target_words.texts(),
                offsets_from_counts(np.diff(offsets)[first]),
                symbols[rows_of_segments(offsets, first)],
                offsets_from_counts(np.bincount(side, minlength=len(first))),
                offsets_from_counts(np.diff(target_offsets)[order]),
                target_symbols[rows_of_segments(target_offsets, order)],
                tuple(self.names.texts()),
                offsets_from_counts(np.diff(feature_offsets)[order]),
                ids[entries],
                values[entries],
                offsets_from_counts(np.diff(link_offsets)[order]),
                np.column_stack([column[pairs] for column in links]),
                **NO_SENTENCES,
                trie=no_trie(),
            )
        )


def _sides(offsets: Int64, symbols: Int32) -> tuple[Int64, Int64]:
    """Return the number of each row's symbols among the distinct rows, and the first row of each of these."""
    # rules of one source side stand together in most files, so that a fraction of the rows is looked up
    differs = np.empty(len(offsets) - 1, dtype=np.bool_)
    _trie_kernels.differs_from_last(flat(offsets), flat(symbols), differs)
    runs = np.flatnonzero(differs)
    run_offsets = offsets_from_counts(np.diff(offsets)[runs])
    codes = np.maximum(symbols[rows_of_segments(offsets, runs)] + 1, 0).astype(np.int32)
    slots = 1 << (2 * (len(codes) + 1)).bit_length()
    keys, nodes = np.full(slots, -1, np.int64), np.full(slots, -1, np.int32)
    ends = np.empty(len(runs), dtype=np.int32)
    size = _trie_kernels.insert_paths(
        flat(run_offsets), flat(codes), flat(np.zeros(len(ends), np.int32)), keys, nodes, ends, 1
    )
    first = np.full(size, len(runs), dtype=np.int64)
    np.minimum.at(first, ends, np.arange(len(runs)))
    used = np.flatnonzero(first < len(runs))
    used = used[np.argsort(first[used], kind="stable")]
    number = np.empty(size, dtype=np.int64)
    number[used] = np.arange(len(used))
    return number[ends][np.cumsum(differs) - 1], runs[first[used]]


# Reading grammars: formats found by content, lines cut by kernels, every rule checked.

AUTO = "auto"
Spans = tuple[Int64, Int64]


class Lines(NamedTuple):
    """The lines of a block that are rules: their bytes, their numbers in the file, and its name."""

    data: Bytes
    numbers: Int64
    name: str

    def error(self, row: int, expected: str, found: str, hint: str = "") -> InputError:
        """Return the complaint about a line."""
        return InputError(
            expected=expected, found=found, path=self.name, line=int(self.numbers[row]), hint=hint, kind="rule"
        )

    def quote(self, spans: Spans, row: int) -> str:
        """Return a field of a line, shortened, in quotation marks."""
        return excerpt(self.data[spans[0][row] : spans[1][row]].tobytes())


def read_grammar(path: str | os.PathLike[str], format: str = AUTO) -> Grammar:  # noqa: A002 - the word of the option
    """Read a grammar: our own file, or text of any format in `readers/`.

    Raises
    ------
    InputError
        A line that is no rule, a label other than X, gaps that do not match, a number that is none; with the line.
    """
    if format == AUTO and is_grammar_file(path):
        return open_grammar(path)
    name = display_name(path)
    table = RuleTable()
    with open_bytes(path) as stream:
        head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        reader = find_reader(head, format, name)
        for block in line_blocks(stream, name):
            _read_block(block, reader, table, name)
    if not table.n_lines:
        raise empty_error(name)
    if table.glue:
        warnings.warn(
            f"{name}: {table.glue} rules with the label S were left out: a decoder has its own glue rules",
            LuthierWarning,
            stacklevel=2,
        )
    return table.finish()


def find_reader(head: bytes, format: str, name: str) -> Reader:  # noqa: A002
    """Return the reader of a format, or of the one that the first bytes of a file look like."""
    if format != AUTO:
        reader: Reader = load(PACKAGE, format)()
        return reader
    if head.startswith(BOM):
        raise bom_error(name)
    sure = {known: load(PACKAGE, known).recognizes(head) for known in available(PACKAGE)}
    best = max(sure, key=lambda known: sure[known])
    if head and not sure[best]:
        raise InputError(
            expected=f"a grammar in one of the formats {', '.join(sure)}",
            found=excerpt(head.partition(b"\n")[0]),
            path=name,
            line=1,
            hint=phrase_table_hint(head),
        )
    return load(PACKAGE, best)()  # type: ignore[no-any-return]


def _read_block(block: LineBlock, reader: Reader, table: RuleTable, name: str) -> None:
    (data, numbers, _), firsts, lasts, _ = cut_lines(block, name, len(reader.fields), reader.least)
    keep = np.ones(len(numbers), dtype=bool)
    if "label" in reader.fields:
        keep = _labels(Lines(data, numbers, name), (firsts[:, 0], lasts[:, 0]), table)
    lines = Lines(data, numbers[keep], name)
    spans = {
        field: (flat(firsts[keep, k]), flat(lasts[keep, k]))
        for k, field in enumerate(reader.fields)
        if field != "label"
    }
    _add_rules(lines, spans, reader, table)
    table.n_lines += len(numbers)


def cut_lines(block: LineBlock, name: str, n_fields: int, least: int) -> tuple[Lines, Int64, Int64, Int64]:
    """Return the lines of a block, the spans of their first fields, (L, n_fields), and how many they have."""
    data = flat(block.data)
    check_utf8(data, name, block.first_line)
    starts, stops = line_spans(block.ends)
    ends_in_cr = (stops > starts) & (data[np.maximum(stops - 1, 0)] == CARRIAGE_RETURN)
    if ends_in_cr.any():
        raise windows_line_error(name, block.first_line + int(np.argmax(ends_in_cr)))
    counts = np.empty(len(starts), dtype=np.int64)
    firsts, lasts = (np.zeros((len(starts), n_fields), dtype=np.int64) for _ in range(2))
    split_fields(data, flat(starts), flat(stops), False, firsts, lasts, counts)
    lines = Lines(data, block.first_line + np.arange(len(starts)), name)
    if (counts < least).any():
        row = int(np.argmax(counts < least))
        raise lines.error(
            row,
            f"a rule of at least {least} fields separated by |||",
            f"{counts[row]} in {excerpt(data[starts[row] : stops[row]].tobytes())}",
        )
    return lines, firsts, lasts, counts


def _labels(lines: Lines, spans: Spans, table: RuleTable) -> np.ndarray:
    """Return which lines have the label X; S is counted, any other is an error."""
    labels = Texts.from_spans(lines.data, *(flat(side) for side in spans))
    ids = table.labels.intern_texts(labels)
    known = list(table.labels.texts())
    for k, label in enumerate(known):
        if label not in ("[X]", "[S]"):
            row = int(np.argmax(ids == k))
            raise lines.error(row, "a rule with the label [X]", lines.quote(spans, row), "one kind of gap is supported")
    glue = ids == known.index("[S]") if "[S]" in known else np.zeros(len(ids), dtype=bool)
    table.glue += int(glue.sum())
    return ~glue


def _add_rules(lines: Lines, spans: dict[str, Spans], reader: Reader, table: RuleTable) -> None:
    link_offsets, links = _links(lines, spans["links"])
    sides = []
    for field, words in (("source", table.source_words), ("target", table.target_words)):
        sides.append(_symbols(lines, spans[field], words, reader))
    (source_offsets, source_kinds, source_ids), (target_offsets, target_kinds, target_ids) = sides
    if reader.gaps_by_links:
        _rule_kernels.number_paired_gaps(
            source_offsets, source_kinds, target_offsets, target_kinds, link_offsets, links
        )
    _check_gaps(lines, spans, (source_offsets, source_kinds), (target_offsets, target_kinds))
    row = _rule_kernels.links_within(link_offsets, links, source_offsets, target_offsets)
    if row >= 0:
        raise lines.error(row, "links between symbols of the rule", lines.quote(spans["links"], row))
    offsets, ids, values = _features(lines, spans["features"], reader, table.names)
    table.add(
        (source_offsets, np.where(source_kinds < 0, source_kinds, source_ids)),
        (target_offsets, np.where(target_kinds < 0, target_kinds, target_ids)),
        (offsets, ids, values),
        (link_offsets, links.astype(np.uint8)),
    )


def _symbols(lines: Lines, spans: Spans, words: Interner, reader: Reader) -> tuple[Int64, Int32, Int32]:
    """Return offsets, kinds and word numbers of the symbols of one side."""
    starts, stops = spans
    room = int((stops - starts).sum()) // 2 + len(starts) + 1
    offsets, kinds = np.empty(len(starts) + 1, np.int64), np.empty(room, np.int32)
    symbol_starts, symbol_stops = np.empty(room, np.int64), np.empty(room, np.int64)
    used = _rule_kernels.lex_symbols(lines.data, starts, stops, offsets, kinds, symbol_starts, symbol_stops)
    kinds = kinds[:used]
    if reader.label_behind_sides:
        last = offsets[1:] - 1
        bad = (offsets[1:] == offsets[:-1]) | (kinds[np.maximum(last, 0)] != _rule_kernels.LABEL)
        if bad.any():
            row = int(np.argmax(bad))
            raise lines.error(row, "sides that end in the label [X]", lines.quote(spans, row))
        keep = np.ones(used, dtype=bool)
        keep[last] = False
        kinds, symbol_starts, symbol_stops = kinds[keep], symbol_starts[:used][keep], symbol_stops[:used][keep]
        offsets = offsets - np.arange(len(offsets))
        used = len(kinds)
    other = np.flatnonzero(
        (kinds == _rule_kernels.OTHER_LABEL) | ((kinds == _rule_kernels.PAIR_GAP) & (not reader.gaps_by_links))
    )
    if len(other):
        row = int(np.searchsorted(offsets, other[0], side="right")) - 1
        raise lines.error(
            row,
            "gaps [X,1] and [X,2]",
            lines.quote((symbol_starts, symbol_stops), int(other[0])),
            "one kind of gap is supported",
        )
    kinds[kinds == _rule_kernels.LABEL] = _rule_kernels.WORD
    ids = np.zeros(used, dtype=np.int32)
    is_word = (kinds == _rule_kernels.WORD) | ((kinds > _rule_kernels.BARE_GAP) & (kinds < _rule_kernels.PAIR_GAP))
    ids[is_word] = words.intern_spans(lines.data, symbol_starts[:used][is_word], symbol_stops[:used][is_word])
    return offsets, kinds, ids


def _check_gaps(
    lines: Lines, spans: dict[str, Spans], source: tuple[Int64, Int32], target: tuple[Int64, Int32]
) -> None:
    """Turn kinds into symbols; raise for a rule whose gaps do not match."""
    _rule_kernels.resolve_bare_gaps(*source, *target)
    status = np.empty(len(lines.numbers), dtype=np.uint8)
    _rule_kernels.match_gaps(*source, *target, status)
    if status.any():
        row = int(np.argmax(status != _rule_kernels.GAPS_FIT))
        expected = {
            _rule_kernels.GAPS_DIFFER: "the same gaps on both sides, each once",
            _rule_kernels.GAPS_TOO_MANY: "at most two gaps",
            _rule_kernels.GAP_ALONE: "a source side with more than a gap, which would derive itself",
            _rule_kernels.NO_SOURCE: "a source side",
        }[int(status[row])]
        raise lines.error(row, expected, f"{lines.quote(spans['source'], row)} and {lines.quote(spans['target'], row)}")


def _links(lines: Lines, spans: Spans) -> tuple[Int64, Int64]:
    starts, stops = spans
    room = int((stops - starts).sum()) // 2 + len(starts) + 1
    offsets, links = np.empty(len(starts) + 1, np.int64), np.empty((room, 2), np.int64)
    status = np.empty(len(starts), dtype=np.uint8)
    used = _rule_kernels.lex_links(lines.data, starts, stops, offsets, links, status)
    if status.any():
        row = int(np.argmax(status))
        raise lines.error(row, "links such as 0-0 1-2, of symbols from 0 to 255", lines.quote(spans, row))
    return offsets, links[:used]


def _features(lines: Lines, spans: Spans, reader: Reader, names: Interner) -> tuple[Int64, Int32, Float64]:
    """Return offsets, numbers of names, and values; a value without a name is called by its place in the rule."""
    starts, stops = spans
    room = int((stops - starts).sum()) // 2 + len(starts) + 1
    offsets = np.empty(len(starts) + 1, np.int64)
    name_spans, value_spans = np.empty((room, 2), np.int64), np.empty((room, 2), np.int64)
    used = _rule_kernels.lex_features(lines.data, starts, stops, offsets, name_spans, value_spans)
    name_spans, value_spans = name_spans[:used], value_spans[:used]
    values, status = parse_numbers(lines.data, value_spans[:, 0], value_spans[:, 1])
    bad = (status != NUMBER_OK) | (name_spans[:, 0] == name_spans[:, 1]) & (name_spans[:, 0] >= 0)
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(offsets, entry, side="right")) - 1
        first = int(name_spans[entry, 0]) if name_spans[entry, 0] >= 0 else int(value_spans[entry, 0])
        found = excerpt(lines.data[first : value_spans[entry, 1]].tobytes())
        raise lines.error(row, "features name=value with finite numbers", found)
    ids = np.empty(used, dtype=np.int32)
    bare = name_spans[:, 0] < 0
    ids[~bare] = names.intern_spans(lines.data, name_spans[~bare, 0], name_spans[~bare, 1])
    if bare.any():
        before = np.concatenate([[0], np.cumsum(bare)])
        rows = np.searchsorted(offsets, np.flatnonzero(bare), side="right") - 1
        places = before[:-1][bare] - before[offsets[rows]]
        numbered = names.intern_texts(Texts.from_strings(f"{reader.numbered}{k}" for k in range(places.max() + 1)))
        ids[bare] = numbered[places]
        values[bare] = _numbered_values(values[bare], reader, lines, rows)
    check_once(lines, np.repeat(np.arange(len(starts)), np.diff(offsets)), ids, names)
    return offsets, ids, values


def check_once(lines: Lines, rows: Int64, ids: Int32, names: Interner) -> None:
    """Raise `InputError` for a rule that names a feature twice: which of the values counts, nobody can know."""
    keys = rows * len(names) + ids
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    if len(again):
        entry = int(order[again[0] + 1])
        raise lines.error(int(rows[entry]), "each feature once in a rule", f"{names[int(ids[entry])]!r} twice")


def _numbered_values(values: Float64, reader: Reader, lines: Lines, rows: Int64) -> Float64:
    if not reader.numbered_logs:
        return values * reader.numbered_sign + 0.0
    if (values < 0).any():
        k = int(np.argmax(values < 0))
        raise lines.error(int(rows[k]), "scores that are probabilities", f"{values[k]:g}")
    # Moses takes no logarithm below −100
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(values), -100.0)
