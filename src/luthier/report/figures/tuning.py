"""A picture of a tuning job: the score by step on both sets, and by each weight at the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.lines.curve import LineCurve
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units
from luthier.report.colors import BLUE, ORANGE, VERMILION
from luthier.report.pictures import make_figure, write_figure
from luthier.tuning.traces import RestartTrace
from luthier.tuning.tuned import TuningReport

COLUMNS = 5
MOST_FEATURES = 20
CURVE_REACH = 4.0  # how far the curves go, in units of the mean effect of a feature


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """The score as one weight moves: the feature, its final weight, steps (P,) and the score from each on (P,)."""

    name: str
    weight: float
    steps: Float64
    scores: Float64


def draw_tuning(report: TuningReport, path: Path, width: float | None = None) -> None:
    """Draw the first replica's runs (the best one strongly), then the exact curve of each of its weights."""
    result, label = report.replicas[0].result, report.problem.metric.name
    sign = float(report.problem.metric.gain(np.array(1.0)))  # gains times it are scores
    curves = weight_curves(report.problem, report.replicas[0].weights, sign)
    rows = -(-len(curves) // COLUMNS)
    figure = make_figure(figsize=(2.6 * COLUMNS, 3.4 + 2.2 * rows), layout="constrained")
    grid = figure.add_gridspec(rows + 1, COLUMNS, height_ratios=[1.5] + [1.0] * rows)
    _draw_steps(figure.add_subplot(grid[0, :]), result.traces, result.best_restart, sign, label)
    first = None
    for i, curve in enumerate(curves):
        axis = figure.add_subplot(grid[1 + i // COLUMNS, i % COLUMNS], sharey=first)
        first = first or axis
        axis.axvline(curve.weight, color=VERMILION, linewidth=1, linestyle="--")
        axis.step(curve.steps, curve.scores, where="post", color=BLUE, linewidth=1.2)
        axis.set_title(curve.name, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.grid(visible=True, linewidth=0.3)
        if i % COLUMNS == 0:
            axis.set_ylabel(label, fontsize=8)
    write_figure(figure, path, dpi=110, width=width)


def weight_curves(problem: Problem, weights: Float64, sign: float) -> list[Curve]:
    """Return the exact curves of the weights that do most, the most effective first."""
    units = effect_units(problem.spread, weights)
    moving = np.flatnonzero(units > 0)  # the others never differ within a list: their curves are flat
    effects = np.abs(weights[moving]) / units[moving]
    features = moving[np.argsort(-effects, kind="stable")][:MOST_FEATURES]
    curves = []
    for d, curve in zip(features, problem.curves(weights, np.eye(problem.n_features)[features]), strict=True):
        steps, gains = _shown_part(curve, reach=CURVE_REACH * float(units[d]))
        curves.append(Curve(problem.names[d], float(weights[d]), steps + weights[d], sign * gains))
    return curves


def _shown_part(curve: LineCurve, *, reach: float) -> tuple[Float64, Float64]:
    """Return where the gain changes within ±`reach`, with both ends, and the gain from each place on."""
    inside = (curve.breakpoints > -reach) & (curve.breakpoints < reach)
    steps = np.concatenate([[-reach], curve.breakpoints[inside], [reach]])
    gains = np.array(curve.gains[np.searchsorted(curve.breakpoints, steps[:-1], side="right")])
    return steps, np.append(gains, gains[-1])


def _draw_steps(axis: Any, traces: Sequence[RestartTrace], best: int, sign: float, label: str) -> None:
    for trace in sorted(traces, key=lambda trace: trace.restart == best):
        chosen = trace.restart == best
        scores = [sign * state.gain for state in trace.states]
        style: dict[str, Any] = {"linewidth": 1.8, "alpha": 1.0} if chosen else {"linewidth": 0.8, "alpha": 0.35}
        axis.plot(scores, color=BLUE, label="tuning set" if chosen else None, **style)
        if trace.heldout_gains:
            held = [sign * gain for gain in trace.heldout_gains]
            axis.plot(held, color=ORANGE, label="held-out set" if chosen else None, **style)
        if chosen:
            axis.plot(trace.chosen, scores[trace.chosen], "o", color=VERMILION, markersize=5, label="the answer")
    axis.set_xlabel("step", fontsize=9)
    axis.set_ylabel(label, fontsize=9)
    axis.set_title(f"{label} by step; {len(traces)} runs, the one whose answer was taken drawn strongly", fontsize=10)
    axis.grid(visible=True, linewidth=0.3)
    axis.legend(fontsize=8, frameon=False, loc="best")
