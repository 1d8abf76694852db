"""Grammars as text, in cdec's format, with bins in place of features: block by block, in the memory of a block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np

from luthier.core.arrays import Bytes, Float64, Int32, Int64, flat
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import LineBlock, display_name, line_blocks, open_bytes
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.corpus.lines import empty_error
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.features import _bin_kernels as kernels
from luthier.features.bins import Bins, FeatureBins, conjoined_names
from luthier.features.counts import TARGET_WORDS, Present, count_words
from luthier.features.induction import NONE, Fired, both_present, check_local, fire_both, load_induction
from luthier.grammar import _rule_kernels as rule_kernels
from luthier.grammar.reading import Lines, check_once, cut_lines
from luthier.grammar.writing import DIGITS
from luthier.kbest.features import unknown_names

LABEL, SOURCE, TARGET, FEATURES = 0, 1, 2, 3  # fields of a line
N_FIELDS, LEAST_FIELDS = 4, 3
RULE_LABEL = b"[X]"
Fields = tuple[Int64, Int64, Int64]  # where fields begin and end, (L, N_FIELDS), and how many each line has


class Edits(NamedTuple):
    """Stretches of a block that are exchanged, and the texts that come in their place."""

    starts: Int64
    stops: Int64
    texts: list[str]
    which: Int64


class Entries(NamedTuple):
    """The features of the lines of a block: the line of each, the number of its name, and the spans of its parts."""

    rows: Int64
    ids: Int32
    names: Int64
    values: Int64


class Rewriter:
    """Rewrites more and more lines; says in the end which features it never met."""

    def __init__(self, bins: Bins) -> None:
        check_local(bins)
        bad = [name for name in bins.names if any(c.isspace() or c == "=" for c in name) or "|||" in name]
        if bad:
            raise LuthierError(
                f"expected names of bins without blanks and '=', which a grammar can have, found {bad[0]!r}"
            )
        self.bins, self.n_rules = bins, 0
        self.names = Interner.of(Texts.from_strings(feature.feature for feature in bins.features))
        self.met = np.zeros(len(bins.features), dtype=bool)
        self._induction = load_induction(bins.induction)
        self._forbidden = set(bins.names)
        self._by_bin = {}
        if self._induction.by_bin:
            self._by_bin = {f.feature: self._fired_texts(f.lows, f) for f in bins.features}
        self._derived: bool | None = None  # whether target words are counted; known after the first block

    def rewrite(self, block: LineBlock, name: str) -> Bytes:
        """Return the lines of a block with bins."""
        lines, firsts, lasts, counts = cut_lines(block, name, N_FIELDS, LEAST_FIELDS)
        entries = self._entries(lines.data, firsts[:, FEATURES], lasts[:, FEATURES])
        check_once(lines, entries.rows, entries.ids, self.names)
        edits: list[Edits] = []
        present: list[Present] = []
        for number, feature in enumerate(self.bins.features):
            mine = np.flatnonzero(entries.ids == number)
            if feature.feature == TARGET_WORDS and self._counts_words(len(mine) > 0):
                has, values = _word_counts(lines, firsts, lasts)
                edits.append(_put_behind(has, *self._texts(values, feature), (firsts, lasts, counts)))
            else:
                has, values = entries.rows[mine], _numbers(lines, entries, mine)
                edits.append(_put_instead(entries, mine, *self._texts(values, feature), keep=feature.keep))
            self.met[number] |= bool(len(has))
            present.append((has, values))
        edits += self._conjoined(present, (firsts, lasts, counts))
        self.n_rules += len(firsts)
        return _exchanged(lines.data, edits)

    def finish(self, name: str) -> None:
        """Raise if a feature was in no line."""
        missing = [f.feature for f, met in zip(self.bins.features, self.met.tolist(), strict=True) if not met]
        if missing:
            known = [other for other in self.names.texts() if other not in missing]
            raise InputError(
                expected=f"rules with {missing[0]!r}, which the bins are of",
                found="none",
                path=name,
                hint=unknown_names(missing, known).partition("hint: ")[2] or "are these the bins of another grammar?",
            )

    def _entries(self, data: Bytes, starts: Int64, stops: Int64) -> Entries:
        starts, stops = flat(starts), flat(stops)
        room = int((stops - starts).sum()) // 2 + len(starts) + 1
        offsets = np.empty(len(starts) + 1, np.int64)
        names, values = np.empty((room, 2), np.int64), np.empty((room, 2), np.int64)
        used = rule_kernels.lex_features(data, starts, stops, offsets, names, values)
        rows = np.repeat(np.arange(len(starts)), np.diff(offsets))
        named = names[:used, 0] >= 0  # what has no name is passed on
        names, values = names[:used][named], values[:used][named]
        before = len(self.names)
        ids = self.names.intern_spans(data, names[:, 0], names[:, 1])
        for new in range(before, len(self.names)):
            if self.names[new] in self._forbidden:
                raise LuthierError(
                    f"expected a grammar without the columns of these bins, found {self.names[new]!r}. "
                    "hint: was it discretized before?"
                )
        return Entries(rows[named], ids, names, values)

    def _texts(self, values: Float64, feature: FeatureBins) -> tuple[list[str], Int64]:
        """Return the texts of what values fire, and which of them each value has."""
        if self._induction.by_bin:
            return self._by_bin[feature.feature], feature.place(values)
        distinct, which = np.unique(values, return_inverse=True)
        return self._fired_texts(distinct, feature), which

    def _fired_texts(self, values: Float64, feature: FeatureBins) -> list[str]:
        return _as_texts(self._induction.fire(values, feature), feature.names)

    def _conjoined(self, present: list[Present], fields: Fields) -> Iterator[Edits]:
        """Yield what is put behind the features of rules that have both features of a conjunction."""
        number = {feature.feature: k for k, feature in enumerate(self.bins.features)}
        for pair in self.bins.pairs:
            rows, seen = both_present(*(present[number[feature.feature]] for feature in pair))
            if self._induction.by_bin:
                places = [feature.place(values) for feature, values in zip(pair, seen, strict=True)]
                cells, which = np.unique(places[0] * len(pair[1]) + places[1], return_inverse=True)
                seen = pair[0].lows[cells // len(pair[1])], pair[1].lows[cells % len(pair[1])]
            else:
                distinct, which = np.unique(np.column_stack(seen), axis=0, return_inverse=True)
                seen = distinct[:, 0], distinct[:, 1]
            texts = _as_texts(fire_both(self._induction, seen, pair), conjoined_names(*pair))
            yield _put_behind(rows, texts, which.reshape(-1), fields)

    def _counts_words(self, written: bool) -> bool:
        """Return whether target words are counted, not read: so it is if the first block has none written."""
        if self._derived is None:
            self._derived = not written
        elif self._derived and written:
            raise LuthierError(f"expected {TARGET_WORDS} in all rules or in none, found it in some")
        return self._derived


def _as_texts(fired: Fired, names: Sequence[str]) -> list[str]:
    """Return ``name=value …`` for each row of what is fired."""
    form = f"%s=%.{DIGITS}g"
    return [
        " ".join([form % (names[j], share) for j, share in zip(row, shares, strict=True) if j != NONE])
        for row, shares in zip(fired.bins.tolist(), fired.values.tolist(), strict=True)
    ]


def _numbers(lines: Lines, entries: Entries, mine: Int64) -> Float64:
    """Return the values of some entries."""
    spans = entries.values[mine]
    values, status = parse_numbers(lines.data, spans[:, 0], spans[:, 1])
    if (status != NUMBER_OK).any():
        k = int(np.argmax(status != NUMBER_OK))
        found = lines.quote((entries.names[mine, 0], spans[:, 1]), k)
        raise lines.error(int(entries.rows[mine[k]]), "features name=value with finite numbers", found)
    return values


def _word_counts(lines: Lines, firsts: Int64, lasts: Int64) -> Present:
    """Return the lines that are rules, and how many words their target sides have."""
    is_rule = lasts[:, LABEL] - firsts[:, LABEL] == len(RULE_LABEL)
    for k, byte in enumerate(RULE_LABEL):
        is_rule[is_rule] = lines.data[firsts[is_rule, LABEL] + k] == byte
    rows = np.flatnonzero(is_rule)
    sides = ((firsts[rows, side], lasts[rows, side]) for side in (SOURCE, TARGET))
    return rows, count_words(lines.data, *sides).astype(np.float64)


def _put_instead(entries: Entries, mine: Int64, texts: list[str], which: Int64, *, keep: bool) -> Edits:
    """Return what is put in place of some entries, or behind them."""
    ends = entries.values[mine, 1]
    if keep:
        return Edits(ends, ends, [f" {text}" for text in texts], which)
    return Edits(entries.names[mine, 0], ends, texts, which)


def _put_behind(rows: Int64, texts: list[str], which: Int64, fields: Fields) -> Edits:
    """Return what is put behind all features of some lines."""
    firsts, lasts, counts = fields
    missing = counts[rows] <= FEATURES
    empty = firsts[rows, FEATURES] == lasts[rows, FEATURES]
    places = np.where(missing, lasts[rows, TARGET], lasts[rows, FEATURES])
    # behind other features; between two bars; behind a line that has no third pair of bars
    forms = [form % text for form in (" %s", " %s ", " ||| %s") for text in texts]
    return Edits(places, places, forms, which + np.where(missing, 2, np.where(empty, 1, 0)) * len(texts))


def _exchanged(data: Bytes, edits: list[Edits]) -> Bytes:
    if not edits:
        return data
    texts = Texts.from_strings([text for edit in edits for text in edit.texts])
    shifts = np.cumsum([0, *(len(edit.texts) for edit in edits)])
    which = np.concatenate([edit.which + shift for edit, shift in zip(edits, shifts.tolist(), strict=False)])
    starts, stops = (np.concatenate([getattr(edit, side) for edit in edits]) for side in ("starts", "stops"))
    order = np.argsort(starts, kind="stable")
    starts, stops, which = starts[order], stops[order], which[order]
    out = np.empty(len(data) - int((stops - starts).sum()) + int(texts.lengths[which].sum()), dtype=np.uint8)
    kernels.exchange(data, flat(starts), flat(stops), flat(which), texts.offsets, texts.data, out)
    return out


def rewrite_grammar(source: str | os.PathLike[str], rewriter: Rewriter, file: BinaryIO) -> None:
    """Write the rules of a grammar in cdec's format to a file, with bins; glue rules and links stay as they are."""
    name = display_name(source)
    before = rewriter.n_rules
    with open_bytes(source) as stream:
        for block in line_blocks(stream, name):
            file.write(rewriter.rewrite(block, name).data)
    if rewriter.n_rules == before:
        raise empty_error(name)
