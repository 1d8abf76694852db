"""JSON Lines: one hypothesis per line as an object with "id", "hyp" and "features".

Each line is an object::

    {"id": 7, "hyp": "a text", "features": {"lm": -2.5, "tm": 0.1}, "source": "…", "refs": ["…", "…"],
     "derivation": ["X -> a ||| b", {"rule": "S -> X", "features": {"glue": 1}}], "comet": 0.81}

``id``          string or integer; also ``sentence_id``, ``segment_id``; without one the source tells sentences apart
``hyp``         the hypothesis; also ``hypothesis``, ``text``, ``translation``, in this order of preference
``features``    an object of numbers, under any names
``source``      the source sentence; also ``src``
``refs``        an array of references, or a string if there is only one; also ``ref``, ``references``, ``reference``
``derivation``  the rules used: texts, or objects with ``rule`` and the rule's own ``features``
``absent``      "zero": a feature that a line does not name counts 0; otherwise, if most lines name it, it is missing

Where the first lines have ``features``, any other key with a number is a column of the pool (a sentence-level score,
say). Where they have none, as in what data frames write, every other number is a feature. Other keys with anything
else are skipped. null is the same as no key, except in ``features``.
Sources and references may stand on every line of a sentence, or only on one of them.

NaN and Infinity, which Python's json module writes though they are not JSON, are refused by name.
"""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from collections.abc import Collection, Iterator

import numpy as np

from luthier.core.arrays import Bool, Bytes, Float64, Int64
from luthier.core.errors import LuthierWarning
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import RepeatedTexts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading import json_errors as faults
from luthier.kbest.reading.column_roles import MEANINGS, OTHERS, NamedReader, Names
from luthier.kbest.reading.inline_references import TextLists, one_per_sentence
from luthier.kbest.reading.json_tape import (
    ABSENT,
    ARRAY,
    FINE,
    INTEGER,
    LONE_SURROGATE,
    NO_ENTRY,
    NULL,
    OBJECT,
    STRING,
    SYNTAX,
    TOO_DEEP,
    TWICE,
    Members,
    Tape,
    read_tape,
)
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, Lines, RuleUses, Source, check_columns
from luthier.kbest.reading.shapes.members import members_written

ID, HYP, FEATURES, SOURCE, REFERENCES, DERIVATION, ABSENT_IS = range(7)

_QUOTED = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")  # a whole number may well be a name
_HYPOTHESIS_KEY = re.compile(rb'"(%s)"\s*:' % b"|".join(name.encode() for name in MEANINGS["text"]))
_OTHER_KEY = re.compile(rb'"(%s)"\s*:\s*"' % b"|".join(name.encode() for name in OTHERS["text"]))


@dataclasses.dataclass(frozen=True)
class Method(NamedReader):
    """Reads JSON Lines."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 90 for a file whose first line begins an object and has a hypothesis, 60 for names of other tools."""
        line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
        if not line.startswith(b"{"):
            return 0
        return 90 if _HYPOTHESIS_KEY.search(line) else 60 if _OTHER_KEY.search(line) else 0

    @classmethod
    def may_be(cls, head: bytes) -> bool:
        """Return whether the first line is an object."""
        line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0].rstrip()
        return line.startswith(b"{") and line.endswith(b"}")

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""
        form: _Form | None = None
        for lines in source.lines():
            tape = read_tape(lines.data, lines.starts, lines.stops)
            if form is None and len(lines.numbers):
                form = _form(tape, self.called, by_source=source.by_source)
                _warn_of_quotes(lines.raw(0), {*source.ignored, *form.keys})
            yield _block(source, lines, tape, form or _Form(self.called))


def _warn_of_quotes(first: bytes, ignored: Collection[str]) -> None:
    """Tell of numbers that are written as texts on the first line: they are skipped."""
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return  # which will be said
    for key, value in row.items() if isinstance(row, dict) else ():
        if key not in ignored and isinstance(value, str) and _QUOTED.fullmatch(value):
            told = f"{key!r} is a text, {value!r}, and skipped. hint: write numbers without quotes"
            warnings.warn(told, LuthierWarning, stacklevel=2)


