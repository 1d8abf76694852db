"""ESPnet: folders ``1best_recog``, ``2best_recog``, …, each with a file ``text`` and a file ``score``.

The list is the folder in which these stand, or one above several: ``logdir`` with ``output.1``, ``output.2``, …, one
for each job. Lines are ``utt words`` and ``utt score``; scores are printed by PyTorch, as ``tensor(-12.5)``. Hypothesis
n of an utterance stands in the n-th folder; an utterance may have fewer. The score is the feature ``score``.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import InputError
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading.archives import KeyedNumbers, beside, keyed_texts
from luthier.kbest.reading.columns import full_rows
from luthier.kbest.reading.reader import Block, Reader, Source

FIRST = "1best_recog"


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of ESPnet's folders."""

    ordered: ClassVar[bool] = False

    @classmethod
    def recognizes(cls, head: bytes) -> int:  # noqa: ARG003
        """Return 0: the list is a folder."""
        return 0

    @classmethod
    def recognizes_folder(cls, folder: Path) -> int:
        """Return 95 for a folder with ``1best_recog``, or above one."""
        return 95 if _homes(folder) else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses job by job; those of an utterance stand together."""
        homes = _homes(Path(source.path))
        if not homes:
            raise InputError(
                expected=f"a folder with {FIRST}",
                found="none",
                path=source.name,
                kind="format",
                hint="the list is the folder in which 1best_recog, 2best_recog, … stand, or the logdir above",
            )
        for home in homes:
            yield _block(source, home)


def _homes(folder: Path) -> list[Path]:
    """Return the folders in which ``1best_recog`` stands, in the order of their numbers."""
    if (folder / FIRST).is_dir():
        return [folder]
    below = [path for path in folder.glob("output.*") if (path / FIRST).is_dir()]
    return sorted(below, key=lambda path: [int(digits) for digits in re.findall(r"\d+", path.name)])


def _check_none_beyond(home: Path, missing: int) -> None:
    """Raise where folders go on behind one that is missing: their hypotheses would be left out."""
    numbers = [int(found[1]) for path in home.iterdir() if (found := re.fullmatch(r"(\d+)best_recog", path.name))]
    if max(numbers) > missing:
        raise InputError(
            expected=f"the folder {missing}best_recog, since there is {max(numbers)}best_recog",
            found="none",
            path=str(home),
            kind="format",
            hint="copy all folders of the decoding, or remove those behind the gap",
        )


def _block(source: Source, home: Path) -> Block:
    names = source.names.from_strings(["score"])
    keys: list[Texts] = []
    texts: list[Texts] = []
    lines: list[Int64] = []
    scores = []
    for n in itertools.count(1):
        folder = home / f"{n}best_recog"
        if not folder.is_dir():
            _check_none_beyond(home, n)
            break
        numbers = KeyedNumbers(beside(source, str(folder / "score")))
        words = beside(source, str(folder / "text"))
        for stretch, ids, rest in keyed_texts(words):
            values, found = numbers.lookup(ids)
            numbers.report_missing(stretch, words.name, ids, found)
            source.faults.settle(stretch.bad)
            keys.append(ids.take(found).texts())
            texts.append(rest.take(found).texts())
            lines.append(stretch.numbers[found])
            scores.append(values[found])
    together = Texts.concatenate(keys)
    order = np.argsort(Interner().intern_texts(together), kind="stable")  # utterances as they first come, then n
    row_starts, flat_names, flat = full_rows(names, np.concatenate(scores)[order][None])
    return Block(
        lines=np.concatenate(lines)[order],
        ids=together.take(order),
        texts=Texts.concatenate(texts).take(order),
        row_starts=row_starts,
        names=flat_names,
        values=flat,
    )
