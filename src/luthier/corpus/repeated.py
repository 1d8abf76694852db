"""A column of texts of which many are the same: each is kept once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int32, Int64, frozen
from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts


@dataclasses.dataclass(frozen=True, eq=False)
class RepeatedTexts:
    """M texts: row r has ``texts[ids[r]]``."""

    texts: Texts
    ids: Int32

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", frozen(np.ascontiguousarray(self.ids, dtype=np.int32)))
        if len(self.ids) and not 0 <= int(self.ids.min()) <= int(self.ids.max()) < len(self.texts):
            raise LuthierError(f"expected numbers of texts from 0 to {len(self.texts) - 1}, found others")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: npt.ArrayLike) -> RepeatedTexts:
        """Return the texts of the chosen rows, and no others."""
        used, ids = np.unique(self.ids[np.asarray(rows, dtype=np.int64)], return_inverse=True)
        return RepeatedTexts(
            self.texts if len(used) == len(self.texts) else self.texts.take(used), ids.astype(np.int32).reshape(-1)
        )


def concatenate_repeated(parts: Sequence[RepeatedTexts | None], counts: Sequence[int]) -> RepeatedTexts | None:
    """Return several columns, of `counts` rows each, as one; a column of None is empty texts, and so many make None."""
    if all(part is None for part in parts):
        return None
    nothing = Texts.from_strings([""])
    known = [
        RepeatedTexts(nothing, np.zeros(n, np.int32)) if part is None else part
        for part, n in zip(parts, counts, strict=True)
    ]
    starts: Int64 = np.cumsum([0, *(len(part.texts) for part in known)])
    ids = np.concatenate([part.ids + start for part, start in zip(known, starts[:-1], strict=True)])
    return RepeatedTexts(Texts.concatenate([part.texts for part in known]), ids)