@dataclasses.dataclass(frozen=True)
class _Form:
    """What the first lines tell of a file.

    `names` are those in use, `flat` says that features stand beside the other keys, `gaps` that absent is not 0, and
    `by_source` that sentences have no ids, and their sources tell them apart.
    """

    names: Names
    flat: bool = False
    gaps: bool = True
    by_source: bool = False
    others: bool = False

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The keys of each part of a row."""
        return (*(self.names.of(meaning, others=self.others) for meaning in MEANINGS), ("absent",))

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that are a part of a row."""
        return tuple(name for names in self.parts for name in names)


@dataclasses.dataclass(frozen=True, eq=False)
class _Numbers:
    """Objects of numbers: their members, the numbers, and which of them are none or not finite."""

    members: Members
    values: Float64
    not_number: Bool
    not_finite: Bool


@dataclasses.dataclass(frozen=True, eq=False)
class _Contents:
    """What n rows hold, as entries of the tape: features, references, and rules with local features."""

    features: _Numbers
    sources: Members
    references: Members
    uses: Members
    rules: Int64  # one per use
    locals: Int64  # one per use: the object of its features
    local_features: _Numbers  # one list per use


def _block(source: Source, lines: Lines, tape: Tape, form: _Form) -> Block:
    verdict = _on_syntax(tape)
    objects = np.where(verdict == faults.GOOD, tape.roots, NO_ENTRY)
    found, others = tape.find(objects, form.keys)
    parts = _parts(tape, found, form)
    if form.by_source:
        if not source.by_source:
            verdict[(verdict == faults.GOOD) & (tape.kinds(parts[:, ID]) != ABSENT)] = faults.ID_LATE
        parts[:, ID] = parts[:, SOURCE]
    contents = _contents(tape, parts)
    if form.flat:
        verdict[(verdict == faults.GOOD) & (tape.kinds(parts[:, FEATURES]) != ABSENT)] = faults.FEATURES_LATE
    _judge(tape, parts, found, contents, verdict)
    other_rows, numbers = _other_numbers(tape, objects, others, verdict)
    good = np.flatnonzero(verdict == faults.GOOD)
    if len(good) < len(parts):
        contents = _contents(tape, parts[good])
    ids = tape.texts(parts[good, ID])
    sentences, other_source, other_references = one_per_sentence(
        ids, _text_lists(tape, contents.sources), _text_lists(tape, contents.references)
    )
    if other_source.any() or other_references.any():
        verdict[good[other_source]] = faults.OTHER_SOURCE
        verdict[good[other_references]] = faults.OTHER_REFERENCES
        good = np.flatnonzero(verdict == faults.GOOD)
        contents, ids = _contents(tape, parts[good]), tape.texts(parts[good, ID])
    bad = BadLines()
    bad.extend(lines.bad)
    faults.add(bad, source.name, lines, verdict, form.names)
    entries, values = contents.features.members.entries, contents.features.values
    row_starts, columns = contents.features.members.offsets, {}
    if form.flat:
        row_starts, entries, values = _of_rows(others, other_rows, numbers, good, len(parts))
    else:
        columns = _columns(tape, others, other_rows, numbers, good, path=source.name)
    return Block(
        lines=lines.numbers[good],
        ids=ids,
        texts=tape.texts(parts[good, HYP]),
        row_starts=row_starts,
        names=source.names.from_spans(*tape.spans(entries - 1)),
        values=values,
        columns=columns,
        sentences=sentences,
        rule_uses=_rule_uses(source, tape, contents),
        bad=bad,
        gaps=form.gaps,
        guessed=form.flat,
        by_source=form.by_source,
        integer_ids=tape.kinds(parts[good, ID]) == INTEGER,
        other_keys=_other_keys(tape, lines, tape.roots[good], form),
    )


def _other_keys(tape: Tape, lines: Lines, objects: Int64, form: _Form) -> RepeatedTexts:
    """Return what the objects of good rows say beside, the source among it."""
    used = {*form.keys} - {*form.parts[SOURCE]}
    texts = members_written(tape, lines.data, objects, used, numbers=False)
    return RepeatedTexts(texts, np.arange(len(objects), dtype=np.int32))


