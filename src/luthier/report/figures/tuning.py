"""A picture of a tuning job: the score by step on both sets, and by each weight at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from luthier.core.arrays import Float64
from luthier.core.io import atomic_write
from luthier.tuning.run import RestartTrace

COLUMNS = 5
MOST_FEATURES = 20


def draw_tuning(
    traces: Sequence[RestartTrace],
    best: int,
    sign: float,
    curves: Sequence[tuple[str, float, Float64, Float64]],
    label: str,
    path: Path,
) -> None:
    """Draw all runs (the best one strongly), then one panel per feature.

    Parameters
    ----------
    best
        Number of the run whose answer was taken.
    sign
        1 where higher scores are better, −1 where lower are: gains times it are scores.
    curves
        Name, final weight, steps (P,) and scores (P,) of each feature's line through the answer.
    """
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    curves = curves[:MOST_FEATURES]
    rows = -(-len(curves) // COLUMNS)
    figure = plt.figure(figsize=(2.6 * COLUMNS, 3.4 + 2.2 * rows), layout="constrained")
    grid = figure.add_gridspec(rows + 1, COLUMNS, height_ratios=[1.5] + [1.0] * rows)
    _draw_steps(figure.add_subplot(grid[0, :]), traces, best, sign, label)
    first = None
    for i, (name, weight, steps, scores) in enumerate(curves):
        axis = figure.add_subplot(grid[1 + i // COLUMNS, i % COLUMNS], sharey=first)
        first = first or axis
        axis.axvline(weight, color="tab:red", linewidth=1, linestyle="--")
        axis.step(steps, scores, where="post", color="tab:blue", linewidth=1.2)
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.grid(visible=True, linewidth=0.3)
        if i % COLUMNS == 0:
            axis.set_ylabel(label, fontsize=8)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    plt.close(figure)


def _draw_steps(axis: Any, traces: Sequence[RestartTrace], best: int, sign: float, label: str) -> None:
    for trace in sorted(traces, key=lambda trace: trace.restart == best):
        chosen = trace.restart == best
        scores = [sign * state.gain for state in trace.states]
        style: dict[str, Any] = {"linewidth": 1.8, "alpha": 1.0} if chosen else {"linewidth": 0.8, "alpha": 0.35}
        axis.plot(scores, color="tab:blue", label="tuning set" if chosen else None, **style)
        if trace.heldout_gains:
            held = [sign * gain for gain in trace.heldout_gains]
            axis.plot(held, color="tab:orange", label="held-out set" if chosen else None, **style)
        if chosen:
            axis.plot(trace.chosen, scores[trace.chosen], "o", color="tab:red", markersize=5, label="the answer")
    axis.set_xlabel("step", fontsize=9)
    axis.set_ylabel(label, fontsize=9)
    axis.set_title(f"{label} by step; {len(traces)} runs, the one whose answer was taken drawn strongly", fontsize=10)
    axis.grid(visible=True, linewidth=0.3)
    axis.legend(fontsize=8, frameon=False, loc="best")
