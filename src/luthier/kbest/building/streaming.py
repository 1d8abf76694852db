"""A list of any length as pools of whole sentences, one after another, in bounded memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import InputError
from luthier.core.files.io import STDIN
from luthier.kbest.building.builder import PoolBuilder
from luthier.kbest.building.feature_rows import ERROR, Filling
from luthier.kbest.building.lists import ReadOptions, choose_reader, opened_list
from luthier.kbest.building.sentences import OrderCheck, SentenceNumbers
from luthier.kbest.pool import Pool
from luthier.kbest.reading.column_roles import Roles
from luthier.kbest.reading.line_errors import BadLines, LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Block, Reader, Source
from luthier.kbest.storage.pool_file import is_pool

CHUNK_ROWS = 1 << 15


def can_stream(path: str, options: ReadOptions) -> bool:
    """Return whether nothing about a list needs to be known of the whole of it before its first sentence is done."""
    if options.any_order or options.manifest or options.join or options.missing != ERROR:
        return False
    return path == STDIN or not is_pool(path)


def stream_pools(path: str, options: ReadOptions, rows: int = CHUNK_ROWS) -> Iterator[Pool]:
    """Yield a list as pools of about `rows` hypotheses, no sentence in two of them, in the order of the file.

    Only the names of features and the ids of sentences are kept beyond a pool. A format whose sentences come in any
    order is yielded as one pool.

    Raises
    ------
    InputError
        At the first fault, as `read_pool` does. What was yielded before it is gone out already.
    """
    faults, names, local_names = LineErrors(skip=options.skip_bad), NameTable(), NameTable()
    roles = options.roles
    with opened_list(path, unpack_any=options.unpack_any) as (head, stream):
        _, reader = choose_reader(head, path, options)
        by_source = bool(options.group_by)
        source = Source(path, faults, names, local_names, stream, roles.ignored, by_source=by_source)
        chunks = Chunks(reader, source, roles, options)
        yield from chunks.pools(rows)
    if not chunks.n_rows:
        raise InputError(expected="at least one usable hypothesis", found="none", path=source.name)


class Chunks:
    """Cuts the blocks of a reader where one sentence ends and another begins."""

    def __init__(self, reader: Reader, source: Source, roles: Roles, options: ReadOptions) -> None:
        self._reader, self._source, self._roles, self._options = reader, source, roles, options
        self._numbers, self._last = SentenceNumbers(None), -1
        self._order = OrderCheck() if reader.ordered else None
        self._together = reader.ordered or reader.together
        self.n_rows = 0

    def pools(self, rows: int) -> Iterator[Pool]:
        """Yield a pool as soon as it has so many rows, and its last sentence is complete."""
        builder, held = self._builder(), 0
        for raw in self._reader.blocks(self._source):
            block, starts = self._checked(raw)
            new = int(starts[0]) if len(starts) else len(block)
            if held >= rows and new < len(block) and self._together and not block.by_source:
                place = np.arange(len(block))
                builder.add_block(block.keep(place < new), self._source)
                yield self._build(builder)
                builder, held, block = self._builder(), 0, block.keep(place >= new)
            held += builder.add_block(block, self._source)
            self.n_rows += len(block)
        if held:
            yield self._build(builder)

    def _checked(self, raw: Block) -> tuple[Block, Int64]:
        """Return a block without what is out of order, and the rows at which other sentences begin."""
        sentences, good = self._numbers.of_block(raw.bad, raw, self._source.name)
        if self._order is not None and not raw.by_source:
            good = self._order.of_block(raw.bad, raw, sentences, good, self._source.name)
        self._source.faults.settle(raw.bad)
        block = dataclasses.replace(raw.keep(good), bad=BadLines(), sentences=None, rule_uses=None)
        kept = sentences[good]
        starts = np.flatnonzero(np.diff(kept, prepend=self._last))
        if len(kept):
            self._last = int(kept[-1])
        return block, starts

    def _builder(self) -> PoolBuilder:
        filling = Filling(ERROR, frozenset(self._options.costs), self._options.fill)
        return PoolBuilder(None, self._source.names, any_order=True, roles=self._roles, filling=filling)

    def _build(self, builder: PoolBuilder) -> Pool:
        return builder.build(self._source, keep_duplicates=self._options.keep_duplicates)
