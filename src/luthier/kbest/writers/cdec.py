"""cdec lists: id ||| hypothesis ||| name=value … ||| total; what is 0 is left out, as cdec does."""

from __future__ import annotations

import dataclasses
import os
from typing import ClassVar

import numpy as np

from luthier.core.files.io import open_output
from luthier.core.segments import offsets_from_counts
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.storage.writer import Writer, moses_lines


@dataclasses.dataclass(frozen=True)
class Method(Writer):
    """One line per hypothesis; the total is the column ``score``, 0 where a hypothesis has none."""

    endings: ClassVar[tuple[str, ...]] = (".cdec",)

    def write(self, pool: Pool, path: str | os.PathLike[str]) -> None:
        """Write a pool's lists to `path`; raise `LuthierError` for what would not read back."""
        with open_output(path) as out:
            for part in moses_lines(pool.with_features(_all_sparse(pool.features))):
                out.write(part)


def _all_sparse(features: Features) -> Features:
    """Return the same features, none of them dense, zeros left out."""
    rows, columns = np.nonzero(features.dense)
    few = np.repeat(np.arange(len(features)), np.diff(features.indptr))
    row = np.concatenate([rows, few])
    column = np.concatenate([columns, features.indices + features.n_dense])
    values = np.concatenate([features.dense[rows, columns], features.values])
    order = np.lexsort((column, row))
    order = order[values[order] != 0]
    return dataclasses.replace(
        features,
        dense=np.zeros((len(features), 0)),
        indptr=offsets_from_counts(np.bincount(row[order], minlength=len(features))),
        indices=column[order].astype(np.int32),
        values=values[order],
    )
