"""A picture of how constraints tighten with sentences, and loosen with features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.selections.constraints import ConstraintCurves, Share
from luthier.report.figure_style import MARKS, make_figure, write_figure

FAINT = "0.55"
MOST_TICKS = 12
HALF = 50.0  # per cent
APART = 0.045  # features, or octaves of sentences


def draw_constraints(curves: ConstraintCurves, path: Path, width: float | None = None) -> None:
    """Draw the share of feasible oracle selections over both axes, along each, and below it lp-mert's time."""
    table = share_table(curves.shares)
    mapped, timed = int(min(table[2].shape) > 1), int(bool(curves.costs))
    figure = make_figure(figsize=(5.8 * len(curves.axes), 3.6 * (1 + mapped + timed)), layout="constrained")
    parts = figure.subfigures(1 + mapped, 1, squeeze=False, height_ratios=[1] * mapped + [1 + timed])[:, 0]
    if mapped:
        _draw_map(parts[0], parts[0].subplots(), table)
    panels = parts[-1].subplots(1 + timed, len(curves.axes), squeeze=False)
    for column, kind in enumerate(curves.axes):
        _draw_shares(panels[0, column], curves.shares, kind)
        if timed:
            _draw_costs(panels[1, column], curves, kind)
    write_figure(figure, path, dpi=92, width=width)


def share_table(shares: Sequence[Share]) -> tuple[list[int], list[int], Float64]:
    """Return numbers of features and of sentences, and the share of feasible selections in per cent, (D, S).

    Beyond the first number of sentences that no draw reached, none does.
    """
    features = sorted({share.n_features for share in shares})
    sentences = sorted({share.n_sentences for share in shares})
    table = np.zeros((len(features), len(sentences)))
    for share in shares:
        row, column = features.index(share.n_features), sentences.index(share.n_sentences)
        table[row, column] = 100 * share.feasible / share.draws
    return features, sentences, table


def _draw_map(figure: Any, axis: Any, table: tuple[list[int], list[int], Float64]) -> None:
    """Draw the shares by features and sentences in colours, and where half of the selections are feasible."""
    features, sentences, shares = table
    drawn = axis.imshow(shares, origin="lower", aspect="auto", cmap="viridis", vmin=0.0, vmax=100.0)
    if shares.min() < HALF < shares.max():
        axis.contour(shares, levels=[HALF], colors="white", linewidths=2.4)
        axis.contour(shares, levels=[HALF], colors="black", linewidths=1.0, linestyles="--")
    for along, values in ((axis.xaxis, sentences), (axis.yaxis, features)):
        step = -(-len(values) // MOST_TICKS)
        along.set_ticks(range(0, len(values), step), [f"{value:,}" for value in values[::step]])
    axis.set_xlabel("sentences, N")
    axis.set_ylabel("features, D")
    figure.colorbar(drawn, ax=axis, label="feasible oracle selections, %", pad=0.01)
    axis.set_title("dashed: half of the draws are feasible", fontsize=10)


def _draw_shares(axis: Any, shares: Sequence[Share], kind: str) -> None:
    """Draw one line for each value of the other number."""
    along, other = _along(kind)
    values = sorted({getattr(share, other) for share in shares})
    if other == "n_sentences":  # numbers that no draw reaches, or every draw does, are lines on top of each other
        values = [n for n in values if any(s.feasible for s in shares if s.n_sentences == n)][:6] or values[:1]
    colors = mpl.colormaps["viridis"]
    for i, value in enumerate(values):
        own = sorted(
            (share for share in shares if getattr(share, other) == value), key=lambda s: float(getattr(s, along))
        )
        places = [_beside(getattr(share, along), i - (len(values) - 1) / 2, kind) for share in own]
        middles = np.array([100 * share.feasible / share.draws for share in own])
        bars = np.abs(np.array([wilson(share) for share in own]).T - middles)
        label = f"{value:,} {_noun(other, value)}"
        color = colors(0.05 + 0.85 * i / max(1, len(values) - 1))
        axis.errorbar(
            places,
            middles,
            yerr=bars,
            fmt=f"{MARKS[i % len(MARKS)]}-",
            color=color,
            linewidth=1.4,
            markersize=4,
            elinewidth=0.7,
            capsize=1.5,
            label=label,
        )
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
    means = [(getattr(cost, along), math.fsum(cost.seconds) / len(cost.seconds)) for cost in costs]
    axis.plot(*zip(*means, strict=True), "o-", color=color, linewidth=1.5, markersize=4, label="mean")
    axis.set_yscale("log")
    if any(cost.finished < len(cost.seconds) for cost in costs):
        axis.axhline(curves.time_limit, color="#c0392b", linewidth=1, linestyle="--", label="given up here")
    fixed = getattr(costs[0], other)
    axis.set_ylabel("lp-mert, CPU seconds")
    axis.set_title(f"the best selection, {fixed:,} {_noun(other, fixed)}, K ≤ {curves.k}", fontsize=10)
    _finish(axis, kind, [getattr(cost, along) for cost in costs])


def _beside(value: float, place: float, kind: str) -> float:
    """Return where the line of that place is drawn at a value: error bars of several lines stand side by side."""
    return value * 2.0 ** (APART * place) if kind == "sentences" else value + APART * place


def wilson(share: Share, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share [wilson1927], in per cent.

    >>> low, high = wilson(Share(1, 1, 5, 10))
    >>> round(low, 1), round(high, 1)
    (23.7, 76.3)
    """
    n, p = share.draws, share.feasible / share.draws
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (middle - half) / (1 + z * z / n), 100 * (middle + half) / (1 + z * z / n)


def _finish(axis: Any, kind: str, values: Sequence[int]) -> None:
    axis.grid(visible=True, linewidth=0.3)
    if kind == "sentences":
        axis.set_xlabel("sentences, N")
        axis.set_xscale("log", base=2)
        values = [value for value in values if value & (value - 1) == 0]  # those between would touch in print
    else:
        axis.set_xlabel("features, D")
    if len(values) <= MOST_TICKS:
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.xaxis.minorticks_off()
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _along(kind: str) -> tuple[str, str]:
    return ("n_features", "n_sentences") if kind == "dims" else ("n_sentences", "n_features")


def _noun(attribute: str, value: int) -> str:
    word = "feature" if attribute == "n_features" else "sentence"
    return word if value == 1 else f"{word}s"