def _form(tape: Tape, names: Names, *, by_source: bool) -> _Form:
    """Return the form that a file's first lines have."""
    objects = _if_kind(tape, tape.roots, OBJECT)
    form = _Form(names)
    parts = _parts(tape, tape.find(objects, form.keys)[0], form)
    if np.all(tape.kinds(parts[:, HYP]) == ABSENT) or np.all(tape.kinds(parts[:, [ID, SOURCE]].ravel()) == ABSENT):
        form = dataclasses.replace(form, others=True)
        parts = _parts(tape, tape.find(objects, form.keys)[0], form)
    flat = bool(np.all(tape.kinds(parts[:, FEATURES]) == ABSENT))
    said = tape.kinds(parts[:, ABSENT_IS]) == STRING
    zero = bool(said.any()) and tape.texts(parts[:, ABSENT_IS][said])[0] == "zero"
    row = parts[objects >= 0][:1]
    bare = (tape.kinds(row[:, ID]) == ABSENT) & (tape.kinds(row[:, SOURCE]) == STRING)
    return dataclasses.replace(form, flat=flat, gaps=not zero, by_source=by_source or bool(bare.any()))


def _of_rows(others: Int64, rows: Int64, values: Float64, good: Int64, n: int) -> tuple[Int64, Int64, Float64]:
    """Return the numbers of good rows as lists: offsets, entries and values."""
    place = np.full(n, -1, dtype=np.int64)
    place[good] = np.arange(len(good))
    kept = place[rows] >= 0
    counts = np.bincount(place[rows[kept]], minlength=len(good))
    return offsets_from_counts(counts), others[kept], values[kept]


def _on_syntax(tape: Tape) -> Bytes:
    """Return the verdict on each line as far as it needs no key."""
    verdict = np.full(len(tape.roots), faults.GOOD, dtype=np.uint8)
    for status, fault in (
        (SYNTAX, faults.NOT_JSON),
        (TOO_DEEP, faults.NOT_JSON),
        (LONE_SURROGATE, faults.HALF_PAIR),
    ):
        verdict[tape.status == status] = fault
    verdict[(tape.status == FINE) & (tape.kinds(tape.roots) != OBJECT)] = faults.NOT_OBJECT
    return verdict


def _parts(tape: Tape, found: Int64, form: _Form) -> Int64:
    """Return for each row the entries of its id, hypothesis, …, (n, 7): the first key that says it."""
    parts = np.full((len(found), len(form.parts)), NO_ENTRY, dtype=np.int64)
    keys = form.keys
    for meaning, names in enumerate(form.parts):
        for name in reversed(names):
            entries = found[:, keys.index(name)]
            kinds = tape.kinds(entries)
            parts[:, meaning] = np.where((kinds == ABSENT) | (kinds == NULL), parts[:, meaning], entries)
    return parts


def _contents(tape: Tape, parts: Int64) -> _Contents:
    uses = tape.members(_if_kind(tape, parts[:, DERIVATION], ARRAY))
    rules, local = _rules(tape, uses.entries)
    return _Contents(
        _numbers(tape, parts[:, FEATURES]),
        _strings(tape, parts[:, SOURCE]),
        _strings(tape, parts[:, REFERENCES]),
        uses,
        rules,
        local,
        _numbers(tape, local),
    )


def _if_kind(tape: Tape, entries: Int64, kind: int) -> Int64:
    return np.where(tape.kinds(entries) == kind, entries, NO_ENTRY)


def _numbers(tape: Tape, objects: Int64) -> _Numbers:
    members = tape.members(_if_kind(tape, objects, OBJECT))
    values, status = parse_numbers(*tape.spans(members.entries))
    not_number = tape.kinds(members.entries) < INTEGER
    return _Numbers(members, values, not_number, ~not_number & (status != NUMBER_OK))


def _strings(tape: Tape, entries: Int64) -> Members:
    """Return the members of arrays; anything else is its own only member."""
    kinds = tape.kinds(entries)
    inside = tape.members(_if_kind(tape, entries, ARRAY))
    single = (kinds != ABSENT) & (kinds != ARRAY)
    offsets = offsets_from_counts(np.diff(inside.offsets) + single)
    joined = np.empty(int(offsets[-1]), dtype=np.int64)
    place = np.zeros(len(joined), dtype=np.bool_)
    place[offsets[:-1][single]] = True
    joined[place], joined[~place] = entries[single], inside.entries
    return Members(offsets, joined)


