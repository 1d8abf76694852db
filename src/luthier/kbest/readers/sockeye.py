r"""Sockeye's JSON output (--output-type json --nbest-size N): one sentence with its n-best list per line.

Sockeye 2 and 3 write one object per sentence, its keys sorted::

    {"score": 0.31, "scores": [[0.31], [0.42]], "sentence_id": 1,
     "translation": "a text", "translations": ["a text", "the text"]}

Oddities, all read as they come:

* ``translations`` and ``scores`` are there only when the list has more than one entry; a sentence with
  a single hypothesis has ``translation`` and ``score`` alone.
* Sockeye 2 writes ``scores`` as numbers, Sockeye 3 as lists with one number for each target factor (one,
  for a model without factors; of a single hypothesis the others are called ``factor1_score``, …). One
  number makes the feature ``score``, several make ``score_0``, ``score_1``, …
* Scores are negative log probabilities, divided by the length penalty: they are costs, smaller is better.
* ``sentence_id`` counts from 1, other decoders from 0: an integer is taken down by `counts_from`. Through
  the Python interface it can be any integer or string. Where it is missing, the line's number, from 0,
  takes its place.
* Blank source lines, and lines Sockeye cannot use, get an empty translation with the score ``-Infinity``,
  which is not JSON and not a score; such a line is refused as not finite.
* With JSON input, other keys of the input stand beside Sockeye's own. ``text`` is then the source;
  ``ref`` or ``refs`` are taken as references; the rest is skipped. Texts are escaped to ASCII.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.arrays import Int32
from luthier.core.errors import InputError
from luthier.core.params import param
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.kbest.reading.json_errors import described, json_error, not_object_error, parse_json, surrogate_error
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, Lines, Reader, SentenceData, Source

LABEL = "score"


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reads Sockeye's JSON output."""

    counts_from: int = param(1, low=0, high=1, help="number of the first sentence in Sockeye's own count")

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 95 for lines of JSON objects of which one has the key "translations"."""
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        return 95 if text.startswith(b"{") and b'"translations"' in text else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""
        for lines in source.lines():
            yield _block(source, lines, self.counts_from)


@dataclasses.dataclass(frozen=True)
class _Sentence:
    line: int
    id: str
    hypotheses: list[str]
    scores: list[list[float]]
    source: str
    references: list[str]


def _block(source: Source, lines: Lines, counts_from: int) -> Block:
    bad = BadLines()
    bad.extend(lines.bad)
    sentences = []
    for row, line in enumerate(lines.numbers.tolist()):
        try:
            sentences.append(_sentence(lines.raw(row), source.name, line, counts_from))
        except InputError as error:
            bad.add(error.kind, np.array([line]), lambda _, error=error: error)  # type: ignore[misc]
    counts = [len(sentence.hypotheses) for sentence in sentences]
    scores = [numbers for sentence in sentences for numbers in sentence.scores]
    widths = [len(numbers) for numbers in scores]
    return Block(
        lines=np.repeat(np.array([sentence.line for sentence in sentences], dtype=np.int64), counts),
        ids=Texts.from_strings(sentence.id for sentence in sentences).take(np.repeat(range(len(counts)), counts)),
        texts=Texts.from_strings(text for sentence in sentences for text in sentence.hypotheses),
        row_starts=offsets_from_counts(widths),
        names=_names(source, widths),
        values=np.array([number for numbers in scores for number in numbers], dtype=np.float64),
        sentences=_sentence_data(sentences),
        bad=bad,
    )


def _names(source: Source, widths: list[int]) -> Int32:
    positions = np.array([position for width in widths for position in range(width)], dtype=np.int32)
    data = np.frombuffer(LABEL.encode(), dtype=np.uint8)
    starts = np.zeros(len(positions), dtype=np.int64)
    return source.names.from_spans(data, starts, starts + len(data), positions)


def _sentence_data(sentences: list[_Sentence]) -> SentenceData | None:
    known = [sentence for sentence in sentences if sentence.source or sentence.references]
    if not known:
        return None
    ids = Texts.from_strings(sentence.id for sentence in known)
    sources = Texts.from_strings(sentence.source for sentence in known)
    references = Texts.from_strings(text for sentence in known for text in sentence.references)
    return SentenceData(
        ids,
        sources if len(sources.data) else None,
        references if len(references) else None,
        offsets_from_counts([len(sentence.references) for sentence in known]) if len(references) else None,
    )


def _sentence(raw: bytes, path: str, line: int, counts_from: int) -> _Sentence:
    """Return what a line says, or raise the complaint about it."""
    try:
        row = parse_json(raw)
    except (json.JSONDecodeError, RecursionError):
        raise json_error(raw, path, line) from None
    if not isinstance(row, dict):
        raise not_object_error(row, path, line)
    try:
        return _Sentence(line, _id(row, line, counts_from), *_list(row), *_given(row))
    except _Fault as fault:
        raise InputError(
            expected=fault.expected, found=fault.found, path=path, line=line, hint=fault.hint, kind=fault.kind
        ) from None
    except UnicodeEncodeError:
        raise surrogate_error(path, line) from None


@dataclasses.dataclass
class _Fault(Exception):
    kind: str
    expected: str
    found: str
    hint: str = ""


def _id(row: dict[str, Any], line: int, counts_from: int) -> str:
    number = row.get("sentence_id")
    if number is None:
        return str(line - 1)
    if isinstance(number, bool) or not isinstance(number, int | str):
        raise _Fault("type", 'a string or an integer as "sentence_id"', described(number))
    return str(number - counts_from) if isinstance(number, int) else _text(number)


def _list(row: dict[str, Any]) -> tuple[list[str], list[list[float]]]:
    """Return the hypotheses and the scores of each."""
    texts: Any = row.get("translations")
    scores: Any = row.get("scores")
    if not texts:
        if "translation" not in row or "score" not in row:
            raise _Fault(
                "fields",
                '"translations" and "scores", or "translation" and "score"',
                "only " + ", ".join(json.dumps(key) for key in list(row)[:8]) if row else "an empty object",
                "write the list with: sockeye-translate --output-type json --nbest-size N",
            )
        texts, scores = [row["translation"]], [_single_scores(row)]
    for name, value in (("translations", texts), ("scores", scores)):
        if not isinstance(value, list):
            raise _Fault("type" if name in row else "fields", f'an array as "{name}"', described(value))
    if len(texts) != len(scores):
        raise _Fault("fields", f"as many scores as translations ({len(texts)})", str(len(scores)))
    for text in texts:
        if not isinstance(text, str):
            raise _Fault("type", 'an array of strings as "translations"', f"{described(text)} in it")
        _text(text)
    return texts, [[_number(score) for score in (entry if isinstance(entry, list) else [entry])] for entry in scores]


def _single_scores(row: dict[str, Any]) -> list[Any]:
    scores, factor = [row["score"]], 1
    while f"factor{factor}_score" in row:
        scores.append(row[f"factor{factor}_score"])
        factor += 1
    return scores


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Fault("number", "a number as a score", described(value))
    if (isinstance(value, int) and abs(value) > 1 << 1023) or not math.isfinite(value):
        raise _Fault(
            "not-finite",
            "a finite score",
            str(value),
            "Sockeye writes -Infinity for blank source lines; leave such lines out with `skip_bad`",
        )
    return float(value)


def _given(row: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the source and references that came through from the input; empty where there are none."""
    source, references = row.get("text"), row.get("refs", row.get("ref"))
    if isinstance(references, str):
        references = [references]
    if not (isinstance(references, list) and all(isinstance(text, str) for text in references)):
        references = []
    return _text(source) if isinstance(source, str) else "", [_text(text) for text in references]


def _text(text: str) -> str:
    """Return the text; raises UnicodeEncodeError where it holds half a surrogate pair."""
    text.encode("utf-8")
    return text
