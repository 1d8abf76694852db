"""Lists inside JSON objects, on the tape: which entries are sentences, which hypotheses, which numbers are whose."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.arrays import Bool, Bytes, Float64, Int32, Int64
from luthier.core.errors import InputError
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading.arrow_columns import texts_of
from luthier.kbest.reading.json_tape import ABSENT, ARRAY, INTEGER, NO_ENTRY, NULL, OBJECT, STRING, TWICE, Members, Tape
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.shapes.profiles import Profile

# What can be wrong with a sentence, the first of it in this order.
(
    GOOD, NOT_OBJECT, KEY_TWICE, FAILED, NO_LIST, NOT_LIST, ITEM_TYPE, NO_TEXT, ID_TYPE, NOT_NUMBER, NOT_FINITE,
    NULL_LOGPROB, LENGTHS, AGAIN,
) = range(14)  # fmt: skip

CTC = ("logit_score", "lm_score")  # the last two of pyctcdecode's beams
INSIDE = ("features", "scores")
TOKENS = ("logprobs.content", "logprobs.token_logprobs")
BESIDE = re.compile("token_ids$|^tokens$|^token_logprobs$")  # arrays that say nothing of hypotheses
SINGULAR = {"scores": "score", "rewards": "reward"}


def follow(tape: Tape, objects: Int64, path: str) -> Int64:
    """Return what stands at a path in each object: NO_ENTRY for nothing or null, TWICE for a key that repeats."""
    for key in path.split("."):
        objects = tape.find(only(tape, objects, OBJECT), (key,))[0][:, 0]
    return np.where(tape.kinds(objects) == NULL, NO_ENTRY, objects)


def first_of(tape: Tape, objects: Int64, paths: Sequence[str], kind: int | None = None) -> Int64:
    """Return what stands at the first of some paths that an object has, of one kind if that is given."""
    found = np.full(len(objects), NO_ENTRY, dtype=np.int64)
    for path in paths:
        lacking = np.flatnonzero(found == NO_ENTRY)
        if not len(lacking):
            break
        entries = follow(tape, objects[lacking], path)
        found[lacking] = entries if kind is None else only(tape, entries, kind)
    return found


def only(tape: Tape, entries: Int64, kind: int) -> Int64:
    """Return the entries of a kind, NO_ENTRY in place of others."""
    return np.where(tape.kinds(entries) == kind, entries, NO_ENTRY)


@dataclasses.dataclass(frozen=True, eq=False)
class Sentences:
    """The entries of sentences: objects or bare lists, the row of each one's line, and what names it, if anything."""

    entries: Int64
    rows: Int64
    names: Int64
    numbers: Int64 | None = None  # ids, where the place in the file is one

    @classmethod
    def of(cls, tape: Tape, profile: Profile, roots: Int64, path: str) -> Sentences:
        """Return the sentences of lines: each an object or a list, an array of such, or an object that names them."""
        listed = first_of(tape, roots, profile.list, ARRAY) >= 0
        named = (tape.kinds(roots) == OBJECT) & ~listed & (first_of(tape, roots, profile.text, STRING) < 0)
        inner = tape.members(np.where(named | (tape.kinds(roots) == ARRAY), roots, NO_ENTRY))
        kinds = tape.kinds(inner.entries)
        has_list = first_of(tape, inner.entries, profile.list, ARRAY) >= 0
        if len(roots) == 1 and named[0] and len(kinds) and (kinds == ARRAY).all():
            systems = tape.members(inner.entries)
            if (first_of(tape, systems.entries, ("mt",), STRING) >= 0).all() and len(systems.entries):
                return cls._of_systems(systems, path)
        counts = np.diff(inner.offsets)
        own = named & (counts > 0) & ~inner.any((kinds != ARRAY) & ~has_list)
        rows_inside = (kinds == OBJECT) & (has_list | (len(roots) == 1))
        spread = own | (~named & (counts > 0) & ~inner.any((kinds != ARRAY) & ~rows_inside))
        sizes = np.where(spread, counts, 1)
        rows = np.repeat(np.arange(len(roots)), sizes)
        inside = np.repeat(spread, sizes)
        entries = roots[rows]
        entries[inside] = inner.entries[np.repeat(spread, counts)]
        return cls(entries, rows, np.where(own[rows], entries - 1, NO_ENTRY))

    @classmethod
    def _of_systems(cls, systems: Members, path: str) -> Sentences:
        """Return the rows of COMET's object of systems: row i of all systems is sentence i."""
        counts = np.diff(systems.offsets)
        if (counts != counts[0]).any():
            found = " and ".join(map(str, np.unique(counts)[:3].tolist()))
            raise InputError(expected="as many translations of each system", found=found, path=path, kind="length")
        numbers = np.arange(len(systems.entries)) - np.repeat(systems.offsets[:-1], counts)
        order = np.argsort(numbers, kind="stable")
        nothing = np.full(len(order), NO_ENTRY, dtype=np.int64)
        of_systems = numbers[order] if len(counts) > 1 else None
        return cls(systems.entries[order], np.zeros(len(order), dtype=np.int64), nothing, of_systems)