def _rules(tape: Tape, uses: Int64) -> tuple[Int64, Int64]:
    """Return the entries of each use's rule and of its object of features."""
    found, _ = tape.find(_if_kind(tape, uses, OBJECT), ("rule", "features"))
    rules = np.where(tape.kinds(uses) == OBJECT, found[:, 0], uses)
    return rules, np.where(tape.kinds(found[:, 1]) == NULL, NO_ENTRY, found[:, 1])


def _judge(tape: Tape, parts: Int64, found: Int64, contents: _Contents, verdict: Bytes) -> None:
    """Write the first fault of every row into `verdict`."""
    kinds = tape.kinds(parts.reshape(-1)).reshape(parts.shape)

    def wrong(part: int, *allowed: int) -> Bool:
        return ~np.isin(kinds[:, part], (ABSENT, *allowed))

    def among(members: Members, *allowed: int) -> Bool:
        return members.any(~np.isin(tape.kinds(members.entries), allowed))

    def of_uses(per_use: Bool) -> Bool:
        return contents.uses.any(per_use)

    local = contents.local_features
    local_objects = np.isin(tape.kinds(contents.locals), (ABSENT, OBJECT)) & (contents.locals != TWICE)
    for rows, fault in (
        ((found == TWICE).any(axis=1), faults.KEY_TWICE),
        (kinds[:, ID] == ABSENT, faults.NO_ID),
        (kinds[:, HYP] == ABSENT, faults.NO_HYPOTHESIS),
        (wrong(ID, STRING, INTEGER), faults.ID_TYPE),
        (wrong(HYP, STRING), faults.HYPOTHESIS_TYPE),
        (wrong(FEATURES, OBJECT), faults.FEATURES_TYPE),
        (wrong(SOURCE, STRING), faults.SOURCE_TYPE),
        (among(contents.references, STRING), faults.REFERENCES_TYPE),
        (wrong(DERIVATION, ARRAY) | among(contents.uses, STRING, OBJECT), faults.DERIVATION_TYPE),
        (of_uses(tape.kinds(contents.rules) != STRING), faults.RULE_TYPE),
        (of_uses(~local_objects), faults.RULE_TYPE),
        (contents.features.members.any(contents.features.not_number), faults.NOT_NUMBER),
        (of_uses(local.members.any(local.not_number)), faults.NOT_NUMBER),
        (contents.features.members.any(contents.features.not_finite), faults.NOT_FINITE),
        (of_uses(local.members.any(local.not_finite)), faults.NOT_FINITE),
    ):
        verdict[rows & (verdict == faults.GOOD)] = fault


def _other_numbers(tape: Tape, objects: Int64, others: Int64, verdict: Bytes) -> tuple[Int64, Float64]:
    """Return the row and value of each number under another key; infinite ones go into `verdict`."""
    rows = np.flatnonzero(objects >= 0)
    rows = rows[np.searchsorted(objects[rows], others, side="right") - 1] if len(others) else others
    values, status = parse_numbers(*tape.spans(others))
    infinite = rows[status != NUMBER_OK]
    verdict[infinite[verdict[infinite] == faults.GOOD]] = faults.NOT_FINITE
    return rows, values


def _columns(tape: Tape, others: Int64, rows: Int64, values: Float64, good: Int64, *, path: str) -> dict[str, Float64]:
    """Return the numbers under other keys by key; NaN where a row has none."""
    if not len(others):
        return {}
    place = np.full(int(max(rows.max(), good.max(initial=0))) + 1, -1, dtype=np.int64)
    place[good] = np.arange(len(good))
    kept = place[rows] >= 0
    rows, values = place[rows[kept]], values[kept]
    interner = Interner()
    names = interner.intern_spans(*tape.spans(others[kept] - 1))
    texts = list(interner.texts())
    check_columns(texts, path)
    columns = {}
    for number, name in enumerate(texts):
        column = np.full(len(good), np.nan)
        column[rows[names == number]] = values[names == number]
        columns[name] = column
    return columns


def _text_lists(tape: Tape, members: Members) -> TextLists:
    return TextLists(members.offsets, *tape.spans(members.entries))


def _rule_uses(source: Source, tape: Tape, contents: _Contents) -> RuleUses | None:
    if not len(contents.uses.entries):
        return None
    members = contents.local_features.members
    return RuleUses(
        contents.uses.offsets,
        tape.texts(contents.rules),
        members.offsets,
        source.local_names.from_spans(*tape.spans(members.entries - 1)),
        contents.local_features.values,
    )
