"""A picture of what metrics trade: all cells, the front, the best of each metric and the mix, a panel for each pair."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

from luthier.landscape.tradeoff.front import pareto
from luthier.landscape.tradeoff.result import Tradeoff
from luthier.report.figure_style import BLUE, GREEN, ORANGE, SKY, VERMILION, make_panels, write_figure

# How far a panel goes beyond the front, in the front's own range, or so many times the metric's noise; and no farther
# than there are cells.
BESIDE, NOISES = 0.8, 1.0
PADDING = 0.04
MOST_COLUMNS = 3


def draw_tradeoff(found: Tradeoff, path: Path, width: float | None = None) -> None:
    """Draw every pair of metrics: a sample of cells, the front of all metrics, and the front of the pair as a line."""
    pairs = list(itertools.combinations(range(len(found.labels)), 2))
    columns = min(len(pairs), MOST_COLUMNS)
    rows = math.ceil(len(pairs) / columns)
    figure, panels = make_panels(
        rows, columns, figsize=(4.6 * columns if columns > 1 else 5.6, 4.2 * rows), layout="constrained", squeeze=False
    )
    for axis, (a, b) in itertools.zip_longest(panels.flat, pairs, fillvalue=(0, 0)):
        if a == b:
            axis.set_visible(False)
        else:
            _panel(axis, found, a, b)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, 2 * columns), fontsize=9, frameon=False)
    write_figure(figure, path, dpi=110, width=width)


def _panel(axis: Any, found: Tradeoff, a: int, b: int) -> None:
    seen, scores = found.seen[:, [a, b]], found.scores[:, [a, b]]
    what = {"plane": "cells", "line": "intervals"}.get(found.where, "intervals of line searches")
    axis.plot(*seen.T, ".", color="#b5b5b5", markersize=2.2, zorder=1, rasterized=True, label=f"{what} (a sample)")
    kind = "front" if found.exact else "inner front"
    axis.plot(*scores.T, "o", color=SKY, markersize=4, zorder=2, label=f"{kind} of all metrics")
    pair = scores[pareto(found.gains[:, [a, b]])]
    axis.plot(*pair.T, "-", color=BLUE, linewidth=1.2, zorder=3, label=f"{kind} of the pair")
    best = found.best
    axis.plot(*scores[best[a]], ">", color=VERMILION, markersize=7, zorder=5, label="best of the horizontal metric")
    axis.plot(*scores[best[b]], "^", color=ORANGE, markersize=7, zorder=5, label="best of the vertical metric")
    open_mark = {"markerfacecolor": "none", "markeredgewidth": 1.6, "linestyle": "none", "zorder": 6}
    axis.plot(*scores[found.mix], "D", color=GREEN, markersize=10, label="the mix", **open_mark)
    ends = _ends(found, a), _ends(found, b)
    inside = all(low < found.start_scores[k] < high for k, (low, high) in zip((a, b), ends, strict=True))
    label = "w0" if inside else "w0 (outside)"
    axis.plot(*found.start_scores[[a, b]], "s", color="#333333", markersize=10, label=label, **open_mark)
    axis.set_xlim(*ends[0])
    axis.set_ylim(*ends[1])
    axis.set_xlabel(_named(found, a))
    axis.set_ylabel(_named(found, b))
    axis.grid(visible=True, linewidth=0.3)


def _ends(found: Tradeoff, k: int) -> tuple[float, float]:
    """Return the ends of a metric's axis: the front, w0 if it is near, and the cells beside them."""
    front, start, seen = found.scores[:, k], float(found.start_scores[k]), found.seen[:, k]
    low, high = float(front.min()), float(front.max())
    beside = BESIDE * max(high - low, NOISES * float(found.noise[k]))
    if low - 2 * beside < start < high + 2 * beside:
        low, high = min(low, start), max(high, start)
    if len(seen):
        low = max(low - beside, min(low, float(seen.min())))
        high = min(high + beside, max(high, float(seen.max())))
    pad = PADDING * (high - low) or 1.0
    return low - pad, high + pad


def _named(found: Tradeoff, k: int) -> str:
    """Return a metric's name with its better direction."""
    better = found.joint.parts[k].higher_is_better
    return f"{found.labels[k]} ({'nearer to 100' if better is None else 'higher' if better else 'lower'} is better)"
