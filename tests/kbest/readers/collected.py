"""What a reader makes of a file, in plain Python, at any size of blocks."""

from __future__ import annotations

import dataclasses

from luthier.core.files import io
from luthier.kbest.reading import reader as reader_module
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Source


@dataclasses.dataclass
class Collected:
    """Rows are (line, id, text, features), sentences (id, source, references)."""

    rows: list = dataclasses.field(default_factory=list)
    sentences: list = dataclasses.field(default_factory=list)
    faults: LineErrors = dataclasses.field(default_factory=LineErrors)
    blocks: int = 0

    def texts(self):
        return [row[2] for row in self.rows]

    def features(self):
        return [row[3] for row in self.rows]

    def ids(self):
        return [row[1] for row in self.rows]


def small_blocks(monkeypatch, block_bytes):
    """Let files be read in blocks of so many bytes (None: as they are)."""
    if block_bytes is not None:
        monkeypatch.setattr(
            reader_module, "line_blocks", lambda stream, name: io.line_blocks(stream, name, block_bytes)
        )


def collect(reader, path, *, skip=False):
    """Read a file to its end, settling faults block by block as the builder does."""
    source = Source(str(path), LineErrors(skip=skip), NameTable(), NameTable())
    result = Collected(faults=source.faults)
    for block in reader.blocks(source):
        source.faults.settle(block.bad)
        result.blocks += 1
        starts = block.row_starts
        for r in range(len(block)):
            part = slice(starts[r], starts[r + 1])
            names = [_name(source, number) for number in block.names[part].tolist()]
            features = dict(zip(names, block.values[part].tolist(), strict=True))
            result.rows.append((int(block.lines[r]), block.ids[r], block.texts[r], features))
        result.sentences += [] if block.sentences is None else list(_sentences(block.sentences))
    return result


def _name(source, number):
    label, position = source.names.label_of(number)
    return label if position < 0 else f"{label}[{position}]"


def _sentences(data):
    for i, ident in enumerate(data.ids):
        source = None if data.sources is None else data.sources[i]
        references = []
        if data.references is not None:
            start, stop = data.reference_offsets[i : i + 2]
            references = [data.references[k] for k in range(start, stop)]
        yield ident, source, references
