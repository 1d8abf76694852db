"""A picture of the loops of a study: the decoder's score on the tuning sentences, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from luthier.report.figure_style import line_looks, write_figure

from .condition_scores import ConditionResult
from luthier.jobs.lab.condition_scores import ConditionResult
from luthier.report.figure_style import line_looks
from luthier.report.figure_style import make_panels, write_figure


def draw_turns(results: Sequence[ConditionResult], title: str, path: Path) -> None:
    """Draw a curve for each condition, the mean over its replicas, and the range of these."""
    from matplotlib.ticker import MaxNLocator

    figure, axis = make_panels(figsize=(7.2, 4.6), layout="constrained")
    for looks, result in zip(line_looks(), results, strict=False):
        length = min(map(len, result.decoded))
        scores = np.array([turns[:length] for turns in result.decoded])  # (R, turns)
        (line,) = axis.plot(
            np.arange(1, length + 1), scores.mean(axis=0), **looks, markersize=4, label=result.setting.condition
        )
        axis.fill_between(
            np.arange(1, length + 1), scores.min(axis=0), scores.max(axis=0), color=line.get_color(), alpha=0.15
        )
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("turn")
    axis.set_ylabel("decoded tuning sentences")
    axis.set_title(title, fontsize=10)
    axis.grid(visible=True, linewidth=0.3)
    axis.legend(fontsize=8, frameon=False)
    write_figure(figure, path, dpi=110)
