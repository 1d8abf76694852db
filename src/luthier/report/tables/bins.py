"""Bins as a table."""

from __future__ import annotations

from typing import Any

from luthier.features.bins import Bins
from luthier.report.console import table


def bins_table(bins: Bins) -> Any:
    """Return a line for each feature: its values, bins and how even they are."""
    rows = [
        (
            f.feature, f.n_values, int(f.populations.sum()), len(f), f.lows[0].item(), f.highs[-1].item(),
            int(f.populations.min()), int(f.populations.max()), f"{f.error:.1%}", f.keep,
        )
        for f in bins.features
    ]  # fmt: skip
    columns = (
        "feature", "values", "instances", "bins", "lowest", "highest", "fewest in one", "most in one", "error", "kept",
    )  # fmt: skip
    counted = f"counted {bins.origin['counted']}; " if "counted" in bins.origin else ""
    how = "the least error there is" if bins.exact else "filled from the left"
    caption = f"{counted}{how}; error: mean distance of a bin's capped population from one bin's worth"
    return table(f"{len(bins.names):,} bins of {len(bins.features):,} features", columns, rows, caption=caption)
