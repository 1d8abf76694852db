"""SRILM: a folder of n-best lists, one file for each utterance, named after it; or one such file.

SRILM knows three forms, told by the first line of each file. ``ascore lscore nwords w1 w2 …`` has the features ``ac``,
``lm`` and ``nwords`` (logarithms to base 10). Below ``NBestList1.0`` each line is ``(score) w1 w2 …``, below
``NBestList2.0`` each word is followed by its times and scores in brackets, which are skipped; both have the feature
``score``. ``.gz`` is taken off the file's name, and so are ``<s>`` and ``</s>`` at the ends of a hypothesis.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from luthier.core.arrays import Bool, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.files.io import open_bytes
from luthier.corpus.lines import empty_error
from luthier.corpus.texts import Texts
from luthier.kbest.reading.archives import beside
from luthier.kbest.reading.columns import Spans, full_rows, leading_words, number_columns, spans_of
from luthier.kbest.reading.reader import Block, Lines, Reader, Source

PLAIN = ("ac", "lm", "nwords")
HEADER = re.compile(rb"NBestList([12])\.0\s*")
TIMES = re.compile(r"\s\( st: [^()]*\)")
EDGES = re.compile(r"^<s>(?:\s+|$)|(?:^|\s+)</s>$")
NUMBER = re.compile(rb"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
HEAD_BYTES = 4096
_FORMS = {1: "(score)", len(PLAIN): "ascore lscore nwords"}


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of SRILM's n-best lists."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 90 for a file that begins as SRILM's own do; the form without a header needs a folder."""
        return 90 if HEADER.match(head) else 0

    @classmethod
    def recognizes_folder(cls, folder: Path) -> int:
        """Return 80 where the first file has a header of SRILM's, or lines that begin with three numbers."""
        files = _files(folder)
        if not files:
            return 0
        with open_bytes(files[0]) as stream:
            line = stream.read(HEAD_BYTES).partition(b"\n")[0]
        numbers = line.split()[:3]
        plain = len(numbers) == 3 and all(NUMBER.fullmatch(word) for word in numbers)
        return 80 if HEADER.match(line) or plain else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses file by file, in the order of the files' names."""
        path = Path(source.path)
        if not path.is_dir():
            yield from _of_file(source, _utterance(path))
            return
        files = _files(path)
        if not files:
            raise empty_error(source.name)
        forms: dict[int, str] = {}
        for file in files:
            for block in _of_file(beside(source, str(file)), _utterance(file)):
                if len(block):
                    _check_form(forms, len(block.names) // len(block), file)
                yield block


def _check_form(forms: dict[int, str], n_scores: int, file: Path) -> None:
    """Raise where a file has other scores than those before it: they would count 0 there."""
    if forms and n_scores not in forms:
        ((others, name),) = forms.items()
        raise InputError(
            expected=f"lines that begin as those of {name} do, with {_FORMS[others]}",
            found=_FORMS[n_scores],
            path=str(file),
            kind="format",
            hint="read lists of different forms one by one, with scores of one name",
        )
    forms[n_scores] = file.name


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def _utterance(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".zst")


def _of_file(source: Source, utterance: str) -> Iterator[Block]:
    header = b""
    for lines in source.lines():
        if len(lines.numbers) and lines.numbers[0] == 1 and HEADER.fullmatch(lines.raw(0)):
            header = lines.raw(0).strip()
            lines = Lines(lines.data, lines.starts[1:], lines.stops[1:], lines.numbers[1:], lines.bad)
        yield _block(source, lines, utterance, header)


def _block(source: Source, lines: Lines, utterance: str, header: bytes) -> Block:
    labels = ("score",) if header else PLAIN
    fields, rest = leading_words(spans_of(lines), len(labels))
    whole = fields.counts == len(labels)
    columns = [column.take(whole) for column in fields.columns]
    numbers = lines.numbers[whole]
    _report_few(source, lines, ~whole, labels)
    if header:
        columns = [_unbracketed(column) for column in columns]
    hint = "below a header each line begins with (score)" if header else "each line begins with ascore lscore nwords"
    values, fine = number_columns(lines.bad, source.name, numbers, columns, hint)
    texts = Texts.from_strings(_words(text, header) for text in rest.take(whole).texts())
    row_starts, names, flat = full_rows(source.names.from_strings(labels), values)
    ids = Texts.from_strings([utterance]).take(np.zeros(len(numbers), dtype=np.int64))
    block = Block(lines=numbers, ids=ids, texts=texts, row_starts=row_starts, names=names, values=flat, bad=lines.bad)
    return block.keep(fine)


def _unbracketed(spans: Spans) -> Spans:
    """Return spans without the brackets around them."""
    inside = np.flatnonzero(spans.stops - spans.starts > 2)
    shift = np.zeros(len(spans), dtype=np.int64)
    opens, closes = spans.data[spans.starts[inside]], spans.data[spans.stops[inside] - 1]
    shift[inside] = (opens == ord("(")) & (closes == ord(")"))
    return Spans(spans.data, spans.starts + shift, spans.stops - shift)


def _words(text: str, header: bytes) -> str:
    if header.endswith(b"2.0"):
        text = TIMES.sub("", text)
    return EDGES.sub("", EDGES.sub("", text.strip()))


def _report_few(source: Source, lines: Lines, few: Bool, labels: tuple[str, ...]) -> None:
    at: Int64 = np.flatnonzero(few)

    def describe(i: int) -> InputError:
        raw = lines.raw(int(at[i]))
        return InputError(
            expected=f"{', '.join(labels)} before the words",
            found=excerpt(raw) if raw.strip() else "an empty line",
            path=source.name,
            line=int(lines.numbers[at[i]]),
            kind="fields",
        )

    lines.bad.add("fields", lines.numbers[at], describe)