@dataclasses.dataclass(frozen=True, eq=False)
class Hypotheses:
    """The hypotheses of n sentences: those of sentence i from ``offsets[i]`` to ``offsets[i+1]``.

    `lists` are the entries of the lists, NO_ENTRY where the sentence's object itself is a hypothesis.
    """

    lists: Int64
    offsets: Int64
    entries: Int64

    @property
    def sentences(self) -> Int64:
        """The sentence of each hypothesis."""
        return segment_of_rows(self.offsets)

    @classmethod
    def of(cls, tape: Tape, profile: Profile, sentences: Int64, verdict: Bytes) -> Hypotheses:
        """Return the hypotheses; sentences without any go into `verdict`."""
        kinds = tape.kinds(sentences)
        lists = np.where(kinds == ARRAY, sentences, first_of(tape, sentences, profile.list))
        row = (lists == NO_ENTRY) & (first_of(tape, sentences, profile.text, STRING) >= 0)
        if profile.failure:
            wrong = follow(tape, sentences, profile.failure[0]) >= 0
            status = follow(tape, sentences, profile.failure[1])
            values, fine = parse_numbers(*tape.spans(status))
            blame(verdict, FAILED, wrong | ((status >= 0) & ((fine != NUMBER_OK) | (values != 200.0))))
        blame(verdict, KEY_TWICE, lists == TWICE)
        blame(verdict, NOT_OBJECT, (kinds != OBJECT) & (kinds != ARRAY))
        blame(verdict, NO_LIST, (lists == NO_ENTRY) & ~row)
        blame(verdict, NOT_LIST, (lists >= 0) & (tape.kinds(lists) != ARRAY))
        members = tape.members(only(tape, lists, ARRAY))
        if profile.repeats:
            inner = tape.members(only(tape, members.entries, ARRAY))
            members = Members(inner.offsets[members.offsets], inner.entries)
        offsets = offsets_from_counts(np.diff(members.offsets) + row)
        entries = np.empty(int(offsets[-1]), dtype=np.int64)
        alone = np.zeros(len(entries), dtype=np.bool_)
        alone[offsets[:-1][row]] = True
        entries[alone], entries[~alone] = sentences[row], members.entries
        return cls(lists, offsets, entries)


def blame(verdict: Bytes, fault: int, wrong: Bool) -> None:
    """Write a fault where something is wrong and nothing was before."""
    verdict[wrong & (verdict == GOOD)] = fault


