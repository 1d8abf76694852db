"""A picture of what tuners reach from the same starts: a panel for each metric, a curve for each tuner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.report.figure_style import line_looks, write_figure

from .reached import UNTUNED, Reached
from luthier.report.figure_style import line_looks
from luthier.report.figure_style import make_panels, write_figure
from luthier.jobs.lab.reached import UNTUNED, Reached

COLUMNS = 2
MARKED = 12  # of a curve's points


def draw_starts(units: Sequence[Reached], title: str, path: Path) -> None:
    """Draw the final score from each start, every curve in order of its own scores, the better the higher up."""
    metrics = list(dict.fromkeys(r.metric for r in units))
    rows = -(-len(metrics) // COLUMNS)
    figure, axes = make_panels(rows, COLUMNS, figsize=(11, 3.6 * rows + 0.8), squeeze=False, layout="constrained")
    for axis, metric in zip(axes.flat, metrics, strict=False):
        own = [r for r in units if r.metric == metric]
        _draw_panel(axis, [r for r in own if r.start != UNTUNED])
        axis.set_title(f"{metric}\n{_beginnings(own)}", fontsize=9)
        axis.set_xlabel("starts, sorted by the score at the end", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(visible=True, linewidth=0.3)
        if not own[0].higher_is_better:
            axis.invert_yaxis()
    for axis in axes.flat[len(metrics) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=9, frameon=False)
    figure.suptitle(title, fontsize=11)
    write_figure(figure, path, dpi=110)


def _beginnings(units: Sequence[Reached]) -> str:
    """Return what there was before tuning, as words."""
    untuned = [f"before tuning {r.score:.2f}" for r in units if r.start == UNTUNED]
    begin = [r.start_score for r in units if r.start != UNTUNED]
    return ", ".join([*untuned, *([f"mean of the starts {np.mean(begin):.2f}"] if begin else [])])


def _draw_panel(axis: Any, units: Sequence[Reached]) -> None:
    tuners = list(dict.fromkeys(r.tuner for r in units))
    for looks, tuner in zip(line_looks(), tuners, strict=False):
        own = sorted((r for r in units if r.tuner == tuner), key=lambda r: r.gain)
        axis.plot(
            np.arange(len(own)),
            [r.score for r in own],
            **looks,
            markersize=4,
            markevery=1 + len(own) // MARKED,
            linewidth=1.5,
            label=tuner,
        )
