"""Pictures of a verdict on a selection: what the weights keep apart, or how constraints cancel.

With two features weights are points of a plane, and a constraint forbids half of it; what all constraints leave is the
cone of weights that make the selection. With more features, a contradiction is drawn feature by feature: what the
constraints ask for and what they ask against are equally long. A feasible selection shows its weights, and how far the
selected hypothesis is ahead in each sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.selections.feasibility import Verdict
from luthier.report.figure_style import BLUE, ORANGE, PURPLE, make_panels, write_figure

INK, MARK, SHADE = "#1f4e79", "#c0392b", "#7f8fa6"
FORBIDDEN = (BLUE, ORANGE, PURPLE)  # three constraints forbid a plane
HATCHES = ("///", "\\\\\\", "...")
WIDE_BAR = 0.06  # of the axis: bars that have room for a number
MOST_NAMES = 30  # features that a picture shows, the largest first
LIGHTNESS = (0.299, 0.587, 0.114)  # of red, green and blue
FEW = 30  # sentences that have a mark each


def draw_verdict(verdict: Verdict, path: Path, width: float | None = None) -> None:
    """Draw half-planes if there are two features, else the weights and what they keep apart, or a contradiction."""
    names, (labels, constraints) = verdict.pool.features.names, verdict.constraints()
    weights = None if verdict.weights is None else np.array(list(verdict.weights.values()))
    if len(names) == 2:
        figure, axis = make_panels(figsize=(5.4, 5.6), layout="constrained")
        _half_planes(axis, names, labels, constraints, weights)
    elif weights is None:
        figure, axis = make_panels(figsize=(9.0, 2.2 + 0.26 * min(len(names), MOST_NAMES)), layout="constrained")
        _contradiction(axis, names, labels, constraints)
    else:
        figure, (left, right) = make_panels(1, 2, figsize=(9.6, 4.4), layout="constrained")
        _weights(left, names, weights)
        _leads(right, constraints @ weights)
    write_figure(figure, path, dpi=110, width=width)


def _half_planes(
    axis: Any, names: tuple[str, ...], labels: list[str], constraints: Float64, weights: Float64 | None
) -> None:
    """Shade what each constraint forbids, w·(h_i − h_j) ≤ 0; what stays white makes the selection."""
    reach = 1.25
    shades = FORBIDDEN if weights is None else (SHADE,)
    for number, (label, constraint) in enumerate(zip(labels, constraints, strict=True)):
        along = np.array([-constraint[1], constraint[0]]) / np.hypot(*constraint)
        away = -constraint / np.hypot(*constraint)
        corners = 4.0 * np.array([along, along + away, away - along, -along])
        shade = shades[number % len(shades)]
        if weights is None:  # hatched, for whom colours that lie on each other look alike
            hatch = HATCHES[number % len(HATCHES)]
            axis.fill(
                *corners.T,
                facecolor=(*mpl.colors.to_rgb(shade), 0.3),
                edgecolor=shade,
                linewidth=0,
                hatch=hatch,
                label=label,
            )
        else:
            axis.fill(*corners.T, color=shade, alpha=0.12, linewidth=0)
        axis.plot(*(4.0 * np.array([along, -along])).T, color=shade, linewidth=0.8, alpha=0.8)
    axis.add_patch(mpl.patches.Rectangle((-1, -1), 2, 2, fill=False, color=INK, linestyle="--", label="|w| ≤ 1"))
    if weights is None:
        axis.set_title("infeasible: together the constraints forbid every w", fontsize=10)
    else:
        if len(constraints):
            axis.plot(*weights, "o", color=MARK, zorder=4, label=f"largest margin, {(constraints @ weights).min():.3g}")
        left = "a cone of" if len(constraints) else "all"
        axis.set_title(f"feasible: the constraints leave {left} weights", fontsize=10)
    axis.axhline(0.0, color="black", linewidth=0.4)
    axis.axvline(0.0, color="black", linewidth=0.4)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.set_xlabel(f"weight of {names[0]}")
    axis.set_ylabel(f"weight of {names[1]}")
    axis.figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)


def _contradiction(axis: Any, names: tuple[str, ...], labels: list[str], constraints: Float64) -> None:
    """Draw, for each feature, what every constraint adds to it; right and left are equally long."""
    sizes = np.abs(constraints).sum(axis=0) / 2.0
    shown = np.sort(np.argsort(-sizes, kind="stable")[:MOST_NAMES])
    shares = constraints[:, shown] / np.where(sizes[shown] > 0.0, sizes[shown], 1.0)
    places = np.arange(len(shown))
    right, left = np.zeros(len(shown)), np.zeros(len(shown))
    colors = mpl.colormaps["cividis"](np.linspace(0.0, 1.0, len(labels)))
    for number, (share, label, color) in enumerate(zip(shares, labels, colors, strict=True), start=1):
        start = np.where(share >= 0.0, right, left)
        axis.barh(places, share, left=start, color=color, edgecolor="white", linewidth=0.5, label=f"{number}  {label}")
        ink = "white" if np.dot(color[:3], LIGHTNESS) < 0.5 else "black"
        for place in places[np.abs(share) > WIDE_BAR]:
            middle = start[place] + share[place] / 2
            axis.text(middle, place, str(number), color=ink, fontsize=8, ha="center", va="center")
        right, left = right + np.maximum(share, 0.0), left + np.minimum(share, 0.0)
    axis.axvline(0.0, color="black", linewidth=0.8)
    axis.set_yticks(places, [names[k] for k in shown])
    axis.invert_yaxis()
    axis.set_xlim(-1.05, 1.05)
    axis.set_xlabel("what each constraint, times its multiplier,\nasks of the feature: against it | for it (share)")
    axis.set_title("infeasible: in every feature the constraints cancel", fontsize=10)
    axis.figure.legend(loc="outside right center", fontsize=8, frameon=False)


def _weights(axis: Any, names: tuple[str, ...], weights: Float64) -> None:
    shown = np.sort(np.argsort(-np.abs(weights), kind="stable")[:MOST_NAMES])
    axis.barh(np.arange(len(shown)), weights[shown], color=INK)
    axis.set_yticks(np.arange(len(shown)), [names[k] for k in shown])
    axis.invert_yaxis()
    axis.axvline(0.0, color="black", linewidth=0.8)
    axis.set_xlim(-1.05, 1.05)
    axis.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    axis.set_xlabel("weight")
    axis.set_title("the weights of the largest margin", fontsize=10)


def _leads(axis: Any, leads: Float64) -> None:
    ordered = np.sort(leads)
    marker = "o" if len(ordered) <= FEW else ""
    axis.step(np.arange(1, len(ordered) + 1), ordered, where="mid", color=INK, marker=marker, markersize=4)
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True, min_n_ticks=1))
    if len(ordered) and ordered[0] > 0.0:
        axis.axhline(ordered[0], color=MARK, linestyle="--", linewidth=1.0, label=f"margin {ordered[0]:.3g}")
        axis.set_yscale("log")
        axis.legend(fontsize=9, frameon=False)
    axis.set_xlabel("sentences, the closest first")
    axis.set_ylabel("score of the selected less the next")
    axis.set_title("how far ahead the selected hypotheses are", fontsize=10)
    axis.grid(visible=True, linewidth=0.3)
