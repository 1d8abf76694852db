"""A picture of how constraints tighten with sentences, and loosen with features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from luthier.core.files.io import atomic_write
from luthier.landscape.selections.constraint_curves import ConstraintCurves, Share

FAINT = "0.55"
MOST_TICKS = 12


def draw_constraints(curves: ConstraintCurves, path: Path) -> None:
    """Draw the share of feasible oracle selections, and below it lp-mert's time, against each axis asked for."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    n_rows = 2 if curves.costs else 1
    figure, panels = plt.subplots(
        n_rows, len(curves.axes), figsize=(5.8 * len(curves.axes), 3.6 * n_rows), squeeze=False, layout="constrained"
    )
    for column, kind in enumerate(curves.axes):
        _draw_shares(panels[0, column], curves.shares, kind)
        if n_rows == 2:
            _draw_costs(panels[1, column], curves, kind)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=92, format="png")
    plt.close(figure)


def _draw_shares(axis: Any, shares: Sequence[Share], kind: str) -> None:
    """Draw one line for each value of the other number."""
    along, other = _along(kind)
    values = sorted({getattr(share, other) for share in shares})
    if other == "n_sentences":  # numbers that no draw reaches, or every draw does, are lines on top of each other
        values = [n for n in values if any(s.feasible for s in shares if s.n_sentences == n)][:6] or values[:1]
    colors = mpl.colormaps["viridis"]
    for i, value in enumerate(values):
        line = sorted((getattr(s, along), 100 * s.feasible / s.draws) for s in shares if getattr(s, other) == value)
        label = f"{value:,} {_noun(other, value)}"
        color = colors(0.05 + 0.85 * i / max(1, len(values) - 1))
        axis.plot(*zip(*line, strict=True), "o-", color=color, linewidth=1.5, markersize=4, label=label)
    axis.set_ylabel("feasible oracle selections, %")
    axis.set_ylim(-4, 104)
    axis.set_title(f"what one weight vector can select, {shares[0].draws} draws", fontsize=10)
    _finish(axis, kind, sorted({getattr(share, along) for share in shares}))


def _draw_costs(axis: Any, curves: ConstraintCurves, kind: str) -> None:
    """Draw each run as a dot and the means as a line; runs that were given up stand at the limit."""
    along, other = _along(kind)
    costs = [cost for cost in curves.costs if cost.axis == kind]
    color = mpl.colormaps["viridis"](0.4)
    runs = [(getattr(cost, along), seconds) for cost in costs for seconds in cost.seconds]
    axis.plot(*zip(*runs, strict=True), ".", color=FAINT, markersize=5, label="a run")
    means = [(getattr(cost, along), sum(cost.seconds) / len(cost.seconds)) for cost in costs]
    axis.plot(*zip(*means, strict=True), "o-", color=color, linewidth=1.5, markersize=4, label="mean")
    axis.set_yscale("log")
    if any(cost.finished < len(cost.seconds) for cost in costs):
        axis.axhline(curves.time_limit, color="#c0392b", linewidth=1, linestyle="--", label="given up here")
    fixed = getattr(costs[0], other)
    axis.set_ylabel("lp-mert, CPU seconds")
    axis.set_title(f"the best selection, {fixed:,} {_noun(other, fixed)}, K ≤ {curves.k}", fontsize=10)
    _finish(axis, kind, [getattr(cost, along) for cost in costs])


def _finish(axis: Any, kind: str, values: Sequence[int]) -> None:
    axis.grid(visible=True, linewidth=0.3)
    if kind == "sentences":
        axis.set_xlabel("sentences, N")
        axis.set_xscale("log", base=2)
    else:
        axis.set_xlabel("features, D")
    if len(values) <= MOST_TICKS:
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.xaxis.minorticks_off()
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=8, frameon=True, framealpha=0.9, edgecolor="none")


def _along(kind: str) -> tuple[str, str]:
    return ("n_features", "n_sentences") if kind == "dims" else ("n_sentences", "n_features")


def _noun(attribute: str, value: int) -> str:
    word = "feature" if attribute == "n_features" else "sentence"
    return word if value == 1 else f"{word}s"