def texts_inside(tape: Tape, profile: Profile, found: Hypotheses, verdict: Bytes) -> Texts:
    """Return the text of each hypothesis: a string, in an object, first in a beam, or tokens, which are joined."""
    kinds, entries = tape.kinds(found.entries), found.entries
    texts = np.where(kinds == STRING, entries, first_of(tape, entries, profile.text))
    inner = tape.members(only(tape, entries, ARRAY))
    inner_kinds = tape.kinds(inner.entries)
    lists = np.diff(inner.offsets) > 0
    first = np.full(len(entries), NO_ENTRY, dtype=np.int64)
    first[lists] = inner.entries[inner.offsets[:-1][lists]]
    tokens = lists & ~inner.any(inner_kinds != STRING)
    beam = lists & ~tokens & (np.diff(inner.offsets) > len(CTC)) & (tape.kinds(first) == STRING)
    message = lists & (tape.kinds(first) == OBJECT)
    texts[beam] = first[beam]
    texts[message] = follow(tape, first[message], "content")
    kinds_of_texts = tape.kinds(texts)
    plain = np.isin(kinds, (STRING, OBJECT)) | tokens | beam | message
    blame(verdict, ITEM_TYPE, _in_any(found, ~plain))
    blame(verdict, NO_TEXT, _in_any(found, ~tokens & (kinds_of_texts != STRING)))
    plain_texts = tape.texts(only(tape, texts, STRING))
    return _with_tokens(tape, plain_texts, inner, tokens) if tokens.any() else plain_texts


def _with_tokens(tape: Tape, texts: Texts, inner: Members, rows: Bool) -> Texts:
    """Return texts with those of lists of tokens joined: by blanks, or as SentencePiece marks where words begin."""
    chosen = inner.take(np.flatnonzero(rows))
    tokens = tape.texts(chosen.entries)
    narrow = np.ascontiguousarray(tokens.offsets, dtype=np.int32)
    array = pa.StringArray.from_buffers(len(tokens), pa.py_buffer(narrow), pa.py_buffer(tokens.data))
    lists = pa.ListArray.from_arrays(pa.array(chosen.offsets.astype(np.int32)), array)
    marked = pc.starts_with(array, "▁")
    joined = pc.binary_join(lists, "" if pc.any(marked).as_py() else " ")
    made = texts_of(pc.utf8_trim_whitespace(pc.replace_substring(joined, "▁", " ")))
    order = np.arange(len(texts))
    order[rows] = len(texts) + np.arange(len(made))
    return Texts.concatenate([texts, made]).take(order)


def _in_any(found: Hypotheses, wrong: Bool) -> Bool:
    before = offsets_from_counts(wrong)
    return np.asarray(before[found.offsets[1:]] > before[found.offsets[:-1]])


