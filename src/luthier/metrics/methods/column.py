"""A given number per hypothesis, such as COMET or latency: its mean."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.metrics.base import Metric, Rate, Stats, ratio
from luthier.metrics.batch import Batch


@dataclasses.dataclass(frozen=True)
class Method(Metric):
    """Mean of the column `column` of a batch, times `scale`; ``column:comet`` is the short form.

    The values are left as they were given, unless `scale` brings them to 0–100.
    """

    stat_names = ("sum", "count")

    column: str = param("score", help="name of the column")
    scale: float = param(1.0, help="factor of the mean")
    maximize: bool = param(True, help="higher values are better")

    @property
    def rate(self) -> Rate:
        """The sum per hypothesis, times the scale."""
        return Rate("sum", "count", self.scale)

    @property
    def label(self) -> str:
        """The column's name."""
        return f"column:{self.column}"

    @property
    def higher_is_better(self) -> bool:
        """As `maximize` says."""
        return self.maximize

    def stats(self, batch: Batch) -> Stats:
        """Return (value, 1) of every hypothesis, (M, 2) float64."""
        if self.column not in batch.columns:
            known = ", ".join(batch.columns) or "none at all"
            raise LuthierError(f"there is no column {self.column!r} beside the hypotheses. known: {known}")
        values = np.asarray(batch.columns[self.column], dtype=np.float64)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise LuthierError(f"expected finite numbers in column {self.column!r}, found {values[row]} in row {row}")
        return np.stack([values, np.ones(len(values))], axis=1)

    def score(self, stats: Stats) -> Float64:
        """Return the scaled mean; 0 of nothing."""
        stats = self.check_stats(stats)
        return self.scale * ratio(stats[..., 0], stats[..., 1])
