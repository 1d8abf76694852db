"""Nested JSON: one object for each sentence, with the list of its hypotheses inside, as programs dump it.

OpenAI and vLLM (answers, plain and of batches), Hugging Face, TRL, UltraFeedback, lm-evaluation-harness, CTranslate2,
pyctcdecode, Whisper and COMET write such files. `luthier.kbest.reading.shapes.profiles` has the names
that each uses. One object or list per line, or the whole file one array of them, or one object that names sentences
(``{"a1": […], "a2": […]}``). A hypothesis is

* a text; arrays of as many numbers beside the list (``sequences_scores``, ``rewards``) are features,
* an object with a text and numbers, which are features; numbers inside an object ``features`` or ``scores`` are
  features, too. Log-probabilities of tokens (``logprobs``) give their sum ``logprob`` and their number ``tokens``.
  ``segments``, as Whisper writes them, give ``logprob`` (the sum of ``avg_logprob`` times tokens plus one, which
  undoes Whisper's mean),
  ``tokens``, and the highest ``no_speech_prob`` and ``compression_ratio``,
* an array as pyctcdecode's beams: the text first, and at the end the features ``logit_score`` and ``lm_score``,
* an array of tokens, as CTranslate2 writes it, which are joined.

Without an id the sentence's number, from 0, is one. A feature that most hypotheses have is missing where one lacks it.
In an array of objects without such lists, as data frames write it, each object is a hypothesis.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Bool, Bytes, Int64
from luthier.core.errors import InputError
from luthier.core.files.io import BOM
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import RepeatedTexts, Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading.column_roles import NamedReader
from luthier.kbest.reading.columns import decimals
from luthier.kbest.reading.inline_references import TextLists, contradiction, one_per_sentence
from luthier.kbest.reading.json_errors import json_error, parse_json, surrogate_error
from luthier.kbest.reading.json_tape import (
    ABSENT,
    ARRAY,
    FINE,
    INTEGER,
    LONE_SURROGATE,
    NO_ENTRY,
    OBJECT,
    STRING,
    TWICE,
    Tape,
    read_tape,
)  # fmt: skip
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, Lines, Source
from luthier.kbest.reading.shapes import json_complaints as complaints
from luthier.kbest.reading.shapes.json_lists import (
    AGAIN,
    GOOD,
    ID_TYPE,
    Hypotheses,
    Numbers,
    Sentences,
    blame,
    first_of,
    follow,
    only,
    texts_inside,
)  # fmt: skip
from luthier.kbest.reading.shapes.members import members_written
from luthier.kbest.reading.shapes.profiles import GENERIC, LISTS, PROFILES, Profile

_LIST_KEY = re.compile(rb'"(resps|%s)"\s*:\s*\[' % b"|".join(name.encode() for name in LISTS))
_NAMED = re.compile(rb'\{\s*"[^"]*"\s*:\s*\[|\[\s*[\{\[]')
_HYPOTHESIS = re.compile(rb'"hyp(othesis)?"\s*:\s*"')
_FAILED = re.compile(rb'"custom_id"\s*:.*"(response|error)"\s*:')


@dataclasses.dataclass(frozen=True)
class Method(NamedReader):
    """Reads one object per sentence."""

    ordered: ClassVar[bool] = False  # answers of a batch come in any order
    together: ClassVar[bool] = True

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 92 where a list of hypotheses stands in an object, 50 where something is spread over lines."""
        text = head.removeprefix(BOM).lstrip()
        first = text.partition(b"\n")[0].strip()
        if text.startswith((b"{", b"[")) and (_LIST_KEY.search(text) or _FAILED.search(first)):
            return 50 if _is_hypothesis(first) else 92
        return 50 if first in (b"{", b"[") or _NAMED.match(text) else 0

    @classmethod
    def may_be(cls, head: bytes) -> bool:
        """Return whether a file begins as JSON does."""
        return head.removeprefix(BOM).lstrip().startswith((b"{", b"["))

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the sentences in the order of the file."""
        reading: _Reading | None = None
        for tape, lines in _tapes(source):
            reading = reading or _Reading(source, _profile(tape).called(self.called))
            yield reading.block(tape, lines)


def _is_hypothesis(line: bytes) -> bool:
    """Return whether a line is an object that is a hypothesis itself, whatever lists it has beside."""
    if not _HYPOTHESIS.search(line):
        return False
    try:
        value = parse_json(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and any(isinstance(value.get(name), str) for name in ("hyp", "hypothesis"))


def _tapes(source: Source) -> Iterator[tuple[Tape, Lines]]:
    """Yield stretches of lines; if the first line is no value, the whole file is one."""
    stretches = source.lines()
    first = next(stretches)
    if not len(first.numbers) or _is_json(first.raw(0)):
        yield read_tape(first.data, first.starts, first.stops), first
        for lines in stretches:
            yield read_tape(lines.data, lines.starts, lines.stops), lines
        return
    bad, rows = BadLines(), []
    for lines in (first, *stretches):
        bad.extend(lines.bad)
        rows += [lines.raw(row) for row in range(len(lines.numbers))]
    raw = b"\n".join(rows)
    data, start = np.frombuffer(raw, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    tape = read_tape(data, start, start + len(raw))
    if tape.status[0] not in (FINE, LONE_SURROGATE):
        try:
            parse_json(raw)
            line = 1
        except (json.JSONDecodeError, RecursionError) as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise json_error(raw, source.name, line)
    yield tape, Lines(data, start, start + len(raw), start + 1, bad)


def _is_json(raw: bytes) -> bool:
    try:
        parse_json(raw)
    except (json.JSONDecodeError, RecursionError):
        return not raw.strip().startswith((b"{", b"[")) or raw.strip()[-1:] in b"}]"
    return True


def _profile(tape: Tape) -> Profile:
    """Return the first profile whose marks the first object has."""
    roots = tape.roots[tape.roots >= 0][:1]
    if len(roots) and tape.kinds(roots)[0] == ARRAY:
        roots = tape.members(roots).entries[:1]
    for profile in PROFILES:
        if profile.marks and len(roots) and all((_key(tape, roots, mark) >= 0).all() for mark in profile.marks):
            return profile
    return GENERIC


def _key(tape: Tape, objects: Int64, key: str) -> Int64:
    """Return what stands under a key, null too."""
    return tape.find(only(tape, objects, OBJECT), (key,))[0][:, 0]


class _Reading:
    """What is known of a file beyond one stretch of it: ids, how many sentences, what the first object says."""

    def __init__(self, source: Source, profile: Profile) -> None:
        self._source, self._profile = source, profile
        self._seen, self._n = Interner(), 0
        self._same: str | None = None

    def block(self, tape: Tape, lines: Lines) -> Block:
        """Return the hypotheses of a stretch."""
        profile, bad = self._profile, BadLines()
        bad.extend(lines.bad)
        self._on_syntax(bad, tape, lines)
        rows = np.flatnonzero(tape.roots >= 0)
        sentences = Sentences.of(tape, profile, tape.roots[rows], self._source.name)
        sentences = dataclasses.replace(sentences, rows=rows[sentences.rows])
        if profile.same:
            sentences = self._only_same(tape, sentences)
        entries = sentences.entries
        verdict = np.full(len(entries), GOOD, dtype=np.uint8)
        found = Hypotheses.of(tape, profile, entries, verdict)
        texts = texts_inside(tape, profile, found, verdict)
        numbers = Numbers(tape, found, self._source.names, verdict)
        numbers.collect(profile, entries)
        sources, references = _sources(tape, entries, profile), _references(tape, entries, profile)
        ids, integers, by_source = self._ids(tape, sentences, found, sources, verdict)
        numbered = _line_numbers(tape, lines, sentences)
        data, *others = one_per_sentence(ids, sources, references)
        self._describe(bad, tape, sentences, verdict, ids, numbered)
        good = verdict == GOOD
        for what, other in zip(("source", "references"), others, strict=True):
            at = numbered[other & good]
            bad.add("sentence-data", at, self._contradictions(what, at))
            good &= ~other
        row_starts, names, values = numbers.finish()
        owner = found.sentences
        block = Block(
            lines=numbered[owner], ids=ids.take(owner), texts=texts, row_starts=row_starts, names=names, values=values,
            sentences=data if good.all() else _data(ids, sources, references, np.flatnonzero(good)),
            bad=bad, gaps=True, guessed=True, by_source=by_source, integer_ids=integers[owner],
            other_keys=RepeatedTexts(self._other_keys(tape, lines, found, entries), owner.astype(np.int32)),
        )  # fmt: skip
        return block.keep(good[owner])

    def _other_keys(self, tape: Tape, lines: Lines, found: Hypotheses, entries: Int64) -> Texts:
        """Return what the sentences' objects say beside; numbers of an object that is a hypothesis are features."""
        profile = self._profile
        used = {path.split(".")[0] for path in (*profile.list, *profile.text, *profile.id, *profile.references)}
        row = bool((found.lists == NO_ENTRY).all())
        return members_written(tape, lines.data, only(tape, entries, OBJECT), used, numbers=not row)

    def _contradictions(self, what: str, lines: Int64) -> Callable[[int], InputError]:
        return lambda i: contradiction(what, self._source.name, int(lines[i]))

    def _on_syntax(self, bad: BadLines, tape: Tape, lines: Lines) -> None:
        for kind, half in (("json", False), ("utf-8", True)):
            at = np.flatnonzero((tape.status != FINE) & ((tape.status == LONE_SURROGATE) == half))
            bad.add(kind, lines.numbers[at], self._unread(tape, lines, at))

    def _unread(self, tape: Tape, lines: Lines, at: Int64) -> Callable[[int], InputError]:
        def describe(i: int) -> InputError:
            row, path = int(at[i]), self._source.name
            if tape.status[row] == LONE_SURROGATE:
                return surrogate_error(path, int(lines.numbers[row]))
            return json_error(lines.raw(row), path, int(lines.numbers[row]))

        return describe

    def _only_same(self, tape: Tape, sentences: Sentences) -> Sentences:
        """Return the sentences that say what the first says, so that each is read once."""
        values = tape.texts(_key(tape, sentences.entries, self._profile.same))
        if self._same is None and len(values):
            self._same = values[0]
        kept = np.array([value == self._same for value in values], dtype=np.bool_)
        return Sentences(sentences.entries[kept], sentences.rows[kept], sentences.names[kept])

    def _ids(
        self, tape: Tape, sentences: Sentences, found: Hypotheses, sources: TextLists, verdict: Bytes
    ) -> tuple[Texts, Bool, bool]:
        """Return ids, which of them are integers, and whether they are the sources."""
        n, given = len(sentences.entries), first_of(tape, sentences.entries, self._profile.id)
        kinds = tape.kinds(given)
        blame(verdict, ID_TYPE, ~np.isin(kinds, (ABSENT, STRING, INTEGER)) | (given == TWICE))
        given = np.where(sentences.names >= 0, sentences.names, given)
        row = (found.lists == NO_ENTRY) & (np.diff(found.offsets) == 1)
        own = sentences.numbers is None and bool((given < 0).all())
        if own and n and row.all() and sources.given.all():
            return Texts.from_spans(sources.data, sources.starts, sources.stops), np.zeros(n, dtype=np.bool_), True
        numbers = np.arange(self._n, self._n + n) if sentences.numbers is None else sentences.numbers
        self._n += n
        order = np.where(given >= 0, np.arange(n), n + np.arange(n))
        ids = Texts.concatenate([tape.texts(given), decimals(numbers)]).take(order)
        known = len(self._seen)
        seen = self._seen.intern_texts(ids)
        first = np.zeros(n, dtype=np.bool_)
        first[np.unique(seen, return_index=True)[1]] = True
        blame(verdict, AGAIN, ~row & ((seen < known) | ~first) & np.isin(kinds, (ABSENT, STRING, INTEGER)))
        return ids, (given < 0) | ((kinds == INTEGER) & (sentences.names < 0)), False

    def _describe(
        self, bad: BadLines, tape: Tape, sentences: Sentences, verdict: Bytes, ids: Texts, lines: Int64
    ) -> None:
        for fault in np.unique(verdict[verdict != GOOD]).tolist():
            at = np.flatnonzero(verdict == fault)

            def describe(i: int, at: Int64 = at, fault: int = fault) -> InputError:
                k = int(at[i])
                value = complaints.value_at(tape, int(sentences.entries[k]))
                path, line = self._source.name, int(lines[k])
                return complaints.complaint(fault, value, self._profile, ids[k], path, line)

            bad.add(complaints.KINDS[fault], lines[at], describe)


