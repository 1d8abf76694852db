"""Nested JSON: one object for each sentence, with the list of its hypotheses inside, as programs dump it.

What people write who draw several outputs with Hugging Face's ``generate``, pyctcdecode or Whisper::

    {"id": "a1", "ref": "hello world", "sequences": ["hello word", "hello world"], "sequences_scores": [-0.2, -0.3]}
    {"id": "a1", "beams": [["hello word", null, [], -4.5, -6.0], ["hello world", null, [], -4.7, -5.1]]}
    {"id": "a1", "nbest": [{"text": "hello word", "segments": [{"avg_logprob": -0.2, "tokens": [1, 2]}]}]}

One object per line, or the whole file one array of objects, or one object that names sentences
(``{"a1": […], "a2": […]}``). The list is under ``nbest``, ``n_best``, ``beams``, ``hypotheses``, ``hyps``,
``candidates``, ``sequences``, ``outputs`` or ``predictions``. A hypothesis is

* a text; arrays of as many numbers beside the list (``sequences_scores``) are features,
* an object with a text (``text``, ``hyp``, ``hypothesis``, ``translation``, ``generated_text``, ``transcript``) and
  numbers, which are features; numbers inside an object ``features`` or ``scores`` are features, too. ``segments``, as
  Whisper writes them, give ``logprob`` (the sum of ``avg_logprob`` times tokens plus one, which undoes Whisper's mean),
  ``tokens``, and the highest ``no_speech_prob`` and ``compression_ratio``,
* an array as pyctcdecode's beams: the text first, and at the end the features ``logit_score`` and ``lm_score``.

``id`` (or ``sentence_id``, ``segment_id``, ``utt_id``, ``key``, ``audio_filepath``, ``audio``) names the sentence, else
its number from 0 does. ``ref``, ``refs``, ``reference``, ``references``, ``target`` and ``transcript`` are references,
``source`` and ``src`` the source. A feature that most hypotheses have is missing where one lacks it. In an array of
objects without such lists, as data frames write it, each object is a hypothesis.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.errors import InputError
from luthier.core.files.io import BOM
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.kbest.reading.json_errors import described, json_error, parse_json, surrogate_error
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, Reader, SentenceData, Source

LISTS = ("nbest", "n_best", "beams", "hypotheses", "hyps", "candidates", "sequences", "outputs", "predictions")
IDS = ("id", "sentence_id", "segment_id", "utt_id", "utterance_id", "key", "audio_filepath", "audio")
TEXTS = ("hyp", "hypothesis", "text", "translation", "generated_text", "transcript")
REFERENCES = ("refs", "ref", "references", "reference", "target", "transcript")
SOURCES = ("source", "src")
INSIDE = ("features", "scores")
CTC = ("logit_score", "lm_score")
_LIST_KEY = re.compile(rb'"(%s)"\s*:\s*\[' % b"|".join(name.encode() for name in LISTS))


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reads one object per sentence."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 92 where a list of hypotheses stands in an object, 50 where something is spread over lines."""
        text = head.removeprefix(BOM).lstrip()
        if text.startswith((b"{", b"[")) and _LIST_KEY.search(text):
            return 92
        first = text.partition(b"\n")[0].strip()
        return 50 if first in (b"{", b"[") or re.match(rb'\{\s*"[^"]*"\s*:\s*\[|\[\s*\{', text) else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the sentences in the order of the file."""
        number, before = 0, None
        for lines in _values(source):
            bad = BadLines()
            bad.extend(lines.bad)
            sentences = []
            for line, name, value in lines.values:
                try:
                    found = _sentence(value, name, number, source.name, line)
                    if found.id == before and any(key in value for key in LISTS):
                        raise _twice(found, source.name)
                    sentences.append(found)
                    before = found.id
                except InputError as error:
                    bad.add(error.kind, np.array([line]), lambda _, error=error: error)  # type: ignore[misc]
                number += 1
            yield _block(source, sentences, bad)


@dataclasses.dataclass(frozen=True)
class _Values:
    """Objects with their lines and, where an object above names them, their names."""

    values: list[tuple[int, str | None, Any]]
    bad: BadLines


@dataclasses.dataclass(frozen=True)
class _Sentence:
    line: int
    id: str
    texts: list[str]
    numbers: list[dict[str, float]]
    source: str
    references: list[str]


def _values(source: Source) -> Iterator[_Values]:
    """Yield the objects of lines; if the first line is not one, the whole file is one value."""
    stretches = source.lines()
    first = next(stretches)
    if len(first.numbers) and not _is_json(first.raw(0)):
        yield _whole(source, [first, *stretches])
        return
    for lines in [first], stretches:
        for stretch in lines:
            values, bad = [], BadLines()
            bad.extend(stretch.bad)
            for row, line in enumerate(stretch.numbers.tolist()):
                raw = stretch.raw(row)
                try:
                    values += _named(parse_json(raw), line)
                except (json.JSONDecodeError, RecursionError):
                    error = json_error(raw, source.name, line)
                    bad.add(error.kind, np.array([line]), lambda _, error=error: error)  # type: ignore[misc]
            yield _Values(values, bad)


def _whole(source: Source, stretches: list[Any]) -> _Values:
    bad = BadLines()
    for stretch in stretches:
        bad.extend(stretch.bad)
    raw = b"\n".join(stretch.raw(row) for stretch in stretches for row in range(len(stretch.numbers)))
    try:
        return _Values(_named(parse_json(raw), 1), bad)
    except (json.JSONDecodeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise json_error(raw, source.name, line) from None


def _is_json(raw: bytes) -> bool:
    try:
        parse_json(raw)
    except (json.JSONDecodeError, RecursionError):
        return not raw.strip().startswith((b"{", b"[")) or raw.strip()[-1:] in b"}]"
    return True


def _named(value: Any, line: int) -> list[tuple[int, str | None, Any]]:
    """Return the objects of a value: itself, the items of an array, or what an object of lists names."""
    if isinstance(value, list):
        return [(line, None, item) for item in value]
    if isinstance(value, dict) and value and not any(key in value for key in LISTS):
        inner = list(value.values())
        if all(isinstance(item, list) or (isinstance(item, dict) and any(k in item for k in LISTS)) for item in inner):
            return [(line, name, item if isinstance(item, dict) else {LISTS[0]: item}) for name, item in value.items()]
    return [(line, None, value)]


class _Fault(Exception):
    """What is wrong with an object."""

    def __init__(self, kind: str, expected: str, found: str, hint: str = "") -> None:
        super().__init__(expected)
        self.kind, self.expected, self.found, self.hint = kind, expected, found, hint


def _sentence(value: Any, name: str | None, number: int, path: str, line: int) -> _Sentence:
    """Return what an object says, or raise the complaint about it."""
    try:
        if not isinstance(value, dict):
            raise _Fault("json", "an object for each sentence", described(value))
        texts, numbers = _hypotheses(value)
        found = _Sentence(line, name or _id(value, number), texts, numbers, *_given(value))
        for text in [found.id, *found.texts, found.source, *found.references, *(k for item in numbers for k in item)]:
            text.encode("utf-8")
    except _Fault as fault:
        raise InputError(
            expected=fault.expected, found=fault.found, path=path, line=line, hint=fault.hint, kind=fault.kind
        ) from None
    except UnicodeEncodeError:
        raise surrogate_error(path, line) from None
    return found


def _twice(found: _Sentence, path: str) -> InputError:
    """Return the complaint about a list whose sentence had one already: joined, they would be one list."""
    return InputError(
        expected="one object for each sentence",
        found=f"another one of {found.id!r}",
        path=path,
        line=found.line,
        hint="give each its own id, or put all hypotheses into one list",
        kind="id",
    )


def _hypotheses(value: dict[str, Any]) -> tuple[list[str], list[dict[str, float]]]:
    key = next((key for key in LISTS if key in value), None)
    if key is None and any(isinstance(value.get(name), str) for name in TEXTS):
        text, own = _hypothesis({name: item for name, item in value.items() if name not in IDS}, "")
        return [text], [own]
    if key is None:
        raise _Fault(
            "fields",
            f"a list of hypotheses as {', '.join(LISTS[:3])} or the like",
            "only " + ", ".join(json.dumps(key) for key in list(value)[:8]) if value else "an empty object",
        )
    items = value[key]
    if not isinstance(items, list):
        raise _Fault("type", f'an array as "{key}"', described(items))
    found = [_hypothesis(item, key) for item in items]
    beside = {name: item for name, item in value.items() if name not in (key, *IDS) and _are_numbers(item)}
    for name, numbers in beside.items():
        if len(numbers) != len(items):
            raise _Fault("fields", f'as many numbers in "{name}" as hypotheses ({len(items)})', str(len(numbers)))
        for (_, own), number in zip(found, numbers, strict=True):
            own["score" if name == "scores" else name] = _number(number, name)
    return [text for text, _ in found], [numbers for _, numbers in found]


def _hypothesis(item: Any, key: str) -> tuple[str, dict[str, float]]:
    if isinstance(item, str):
        return item, {}
    if isinstance(item, list) and len(item) > len(CTC) and isinstance(item[0], str):
        return item[0], {name: _number(number, name) for name, number in zip(CTC, item[-2:], strict=True)}
    if not isinstance(item, dict):
        raise _Fault("type", f'texts, objects or beams in "{key}"', described(item))
    name = next((name for name in TEXTS if isinstance(item.get(name), str)), None)
    if name is None:
        raise _Fault("fields", f"a text in each hypothesis ({', '.join(TEXTS[:3])})", "none")
    numbers = {name: _number(value, name) for name, value in item.items() if _plain(value)}
    for inside in INSIDE:
        if isinstance(item.get(inside), dict):
            numbers |= {name: _number(value, name) for name, value in item[inside].items() if value is not None}
    return item[name], numbers | _whisper(item.get("segments"))


def _whisper(segments: Any) -> dict[str, float]:
    """Return what Whisper says of a hypothesis, which it says segment by segment."""
    if not isinstance(segments, list) or not segments or not all(isinstance(part, dict) for part in segments):
        return {}
    found: dict[str, float] = {}
    counts = [len(part["tokens"]) if isinstance(part.get("tokens"), list) else None for part in segments]
    means = [part.get("avg_logprob") for part in segments]
    if all(count is not None for count in counts):
        found["tokens"] = float(sum(count or 0 for count in counts))
        if all(_plain(mean) for mean in means):
            pairs = zip(means, counts, strict=True)
            found["logprob"] = math.fsum(_number(mean, "avg_logprob") * ((count or 0) + 1) for mean, count in pairs)
    for name in ("no_speech_prob", "compression_ratio"):
        values = [part.get(name) for part in segments]
        if all(_plain(value) for value in values):
            found[name] = max(_number(value, name) for value in values)
    return found


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(_plain(number) for number in value)


def _plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any, name: str) -> float:
    if not _plain(value):
        raise _Fault("number", f'a number as "{name}"', described(value))
    if abs(value) > 1e308 or not math.isfinite(value):
        raise _Fault("not-finite", f'a finite number as "{name}"', str(value))
    return float(value)


def _id(value: dict[str, Any], number: int) -> str:
    found = next((value[key] for key in IDS if value.get(key) is not None), number)
    if isinstance(found, bool) or not isinstance(found, int | str):
        raise _Fault("type", 'a string or an integer as "id"', described(found))
    return str(found)


def _given(value: dict[str, Any]) -> tuple[str, list[str]]:
    """Return source and references; empty where there are none."""
    source = next((value[key] for key in SOURCES if isinstance(value.get(key), str)), "")
    references: Any = next((value[key] for key in REFERENCES if isinstance(value.get(key), str | list)), [])
    references = [references] if isinstance(references, str) else references
    return source, [text for text in references if isinstance(text, str)]


def _block(source: Source, sentences: list[_Sentence], bad: BadLines) -> Block:
    counts = [len(sentence.texts) for sentence in sentences]
    rows = [numbers for sentence in sentences for numbers in sentence.numbers]
    known = [sentence for sentence in sentences if sentence.source or sentence.references]
    data = None
    if known:
        references = Texts.from_strings(text for sentence in known for text in sentence.references)
        data = SentenceData(
            Texts.from_strings(sentence.id for sentence in known),
            Texts.from_strings(s.source for s in known) if any(s.source for s in known) else None,
            references if len(references) else None,
            offsets_from_counts([len(sentence.references) for sentence in known]) if len(references) else None,
        )
    return Block(
        lines=np.repeat(np.array([sentence.line for sentence in sentences], dtype=np.int64), counts),
        ids=Texts.from_strings(s.id for s in sentences).take(np.repeat(np.arange(len(counts)), counts)),
        texts=Texts.from_strings(text for sentence in sentences for text in sentence.texts),
        row_starts=offsets_from_counts([len(numbers) for numbers in rows]),
        names=source.names.from_strings([name for numbers in rows for name in numbers]),
        values=np.array([number for numbers in rows for number in numbers.values()], dtype=np.float64),
        sentences=data,
        bad=bad,
        gaps=True,
    )
