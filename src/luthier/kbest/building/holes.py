"""Values that a table lacks, where a column has most of them: an error, or filled as the user says.

An absent log-probability would otherwise count 0, the best there is, and win. A feature that more than half of a
table's rows have is *dense*, and what it lacks are holes; rarer names are sparse, and 0 where they are absent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from luthier.core.arrays import Bool, Float64
from luthier.core.errors import InputError

ERROR, ZERO, WORST, MEAN = POLICIES = ("error", "zero", "worst", "mean")
DENSE_SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class Filling:
    """What is done about holes, and for which features lower values are better."""

    policy: str = ERROR
    costs: Collection[str] = ()

    def fill(self, name: str, column: Float64, holes: Bool) -> None:
        """Write values into the holes of a column, (M,) each."""
        present = column[~holes]
        if self.policy == ZERO:
            column[holes] = 0.0
        elif self.policy == MEAN:
            column[holes] = present.mean()
        elif self.policy == WORST:
            column[holes] = present.max() if name in self.costs else present.min()
        else:
            raise AssertionError(self.policy)


def holes_error(counts: Sequence[tuple[str, int]], n_rows: int, first_row: int, path: str) -> InputError:
    """Return the complaint about features that some rows lack."""
    name, missing = counts[0]
    more = f", and {len(counts) - 1} more features like it" if len(counts) > 1 else ""
    return InputError(
        expected=f"the feature {name!r} on every row, as most have it",
        found=f"{missing:,} of {n_rows:,} rows without it, row {first_row + 1:,} the first{more}",
        path=path, kind="missing",
        hint="`missing` worst or mean fills it in; `missing` zero counts it 0, which is the best log-probability",
    )  # fmt: skip