def _line_numbers(tape: Tape, lines: Lines, sentences: Sentences) -> Int64:
    """Return the line on which each sentence begins."""
    numbers = lines.numbers[sentences.rows]
    if len(lines.numbers) == 1:
        breaks = np.flatnonzero(lines.data[lines.starts[0] : lines.stops[0]] == ord("\n"))
        numbers = numbers + np.searchsorted(breaks, tape.spans(sentences.entries)[1] - lines.starts[0])
    return np.asarray(numbers, dtype=np.int64)


def _sources(tape: Tape, objects: Int64, profile: Profile) -> TextLists:
    """Return the source of each sentence, if it has one: a text, or the last message of a dialogue."""
    entries = first_of(tape, objects, profile.source)
    messages = tape.members(only(tape, entries, ARRAY))
    some = np.flatnonzero(np.diff(messages.offsets) > 0)
    entries = only(tape, entries, STRING)
    entries[some] = only(tape, follow(tape, messages.entries[messages.offsets[1:][some] - 1], "content"), STRING)
    given = (entries >= 0) & (tape.spans(entries)[2] > tape.spans(entries)[1])
    return TextLists(offsets_from_counts(given), *tape.spans(entries[given]))


def _references(tape: Tape, objects: Int64, profile: Profile) -> TextLists:
    """Return the references of each sentence: a text or an array of them."""
    entries = first_of(tape, objects, profile.references)
    single = only(tape, entries, STRING)
    inside = tape.members(only(tape, entries, ARRAY))
    texts = tape.kinds(inside.entries) == STRING
    before = offsets_from_counts(texts)
    counts = np.diff(before[inside.offsets]) + (single >= 0)
    offsets = offsets_from_counts(counts)
    joined = np.empty(int(offsets[-1]), dtype=np.int64)
    alone = np.zeros(len(joined), dtype=np.bool_)
    alone[offsets[:-1][single >= 0]] = True
    joined[alone], joined[~alone] = single[single >= 0], inside.entries[texts]
    return TextLists(offsets, *tape.spans(joined))


def _data(ids: Texts, sources: TextLists, references: TextLists, good: Int64):  # type: ignore[no-untyped-def]
    if not len(good):
        return None
    return one_per_sentence(ids.take(good), sources.take(good), references.take(good))[0]
