"""The learned shape of features, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.features.curves import Curve
from luthier.report.console import stack, table

COLUMNS = ("bin", "lowest", "highest", "instances", "weight", "fitted", "remark")


def curve_tables(curves: Sequence[Curve], most: int) -> Any:
    """Return a table for each feature, with at most `most` of its bins."""
    return stack(*(_curve_table(curve, most) for curve in curves))


def _curve_table(curve: Curve, most: int) -> Any:
    bins, fitted = curve.bins, curve.fitted
    rows = [
        (
            bins.names[j], bins.lows[j].item(), bins.highs[j].item(), int(bins.populations[j]), curve.weights[j].item(),
            None if np.isnan(fitted[j]) else fitted[j].item(), _remark(curve, j),
        )
        for j in range(min(most, len(bins)))
    ]  # fmt: skip
    more = f"{len(bins) - most:,} more bins are not shown. " if len(bins) > most else ""
    return table(f"{bins.feature}: {_shape(curve)}", COLUMNS, rows, caption=more + _fits(curve))


def _remark(curve: Curve, j: int) -> str:
    if j == 0 or not curve.against[j - 1]:
        return ""
    return "falls" if curve.rises else "rises"


def _shape(curve: Curve) -> str:
    way = "rises" if curve.rises else "falls"
    count = int(curve.against.sum())
    return f"{way} throughout" if not count else f"{way}, but for {count} of {len(curve.against)} steps"


def _fits(curve: Curve) -> str:
    if curve.log is None or curve.line is None:
        return "fewer than three bins above 0: no curve fitted"
    log, line = curve.log, curve.line
    return f"{log.a:.4g} {log.b:+.4g} log x, R² {log.r2:.3f}; {line.a:.4g} {line.b:+.4g} x, R² {line.r2:.3f}"
