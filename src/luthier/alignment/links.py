"""Word links of a parallel text: flat arrays in memory, Pharaoh's ``0-0 1-2`` on disk."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import numpy.typing as npt

from luthier.alignment import _link_kernels as kernels
from luthier.core.arrays import Bytes, GrowingArray, Int32, Int64, flat, frozen
from luthier.core.errors import InputError, LuthierError, excerpt
from luthier.core.files.io import BOM, LineBlock, display_name, line_blocks, open_bytes, open_output
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus.lines import CARRIAGE_RETURN, bom_error, empty_error, windows_line_error

WRITE_SENTENCES = 1 << 15  # printed at once
LINK_BYTES = 24  # two numbers of 32 bits, a hyphen, a space
LONGEST_QUOTE = 40


@dataclasses.dataclass(frozen=True, eq=False)
class Links:
    """The linked words of N sentence pairs, a set for each pair.

    Attributes
    ----------
    offsets : (N+1,) int64
        Links ``offsets[k]:offsets[k+1]`` belong to pair k.
    source, target : (L,) int32
        Places of the two words in their sentences, from 0; ascending by source, then target, without
        repetition, within a pair.
    """

    offsets: Int64
    source: Int32
    target: Int32

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.ascontiguousarray(self.offsets, dtype=np.int64)))
        for name in ("source", "target"):
            object.__setattr__(self, name, frozen(np.ascontiguousarray(getattr(self, name), dtype=np.int32)))
        if not len(self.source) == len(self.target) == self.offsets[-1]:
            raise LuthierError(
                f"expected {self.offsets[-1]} links, found {len(self.source)} sources and {len(self.target)} targets"
            )
        if self.offsets[0] != 0 or (np.diff(self.offsets) < 0).any():
            raise LuthierError("expected offsets of links that begin at 0 and never descend")
        if min(self.source.min(initial=0), self.target.min(initial=0)) < 0:
            raise LuthierError("expected places of words from 0 on, found a negative one")

    @classmethod
    def from_unordered(cls, offsets: Int64, source: npt.ArrayLike, target: npt.ArrayLike) -> Links:
        """Return links as they are kept, from links in any order, perhaps repeated."""
        source, target = np.asarray(source, dtype=np.int32), np.asarray(target, dtype=np.int32)
        pair = segment_of_rows(np.asarray(offsets, dtype=np.int64))
        # one number for a link: most files are in order already, and that is quick to see
        place = (source.astype(np.int64) << 32) | target
        steps = np.diff(pair) > 0
        if not np.all(steps | (np.diff(place) > 0)):
            order = np.lexsort((place, pair))
            pair, place, source, target = pair[order], place[order], source[order], target[order]
            new = np.ones(len(pair), dtype=bool)
            new[1:] = (np.diff(pair) > 0) | (np.diff(place) > 0)
            pair, source, target = pair[new], source[new], target[new]
            offsets = offsets_from_counts(np.bincount(pair, minlength=len(offsets) - 1))
        return cls(offsets, source, target)

    def __len__(self) -> int:
        """Return N, the number of sentence pairs."""
        return len(self.offsets) - 1

    def __getitem__(self, pair: int) -> list[tuple[int, int]]:
        """Return the links of one pair as (source, target)."""
        pair = range(len(self))[pair]
        rows = slice(self.offsets[pair], self.offsets[pair + 1])
        return list(zip(self.source[rows].tolist(), self.target[rows].tolist(), strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in dataclasses.fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def counts(self) -> Int64:
        """Number of links of each pair, (N,)."""
        return np.diff(self.offsets)

    def reversed(self) -> Links:
        """Return the links of the text read the other way, source and target exchanged."""
        return Links.from_unordered(self.offsets, self.target, self.source)


def read_links(
    path: str | os.PathLike[str],
    source_lengths: npt.ArrayLike | None = None,
    target_lengths: npt.ArrayLike | None = None,
) -> Links:
    """Read a file of links, one line per sentence pair: ``0-0 1-2``, source before target.

    Parameters
    ----------
    path
        Plain, gz or zst; ``-`` is standard input. Links may stand in any order.
    source_lengths, target_lengths : (N,)
        Words of each sentence, where they are known: the file must then have N lines, and no link may
        name a word that does not exist.

    Raises
    ------
    InputError
        Something that is not two numbers, a word beyond its sentence, a line too few or too many; each with
        its line.
    """
    name = display_name(path)
    lengths = [None if one is None else np.asarray(one, dtype=np.int64) for one in (source_lengths, target_lengths)]
    counts, source, target = GrowingArray(np.int64), GrowingArray(np.int32), GrowingArray(np.int32)
    with open_bytes(path) as stream:
        for block in line_blocks(stream, name):
            links_in_lines, *words = _parse_block(block, name)
            for side, (label, known) in enumerate(zip(("source", "target"), lengths, strict=True)):
                if known is not None:
                    _check_range(
                        words[side], links_in_lines, known[block.first_line - 1 :], f"{label} word", (name, block)
                    )
            counts.append(links_in_lines)
            source.append(words[0])
            target.append(words[1])
    if not len(counts):
        raise empty_error(name)
    for known in lengths:
        if known is not None and len(known) > len(counts):
            raise _wrong_count(name, expected=len(known), found=f"{len(counts)}")
    return Links.from_unordered(offsets_from_counts(counts.finish()), source.finish(), target.finish())


def _parse_block(block: LineBlock, name: str) -> tuple[Int64, Int32, Int32]:
    data: Bytes = block.data
    if block.first_line == 1 and data[:3].tobytes() == BOM:
        raise bom_error(name)
    room = int(np.count_nonzero(data == kernels.HYPHEN))
    counts = np.zeros(len(block.ends), dtype=np.int64)
    source, target = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    used, line, place = kernels.parse_links(flat(data), flat(block.ends), counts, source, target)
    if line >= 0:
        rest = data[place : block.ends[line]].tobytes()
        if rest == bytes([CARRIAGE_RETURN]) or rest.split()[0] + b"\r" == rest:
            raise windows_line_error(name, block.first_line + line)
        raise InputError(
            expected="links such as 0-0 1-2: two numbers from 0 to 999999, a hyphen between",
            found=excerpt(rest.split()[0], LONGEST_QUOTE),
            path=name,
            line=block.first_line + line,
            kind="link",
        )
    return counts, source[:used], target[:used]


def _check_range(words: Int32, counts: Int64, lengths: Int64, label: str, where: tuple[str, LineBlock]) -> None:
    """Raise `InputError` for the first word beyond its sentence, or line beyond the last sentence."""
    name, block = where
    known = min(len(counts), len(lengths))
    limits = np.repeat(lengths[:known], counts[:known])
    beyond = words[: len(limits)] >= limits
    if beyond.any():
        row = int(np.argmax(beyond))
        line = int(np.searchsorted(np.cumsum(counts), row, side="right"))
        raise InputError(
            expected=f"a {label} from 0 to {limits[row] - 1}" if limits[row] else f"no link, for there is no {label}",
            found=f"{words[row]}",
            path=name,
            line=block.first_line + line,
            kind="range",
            hint="the links belong to this very text, source first; are the two sides exchanged?",
        )
    if len(counts) > len(lengths):
        expected = block.first_line - 1 + len(lengths)
        raise _wrong_count(name, expected=expected, found=f"a line {expected + 1}", line=expected + 1)


def _wrong_count(name: str, *, expected: int, found: str, line: int | None = None) -> InputError:
    return InputError(
        expected=f"a line of links for each of the {expected} sentence pairs",
        found=found,
        path=name,
        line=line,
        hint="a pair without links has an empty line",
        kind="lines",
    )


def write_links(links: Links, path: str | os.PathLike[str]) -> None:
    """Write links, one line per sentence pair, source before target; gz or zst by the name's ending."""
    with open_output(path) as file:
        for first in range(0, len(links), WRITE_SENTENCES):
            offsets = links.offsets[first : first + WRITE_SENTENCES + 1]
            rows = slice(offsets[0], offsets[-1])
            source, target = links.source[rows], links.target[rows]
            out = np.empty(LINK_BYTES * len(source) + len(offsets), dtype=np.uint8)
            used = kernels.print_links(flat(offsets - offsets[0]), flat(source), flat(target), out)
            file.write(out[:used].tobytes())
