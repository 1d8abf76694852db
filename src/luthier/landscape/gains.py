"""When two gains are the same, and how many of the best places are worth a re-rank."""

from __future__ import annotations

# Gains that differ by less, relative to the larger but at least to 1, are equal: sums of statistics are rounded.
ROUNDING = 1e-9
# Places that are kept of a line, a plane or a space and, if need be, re-ranked: the best few.
TRIES = 8


def slack(gain: float) -> float:
    """Return by how much another gain may differ from this one and still be the same."""
    return ROUNDING * max(1.0, abs(gain))
