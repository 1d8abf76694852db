"""A picture of a tuning loop: scores, new hypotheses and the way of the weights, turn by turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from luthier.report.colors import BLUE, ORANGE, PURPLE, VERMILION
from luthier.report.pictures import make_panels, write_figure
from luthier.tuning.iterations import LoopResult


def draw_loop(result: LoopResult, path: Path) -> None:
    """Draw scores above; how many hypotheses were new, and how far the weights moved, below."""
    from matplotlib.ticker import MaxNLocator

    figure, (scores, below) = make_panels(
        2, 1, figsize=(6.4, 5.6), sharex=True, layout="constrained", height_ratios=[2, 1]
    )
    _draw_scores(scores, result)
    turns = [turn.number for turn in result.iterations]
    below.bar(turns, [turn.new for turn in result.iterations], color="tab:gray", width=0.6)
    below.set_ylabel("new hypotheses")
    below.set_xlabel("turn")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    moved = below.twinx()
    moved.plot(turns, [turn.change for turn in result.iterations], color=PURPLE, marker="o", markersize=4)
    moved.set_ylabel("change of the weights", color=PURPLE)
    moved.set_ylim(bottom=0)
    write_figure(figure, path, dpi=110)


def _draw_scores(axis: Any, result: LoopResult) -> None:
    turns = result.iterations
    numbers = [turn.number for turn in turns]
    # what is decoded in a turn is decoded with the weights of the turn before
    decoded = [number - 1 for number in numbers], [turn.decoded for turn in turns]
    axis.plot(*decoded, color=BLUE, marker="o", label="tuning set, decoded")
    axis.plot(numbers, [turn.after for turn in turns], color=BLUE, linestyle=":", label="tuning set, all lists")
    if result.start_heldout is not None:
        heldout = [result.start_heldout, *(turn.heldout for turn in turns)]
        axis.plot([0, *numbers], heldout, color=ORANGE, marker="s", label="held-out set, decoded")
    axis.axvline(result.chosen, color=VERMILION, linewidth=1, linestyle="--", label="the answer")
    axis.set_ylabel(result.metric.partition("(")[0].partition("|")[0])
    axis.grid(visible=True, linewidth=0.3)
    axis.legend(fontsize=8, frameon=False)
