"""NeMo's beams: ``text TAB score``, as many lines for each utterance, in the order of its manifest.

``eval_beamsearch_ngram_ctc.py`` writes such a file (``preds_out_width64_alpha1.0_beta0.5.tsv``); more scores may follow
behind more tabs, as rescoring adds them. The file names no utterance, so the manifest with which it was made
(`manifest`) is needed, or the number of lines each utterance has (`beams`). Transducers may leave a different number of
lines for each utterance, which nothing in the file tells: such a file cannot be read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from luthier.core.arrays import Int32, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.files.io import STDIN, line_blocks, open_bytes
from luthier.core.params import ParameterError, param
from luthier.corpus.texts import Texts
from luthier.kbest.building.speech_manifest import Manifest, read_manifest
from luthier.kbest.reading.columns import Feed, decimals, full_rows, number_columns, spans_of, tab_fields
from luthier.kbest.reading.reader import Block, Lines, Reader, Source

HEAD_LINES = 20


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of NeMo's beams."""

    manifest: str = param("", help="the manifest with which the beams were made")
    beams: int = param(0, low=0, help="lines for each utterance; 0: as the manifest tells")
    columns: str = param("", help="names of the numbers, comma separated; empty: score, or score_0, score_1, …")

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self._names()
        if self.columns and ("" in names or len(set(names)) < len(names)):
            raise ParameterError(f"the 'columns' parameter of nemo must be different names, got {self.columns!r}")

    def _names(self) -> list[str]:
        return [name.strip() for name in self.columns.split(",")] if self.columns else []

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 60 where every line is a text and numbers behind tabs, and no header."""
        whole = head.split(b"\n")[:-1] if b"\n" in head else [head]
        rows = [line.rstrip(b"\r").split(b"\t") for line in whole[:HEAD_LINES]]
        if not rows or any(len(row) != len(rows[0]) or len(row) < 2 for row in rows):
            return 0
        return 60 if all(_is_number(field) for row in rows for field in row[1:]) else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses in the order of the file."""
        manifest = read_manifest(self.manifest) if self.manifest else None
        utterances = _Utterances(source, manifest, self._lines_each(source, manifest))
        with closing(source.lines()) as stretches:  # type: ignore[type-var]
            feed = Feed(stretches)
            names, done = None, 0
            while feed.fetch():
                lines = feed.take(feed.last)
                if names is None and len(lines.numbers):
                    names = self._labels(source, lines)
                if names is not None:
                    yield _block(source, lines, names, utterances.ids(lines.numbers))
                done = feed.last
        utterances.check(done)

    def _lines_each(self, source: Source, manifest: Manifest | None) -> int:
        if self.beams:
            return self.beams
        if manifest is None:
            raise InputError(
                expected="to be told which lines belong to which utterance",
                found="neither a manifest nor beams",
                path=source.name,
                kind="format",
                hint="`manifest` M is the manifest the beams were made with; without one, `format` nemo "
                "`per_sentence` N says how many lines each utterance has",
            )
        if source.path == STDIN:
            raise InputError(
                expected="a file, whose lines can be counted",
                found="a stream",
                path=source.name,
                kind="format",
                hint="say how many lines each utterance has with `per_sentence` N",
            )
        with open_bytes(source.path) as stream:
            n = sum(len(block.ends) for block in line_blocks(stream, source.name))
        if n % len(manifest):
            raise InputError(
                expected=f"a multiple of {len(manifest)} lines, one set for each utterance of the manifest",
                found=str(n),
                path=source.name,
                kind="length",
                hint="beams of a transducer differ in number, and the file does not say which belongs to which",
            )
        return n // len(manifest)

    def _labels(self, source: Source, lines: Lines) -> Int32:
        n = int(np.count_nonzero(np.frombuffer(lines.raw(0), dtype=np.uint8) == ord("\t")))
        given = self._names()
        if given and len(given) != n:
            raise InputError(
                expected=f"{len(given)} numbers ({self.columns})",
                found=str(n),
                path=source.name,
                line=int(lines.numbers[0]),
                kind="fields",
            )
        default = ["score"] if n == 1 else [f"score_{i}" for i in range(n)]
        return source.names.from_strings(given or default)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


class _Utterances:
    """Which utterance each line belongs to."""

    def __init__(self, source: Source, manifest: Manifest | None, each: int) -> None:
        self._source, self._manifest, self._each = source, manifest, each
        self._names = None if manifest is None else Texts.from_strings(manifest.ids)

    def ids(self, lines: Int64) -> Texts:
        """Return the ids of lines, counted from 1."""
        sentences = (lines - 1) // self._each
        if self._names is not None:
            return self._names.take(np.minimum(sentences, len(self._names) - 1))
        different, which = np.unique(sentences, return_inverse=True)
        return decimals(different).take(which)

    def check(self, n_lines: int) -> None:
        """Complain if there are not as many lines as there should be."""
        each, n = self._each, None if self._manifest is None else len(self._manifest)
        expected = f"a multiple of {each}" if n is None else str(n * each)
        if n_lines % each if n is None else n_lines != n * each:
            self._source.faults.settle_file(
                InputError(
                    expected=f"{expected} lines ({each} for each utterance)",
                    found=str(n_lines),
                    path=self._source.name,
                    kind="length",
                )
            )


def _block(source: Source, lines: Lines, names: Int32, ids: Texts) -> Block:
    n = len(names)
    fields = tab_fields(spans_of(lines), 1 + n)
    whole = fields.counts == 1 + n
    at = np.flatnonzero(~whole)

    def describe(i: int) -> InputError:
        raw = lines.raw(int(at[i]))
        return InputError(
            expected=f"a text and {n} numbers separated by tabs",
            path=source.name,
            line=int(lines.numbers[at[i]]),
            found=f"{fields.counts[at[i]]} fields in {excerpt(raw)}" if raw else "an empty line",
            kind="fields",
        )

    lines.bad.add("fields", lines.numbers[at], describe)
    rows = np.flatnonzero(whole)
    text, *numbers = (column.take(rows) for column in fields.columns)
    values, fine = number_columns(
        lines.bad, source.name, lines.numbers[rows], numbers, "each line is a text, a tab and a number"
    )
    row_starts, flat_names, flat = full_rows(names, values)
    block = Block(
        lines=lines.numbers[rows],
        ids=ids.take(rows),
        texts=text.texts(),
        row_starts=row_starts,
        names=flat_names,
        values=flat,
        bad=lines.bad,
    )
    return block.keep(fine)
