"""Read a back-off model from ARPA text, as KenLM, SRILM and IRSTLM write it."""

from __future__ import annotations

import os

import numpy as np

from luthier.core.errors import InputError, excerpt
from luthier.core.files.io import BOM, LineBlock, display_name, line_blocks, open_bytes
from luthier.core.progress import notice
from luthier.corpus.lines import check_utf8, line_spans
from luthier.lm.arpa import Arpa
from luthier.lm.arpa_header import HeaderLines, foreign_kind
from luthier.lm.arpa_sections import Sections

BACKSLASH = ord("\\")


def read_arpa(path: str | os.PathLike[str]) -> Arpa:
    """Read an ARPA file, plain or compressed, or standard input (``-``).

    Fields are separated by tabs or spaces; a missing back-off is 0; what stands before ``\\data\\`` is passed
    over. A model without <unk> gives unknown words log10 p = −100, with a notice.

    Raises
    ------
    InputError
        A broken line, no </s>, counts that disagree, a probability above 1, a word that is no unigram, an n-gram
        twice, bad UTF-8, a file cut off, or a file of another kind; with its line.
    """
    reader = _Reader(display_name(path))
    with open_bytes(path) as stream:
        kind = foreign_kind(stream.peek(64)[:64])
        if kind:
            raise InputError(
                expected="an ARPA file", found=kind[0], path=reader.name, line=1, hint=kind[1]
            )  # fmt: skip
        for block in line_blocks(stream, reader.name):
            check_utf8(block.data, reader.name, block.first_line)
            reader.take(block)
            if reader.ended:
                break
    return reader.finish()


class _Reader:
    """Goes through the parts of a file: what stands before, the counts, a section for each order, the end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self.header = HeaderLines(name)
        self.sections: Sections | None = None
        self.last_line = 0

    def take(self, block: LineBlock) -> None:
        """Read the lines of a block: those with a backslash, and the n-grams between them."""
        data = block.data
        starts, stops = line_spans(block.ends)
        if block.first_line == 1 and data[:3].tobytes() == BOM:
            starts[0] = len(BOM)
        special = np.flatnonzero(data[starts] == BACKSLASH)  # an empty line starts at its line feed
        row = 0
        for at in [*special.tolist(), len(starts)]:
            if at > row:
                self._plain(block, slice(row, at), (starts, stops))
            if at < len(starts) and not self.ended:
                self._marked(data[starts[at] : stops[at]].tobytes().strip(), block.first_line + at)
            row = at + 1
            if self.ended:
                return
        self.last_line = block.first_line + len(starts) - 1

    def _plain(self, block: LineBlock, rows: slice, spans: tuple[np.ndarray, np.ndarray]) -> None:
        starts, stops = spans[0][rows], spans[1][rows]
        first = block.first_line + rows.start
        if self.sections is not None:
            self.sections.add(block.data, starts, stops, np.arange(first, first + len(starts)))
        elif self.header.begun:
            for i, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
                self.header.add(block.data[start:stop].tobytes(), first + i)

    def _marked(self, text: bytes, line: int) -> None:
        """Read a line that begins with a backslash."""
        if not self.header.begun:
            self.header.begun = text == b"\\data\\"
            return
        if self.sections is None:
            self.sections = Sections(self.name, self.header.finish(line))
        if text == b"\\end\\":
            self.sections.close(line)
            if self.sections.order < len(self.sections.expected):
                raise self._wrong(f"\\{self.sections.order + 1}-grams:", text, line)
            self.ended = True
            return
        wanted = f"\\{self.sections.order + 1}-grams:"
        self.sections.close(line)
        if self.sections.order == len(self.sections.expected):
            wanted = "\\end\\"
        if text != wanted.encode():
            raise self._wrong(wanted, text, line)
        self.sections.open()

    def _wrong(self, wanted: str, text: bytes, line: int) -> InputError:
        return InputError(expected=f"the line {wanted!r}", found=excerpt(text), path=self.name, line=line)

    def finish(self) -> Arpa:
        """Return the model."""
        if not self.ended or self.sections is None:
            wanted = "\\end\\" if self.header.begun else "\\data\\"
            raise InputError(
                expected=f"the line {wanted!r}", found="the end of the file", path=self.name, line=self.last_line,
                hint="the file is cut off: write or fetch it again" if self.header.begun else
                "an ARPA file is made by: luthier lm TEXT -o lm.arpa.gz",
            )  # fmt: skip
        arpa = self.sections.arpa()
        for message in self.sections.notices:
            notice(f"{self.name}: {message}")
        return arpa
