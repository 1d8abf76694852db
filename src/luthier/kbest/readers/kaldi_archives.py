"""Kaldi archives: texts, acoustic and language-model costs of n-best lists in files of their own, matched by key.

``nbest-to-linear`` writes the words of each hypothesis, its language-model cost and its acoustic cost to three
archives; in text form each line is ``utt-1 …``. The list is the file of words; `archives` names the others and what
their numbers are called. Their lines may stand in any order, but every hypothesis must have a number in each. A folder
as Kaldi's scripts for rescoring keep it (``words_text``, ``acwt``, ``lmwt.nolm``, ``lmwt.lmonly`` …) is read whole.

The numbers are costs, smaller for better; they are kept as they stand. ``-<number>`` is taken off the keys.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.kbest.reading.archives import KeyedNumbers, beside, keyed_texts
from luthier.kbest.reading.columns import full_rows, numbered_suffixes
from luthier.kbest.reading.reader import Block, Reader, Source

WORDS = "words_text"
COSTS = ("acwt", "lmwt")


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of archives that belong together."""

    archives: str = param("", help="names and files of the numbers, e.g. ac=ac_cost.txt,lm=lm_cost.txt")

    @classmethod
    def recognizes(cls, head: bytes) -> int:  # noqa: ARG003
        """Return 0: a file of words says nothing of where its numbers are."""
        return 0

    @classmethod
    def recognizes_folder(cls, folder: Path) -> int:
        """Return 90 for a folder with words and costs."""
        return 90 if (folder / WORDS).is_file() and _costs(folder) else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses in the order of the words."""
        files, words = self._files(source)
        numbers = {name: KeyedNumbers(beside(source, path)) for name, path in files.items()}
        names = source.names.from_strings(list(numbers))
        for lines, keys, texts in keyed_texts(words):
            columns, fine = [], np.ones(len(keys), dtype=np.bool_)
            for archive in numbers.values():
                values, found = archive.lookup(keys)
                archive.report_missing(lines, words.name, keys, found)
                columns.append(values)
                fine &= found
            ids, _ = numbered_suffixes(keys)
            row_starts, flat_names, flat = full_rows(names, np.array(columns))
            block = Block(
                lines=lines.numbers,
                ids=ids.texts(),
                texts=texts.texts(),
                row_starts=row_starts,
                names=flat_names,
                values=flat,
                bad=lines.bad,
            )
            yield block.keep(fine)

    def _files(self, source: Source) -> tuple[dict[str, str], Source]:
        """Return the files of numbers by the names of these, and the file of words."""
        folder = Path(source.path)
        if folder.is_dir():
            return {path.name: str(path) for path in _costs(folder)}, beside(source, str(folder / WORDS))
        pairs = [item.partition("=") for item in self.archives.split(",") if item.strip()]
        files = {name.strip(): path.strip() for name, _, path in pairs}
        if not files or len(files) < len(pairs) or not all(name and path for name, path in files.items()):
            raise LuthierError(
                "the format kaldi-archives needs the files of the numbers, with names that differ: "
                f"archives=ac=FILE,lm=FILE, found {self.archives!r}"
            )
        return files, source


def _costs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith(COSTS) and path.is_file())
