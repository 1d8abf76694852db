"""Grammars as text, in cdec's format: one file for all rules, or a folder with one for each sentence."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from luthier.core.arrays import Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.files.io import naming, open_output
from luthier.core.segments import rows_of_segments
from luthier.core.threads import map_in_order
from luthier.corpus.texts import Texts
from luthier.grammar import _print_kernels as kernels
from luthier.grammar.grammar import Grammar

DIGITS = 12  # as cdec's extractor prints them
BLOCK_RULES = 1 << 15
FOLDER_NAME = "grammar.{}.gz"


class RulePrinter:
    """The texts of a grammar's words, names and numbers, made once, from which lines are put together."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        bits, which = np.unique(grammar.feature_values.view(np.int64), return_inverse=True)  # −0 is printed as it came
        self._numbers = Texts.from_strings([f"%.{DIGITS}g" % value for value in bits.view(np.float64).tolist()])
        self._which = which.astype(np.int32)
        self._names = Texts.from_strings([f"{name}=" for name in grammar.feature_names])
        self._sides = grammar.rule_sides

    def lines(self, rows: Int64) -> bytes:
        """Return the lines of the given rules."""
        g = self._grammar
        texts = [
            flat(array)
            for column in (g.source_words, g.target_words, self._names, self._numbers)
            for array in (column.offsets, column.data)
        ]
        columns = [
            flat(array)
            for array in (
                g.side_offsets,
                g.side_symbols,
                g.target_offsets,
                g.target_symbols,
                g.feature_offsets,
                g.feature_ids,
                self._which,
                g.link_offsets,
                g.links,
            )
        ]
        rows, sides = flat(rows), flat(self._sides[rows])
        sizes = kernels.line_sizes(rows, sides, tuple(texts), tuple(columns))
        out = np.empty(sizes, dtype=np.uint8)
        used = kernels.print_rules(rows, sides, tuple(texts), tuple(columns), out)
        return out[:used].tobytes()


def rule_texts(grammar: Grammar) -> Texts:
    """Return both sides of each rule as one text, ``[X] ||| f [X,1] ||| e [X,1]``, R of them."""
    g = grammar
    texts = tuple(flat(array) for words in (g.source_words, g.target_words) for array in (words.offsets, words.data))
    columns = tuple(flat(a) for a in (g.side_offsets, g.side_symbols, g.target_offsets, g.target_symbols))
    sides, offsets = flat(g.rule_sides), np.empty(g.n_rules + 1, dtype=np.int64)
    kernels.print_sides(sides, texts, columns, offsets, np.empty(0, dtype=np.uint8))
    data = np.empty(int(offsets[-1]) + 1, dtype=np.uint8)  # a space is written behind the last rule too
    kernels.print_sides(sides, texts, columns, offsets, data)
    return Texts(offsets, data[:-1])


def write_grammar(grammar: Grammar, path: str | os.PathLike[str]) -> None:
    """Write all rules to one file; gz or zst by the name's ending, ``-`` is standard output."""
    printer = RulePrinter(grammar)
    with open_output(path) as file:
        _write(printer, np.arange(grammar.n_rules), file)


def write_folder(grammar: Grammar, folder: str | os.PathLike[str], *, threads: int = 1) -> int:
    """Write the grammar of each sentence to ``grammar.K.gz`` in a new folder; return how many there are.

    The folder takes its name when all files are whole.
    """
    printer = RulePrinter(grammar)
    with whole_folder(folder) as temporary:

        def write(number: int) -> None:
            rows = rows_of_segments(grammar.rule_offsets, grammar.sides_of(number))
            with open_output(temporary / FOLDER_NAME.format(number)) as file:
                _write(printer, rows, file)

        for _ in map_in_order(write, range(grammar.n_sentences), threads):
            pass
    return grammar.n_sentences


@contextmanager
def whole_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder beside a new one, whose name it takes when all files are whole."""
    target = Path(os.path.realpath(folder))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise LuthierError(f"{target}: cannot write here: it is there already. hint: remove it, or name another folder")
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise LuthierError(f"{target}: cannot write here: {why}. hint: name another place") from None
    try:
        with naming(target, temporary):
            yield temporary
            temporary.chmod(0o755)
            if target.exists():
                target.rmdir()
            temporary.replace(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _write(printer: RulePrinter, rows: Int64, file: BinaryIO) -> None:
    for block in _blocks(rows):
        file.write(printer.lines(block))


def _blocks(rows: Int64) -> Iterator[Int64]:
    for first in range(0, len(rows), BLOCK_RULES):
        yield rows[first : first + BLOCK_RULES]
