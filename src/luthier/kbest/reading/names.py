"""Feature names while a list is being read: labels, and positions under a label.

Lists name features in two ways. ``name=v`` is a name as it stands. ``name= v v`` is a label with
positions: one value makes the feature ``name``, several make ``name_0``, ``name_1``, … Which of the
two it is, is known for certain only at the end of the last list.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Bool, Bytes, Int32, Int64
from luthier.core.errors import InputError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner

PLAIN = -1


class NameTable:
    """Numbers for (label, position) pairs, in the order of first appearance."""

    def __init__(self) -> None:
        self._labels = Interner()
        # the number of position p of a label stands at _starts[label] + p + 1; as many places as it has positions
        self._starts = np.zeros(1, dtype=np.int64)
        self._numbers = np.zeros(0, dtype=np.int32)
        self._pairs: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._pairs)

    def from_spans(self, data: Bytes, starts: Int64, stops: Int64, positions: Int32 | None = None) -> Int32:
        """Return the number of each name; `positions` None means plain names throughout."""
        labels = self._labels.intern_spans(data, starts, stops)
        if positions is None:
            positions = np.full(len(labels), PLAIN, dtype=np.int32)
        return self._number(labels, positions)

    def from_strings(self, names: Sequence[str]) -> Int32:
        """Return the number of each plain name."""
        texts = Texts.from_strings(names)
        return self.from_spans(texts.data, texts.offsets[:-1], texts.offsets[1:])

    def _number(self, labels: Int32, positions: Int32) -> Int32:
        if not len(labels):
            return np.zeros(0, dtype=np.int32)
        self._make_room(labels, positions)
        places = self._starts[labels] + positions + 1
        numbers: Int32 = self._numbers[places]
        new = np.flatnonzero(numbers < 0)
        if len(new):
            for i in np.sort(new[np.unique(places[new], return_index=True)[1]]):  # in order of appearance
                self._numbers[places[i]] = len(self._pairs)
                self._pairs.append((int(labels[i]), int(positions[i])))
            numbers = self._numbers[places]
        return numbers

    def _make_room(self, labels: Int32, positions: Int32) -> None:
        """Lay the table out anew where a label is new, or has more positions than before."""
        known, n = len(self._starts) - 1, len(self._labels)
        widths = np.ones(n, dtype=np.int64)
        widths[:known] = np.diff(self._starts)
        wider = np.flatnonzero(positions + 2 > widths[labels])
        if n == known and not len(wider):
            return
        np.maximum.at(widths, labels[wider], positions[wider] + 2)
        starts = offsets_from_counts(widths)
        numbers = np.full(int(starts[-1]), -1, dtype=np.int32)
        inner = np.arange(len(self._numbers)) - np.repeat(self._starts[:-1], np.diff(self._starts))
        numbers[np.repeat(starts[:known], np.diff(self._starts)) + inner] = self._numbers
        self._starts, self._numbers = starts, numbers

    def pairs(self) -> tuple[Texts, Int32]:
        """Return the label and the position (−1 for a plain name) of every number."""
        pairs = np.array(self._pairs, dtype=np.int64).reshape(-1, 2)
        return self._labels.texts().take(pairs[:, 0]), pairs[:, 1].astype(np.int32)

    def label_of(self, number: int) -> tuple[str, int]:
        """Return the label and position (−1 for a plain name) of a number."""
        label, position = self._pairs[number]
        return self._labels[label], position

    def resolve(self, path: str, used: Bool | None = None) -> tuple[list[str], Int32]:
        """Return the final names of the numbers in use, and for each number the index of its name, or −1.

        A label that has one value everywhere and the plain name of the same spelling are one feature. A
        number that only faulty lines had is not in use: it names nothing, and no other differently.

        Raises
        ------
        InputError
            When two different names would come to the same, such as ``a= 1 2`` beside ``a_0=3``.
        """
        # values without any name of their own are called f
        labels = [label or "f" for label in self._labels.texts()]
        widest: dict[int, int] = {}
        in_use = range(len(self._pairs)) if used is None else np.flatnonzero(used).tolist()
        for label, position in (self._pairs[number] for number in in_use):
            widest[label] = max(widest.get(label, PLAIN), position)
        names: dict[str, int] = {}
        origin: dict[str, tuple[int, bool]] = {}
        mapping = np.full(len(self._pairs), -1, dtype=np.int32)
        for number in in_use:
            label, position = self._pairs[number]
            several = position >= 0 and widest[label] > 0
            name = f"{labels[label]}_{position}" if several else labels[label]
            if origin.setdefault(name, (label, several)) != (label, several):
                raise collision(name, path)
            mapping[number] = names.setdefault(name, len(names))
        return list(names), mapping


def collision(name: str, path: str) -> InputError:
    """Return the complaint about two ways of writing that come to one name."""
    return InputError(
        expected="feature names that differ",
        found=f"two that come to {name!r}: by position, and written out",
        path=path,
        hint="rename one of them in the list",
        kind="names-collide",
    )