class Numbers:
    """Collects the numbers of hypotheses, by name."""

    def __init__(self, tape: Tape, found: Hypotheses, names: NameTable, verdict: Bytes) -> None:
        self._tape, self._found, self._names, self._verdict = tape, found, names, verdict
        self._parts: list[tuple[Int64, Int32, Float64]] = []

    def collect(self, profile: Profile, sentences: Int64) -> None:
        """Take all numbers that stand in hypotheses, or in arrays beside the lists."""
        items = self._found.entries
        objects = only(self._tape, items, OBJECT)
        used = tuple(path for path in (*profile.id, *profile.text) if "." not in path)
        self._take_numbers(objects, self._tape.find(objects, used)[1])
        for key in INSIDE:
            inside = only(self._tape, follow(self._tape, objects, key), OBJECT)
            if (inside >= 0).any():
                self._take_objects(inside)
        self._take_beams(items)
        self._take_tokens(objects)
        self._take_segments(only(self._tape, follow(self._tape, objects, "segments"), ARRAY))
        if profile.ratings:
            self._take_ratings(only(self._tape, follow(self._tape, objects, profile.ratings), OBJECT))
        self._take_arrays(sentences, profile)

    def finish(self) -> tuple[Int64, Int32, Float64]:
        """Return where the numbers of each hypothesis start, their names and values."""
        nothing = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))
        rows, names, values = (np.concatenate(part) for part in zip(nothing, *self._parts, strict=True))
        order = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=len(self._found.entries))
        return offsets_from_counts(counts), names[order].astype(np.int32), values[order]

    def _add(self, rows: Int64, names: Int32, values: Float64) -> None:
        self._parts.append((rows.astype(np.int64), names, values))

    def _named(self, name: str, rows: Int64, values: Float64) -> None:
        if len(rows):
            self._add(rows, np.repeat(self._names.from_strings([name]), len(rows)), values)

    def _blame(self, fault: int, rows: Int64) -> None:
        wrong = np.zeros(len(self._verdict), dtype=np.bool_)
        wrong[self._found.sentences[rows]] = True
        blame(self._verdict, fault, wrong)

    def _parse(self, rows: Int64, entries: Int64) -> Float64:
        """Return numbers; what is not one, or not finite, is wrong with the hypothesis in `rows`."""
        numeric = self._tape.kinds(entries) >= INTEGER
        values, status = parse_numbers(*self._tape.spans(entries))
        self._blame(NOT_NUMBER, rows[~numeric])
        self._blame(NOT_FINITE, rows[numeric & (status != NUMBER_OK)])
        return values

    def _take_numbers(self, objects: Int64, entries: Int64) -> None:
        if not len(entries):
            return
        inside = np.flatnonzero(objects >= 0)
        order = np.argsort(objects[inside], kind="stable")
        rows = inside[order[np.searchsorted(objects[inside][order], entries, side="right") - 1]]
        values = self._parse(rows, entries)
        self._add(rows, self._names.from_spans(*self._tape.spans(entries - 1)), values)

    def _take_objects(self, objects: Int64) -> None:
        members = self._tape.members(objects)
        given = self._tape.kinds(members.entries) != NULL
        rows, entries = segment_of_rows(members.offsets)[given], members.entries[given]
        values = self._parse(rows, entries)
        self._add(rows, self._names.from_spans(*self._tape.spans(entries - 1)), values)

    def _take_beams(self, items: Int64) -> None:
        members = self._tape.members(only(self._tape, items, ARRAY))
        kinds = self._tape.kinds(members.entries)
        rows = np.flatnonzero((np.diff(members.offsets) > len(CTC)) & members.any(kinds != STRING))
        rows = rows[kinds[members.offsets[:-1][rows]] == STRING]
        for name, back in zip(CTC, (2, 1), strict=True):
            self._named(name, rows, self._parse(rows, members.entries[members.offsets[1:][rows] - back]))

    def _take_tokens(self, objects: Int64) -> None:
        """Take sum and count of token log-probabilities, as OpenAI and vLLM write them; else the count of token ids."""
        tape = self._tape
        lists = first_of(tape, objects, TOKENS, ARRAY)
        has = np.flatnonzero(lists >= 0)
        if len(has):
            members = tape.members(lists)
            rows, entries = segment_of_rows(members.offsets), members.entries
            inside = tape.kinds(entries) == OBJECT
            entries = np.where(inside, tape.find(only(tape, entries, OBJECT), ("logprob",))[0][:, 0], entries)
            self._blame(NULL_LOGPROB, rows[np.isin(tape.kinds(entries), (NULL, ABSENT))])
            sums: Float64 = np.bincount(rows, self._parse(rows, entries), minlength=len(objects)).astype(np.float64)
            self._named("logprob", has, sums[has])
            self._named("tokens", has, np.diff(members.offsets)[has].astype(np.float64))
        ids = only(tape, follow(tape, objects, "token_ids"), ARRAY)
        rest = np.flatnonzero((ids >= 0) & (lists < 0))
        if len(rest):
            self._named("tokens", rest, np.diff(tape.members(ids[rest]).offsets).astype(np.float64))

    def _take_segments(self, lists: Int64) -> None:
        """Take what Whisper says of a hypothesis, which it says segment by segment."""
        tape, parts = self._tape, self._tape.members(lists)
        rows = np.flatnonzero((np.diff(parts.offsets) > 0) & ~parts.any(tape.kinds(parts.entries) != OBJECT))
        if not len(rows):
            return
        parts = parts.take(rows)
        keys = ("tokens", "avg_logprob", "no_speech_prob", "compression_ratio")
        tokens, means, *highest = tape.find(parts.entries, keys)[0].T
        owner, starts = segment_of_rows(parts.offsets), parts.offsets[:-1]
        all_count = ~parts.any(tape.kinds(tokens) != ARRAY)
        counts = np.diff(tape.members(only(tape, tokens, ARRAY)).offsets).astype(np.float64)
        self._named("tokens", rows[all_count], np.add.reduceat(counts, starts)[all_count])

        def values_of(entries: Int64, whole: Bool) -> tuple[Bool, Float64]:
            """Return which hypotheses have a number in every segment, and the numbers."""
            fine = whole & ~parts.any(tape.kinds(entries) < INTEGER)
            return fine, self._parse(rows[owner[fine[owner]]], entries[fine[owner]])

        fine, values = values_of(means, all_count)
        kept = np.flatnonzero(fine)
        place = np.cumsum(fine)[owner[fine[owner]]] - 1
        sums = np.bincount(place, values * (counts[fine[owner]] + 1), minlength=len(kept))
        self._named("logprob", rows[kept], sums.astype(np.float64))
        for name, entries in zip(keys[2:], highest, strict=True):
            fine, values = values_of(entries, np.ones(len(rows), dtype=np.bool_))
            if fine.any():
                bounds = offsets_from_counts(np.diff(parts.offsets)[fine])
                self._named(name, rows[fine], np.maximum.reduceat(values, bounds[:-1]))

    def _take_ratings(self, objects: Int64) -> None:
        """Take the ratings inside the aspects of a hypothesis; "N/A" is none."""
        aspects = self._tape.members(objects)
        ratings = follow(self._tape, aspects.entries, "Rating")
        values, status = parse_numbers(*self._tape.spans(ratings))
        given = (ratings >= 0) & (status == NUMBER_OK)
        rows, names = segment_of_rows(aspects.offsets)[given], aspects.entries[given] - 1
        self._add(rows, self._names.from_spans(*self._tape.spans(names)), values[given])

    def _take_arrays(self, sentences: Int64, profile: Profile) -> None:
        """Take arrays of as many numbers beside the list, such as ``sequences_scores``."""
        tape, found = self._tape, self._found
        members = tape.members(np.where(found.lists >= 0, only(tape, sentences, OBJECT), NO_ENTRY))
        array = tape.kinds(members.entries) == ARRAY
        entries, owner = members.entries[array], segment_of_rows(members.offsets)[array]
        inner = tape.members(entries)
        counts = np.diff(inner.offsets)
        whole = (counts > 0) & ~inner.any(tape.kinds(inner.entries) < INTEGER) & (entries != found.lists[owner])
        interner = Interner()
        names = interner.intern_spans(*tape.spans(entries[whole] - 1))
        labels = list(interner.texts())
        others = (*profile.id, *profile.references)
        wanted = np.array([not BESIDE.search(label) and label not in others for label in labels], dtype=np.bool_)[names]
        lengths = np.diff(found.offsets)[owner[whole]]
        unequal = np.zeros(len(self._verdict), dtype=np.bool_)
        unequal[owner[whole][wanted & (counts[whole] != lengths)]] = True
        blame(self._verdict, LENGTHS, unequal)
        arrays = np.flatnonzero(wanted & (counts[whole] == lengths))
        chosen = inner.take(np.flatnonzero(whole)[arrays])
        sizes = np.diff(chosen.offsets)
        rows = np.repeat(found.offsets[:-1][owner[whole][arrays]] - chosen.offsets[:-1], sizes)
        rows = rows + np.arange(len(chosen.entries))
        numbers = self._names.from_strings([SINGULAR.get(label, label) for label in labels])
        self._add(rows, np.repeat(numbers[names[arrays]], sizes), self._parse(rows, chosen.entries))
