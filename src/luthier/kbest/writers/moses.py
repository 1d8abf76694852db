"""Moses lists: id ||| hypothesis ||| label= value … name=value … ||| total."""

from __future__ import annotations

import dataclasses
import os
from typing import ClassVar

from luthier.core.files.io import open_output
from luthier.kbest.pool import Pool
from luthier.kbest.storage.writer import Writer, moses_lines


@dataclasses.dataclass(frozen=True)
class Method(Writer):
    """One line per hypothesis; dense features all, sparse ones where they are present.

    Dense features are written as Moses writes its own, ``name= v``, and ``tm_0``, ``tm_1``, … that stand together as
    ``tm= v v``: Moses' extractor takes what is written ``name=v`` for sparse.

    The total is the column ``score``, 0 where a hypothesis has none. Sources, references, derivations
    and other columns have no place in this format.
    """

    endings: ClassVar[tuple[str, ...]] = (".moses", ".nbest")

    def write(self, pool: Pool, path: str | os.PathLike[str]) -> None:
        """Write a pool's lists to `path`; raise `LuthierError` for what would not read back."""
        with open_output(path) as out:
            for part in moses_lines(pool):
                out.write(part)
