"""How far a search goes: the limits of the chart, each an option of `luthier engine decode`."""

from __future__ import annotations

import dataclasses

from luthier.core.params import param, validate


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """Limits of a search. Without `seconds`, what it finds depends on nothing else."""

    pops: int = param(200, low=1, high=1_000_000, help="most candidates taken from the heap of a cell")
    max_span: int = param(15, low=1, high=1000, help="longest span of a rule of the grammar, in words")
    budget: int = param(
        1_000_000, low=1, high=1_000_000_000, help="most candidates of a sentence; its cells share them equally"
    )
    seconds: float | None = param(None, low=0, help="safety: a sentence that takes longer gets no longer spans")

    def __post_init__(self) -> None:
        validate(self)

    def pops_of_cell(self, n_cells: int) -> int:
        """Return the most pops of each cell of a sentence; at least one, so that there is a translation.

        >>> SearchOptions(budget=1000).pops_of_cell(100)
        10
        """
        return max(1, min(self.pops, self.budget // max(1, n_cells)))
