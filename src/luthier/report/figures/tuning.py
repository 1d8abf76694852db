"""A picture of a tuning job: the score by step on both sets, and by each weight at the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.curve import LineCurve
from luthier.landscape.problem import Problem, effect_units
from luthier.report.figure_style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    VERMILION,
    grid_of,
    line_looks,
    make_figure,
    make_panels,
    write_figure,
)
from luthier.tuning.answer import RestartTrace
from luthier.tuning.loops.report import LoopResult
from luthier.tuning.sweep import Chosen, Tried
from luthier.tuning.validation.ablation import HELPS, HURTS, UNTOLD, Ablation, Effect
from luthier.tuning.validation.report import TuningReport

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


# A picture of a tuning loop: scores, new hypotheses and the way of the weights, turn by turn.


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


# A picture of a choice: the held-out score along each axis, a curve for each setting of the others.

MOST_LABELS = 12


def draw_chosen(chosen: Chosen, path: Path) -> None:
    """Draw a panel for each axis; the chosen point is ringed."""
    names = [name for name, values in chosen.axes.items() if len(values) > 1] or list(chosen.axes)
    figure, panels = make_panels(
        1, len(names), figsize=(4.6 * len(names) + 0.6, 4.2), squeeze=False, sharey=True, layout="constrained"
    )
    for panel, name in zip(panels.flat, names, strict=True):
        _draw_axis(panel, chosen, name)
    panels.flat[0].set_ylabel(f"held-out lists, {chosen.metric.split('(')[0]}", fontsize=9)
    figure.suptitle(f"{chosen.method}: chosen {_words(chosen.best.values)}", fontsize=10)
    write_figure(figure, path, dpi=110)


def _draw_axis(panel: Any, chosen: Chosen, name: str) -> None:
    ticks = {value: place for place, value in enumerate(chosen.axes[name])}
    curves: dict[str, list[Tried]] = {}
    for point in chosen.points:
        curves.setdefault(_words({n: v for n, v in point.values.items() if n != name}), []).append(point)
    several = {words: own for words, own in curves.items() if len(own) > 1 or len(ticks) == 1}
    for looks, (words, own) in zip(line_looks(), several.items(), strict=False):
        own = sorted(own, key=lambda point: ticks[point.values[name]])
        places = [ticks[point.values[name]] for point in own]
        panel.plot(places, [point.heldout for point in own], **looks, markersize=4, linewidth=1.2, label=words)
    panel.plot(
        ticks[chosen.best.values[name]], chosen.best.heldout, "o", markersize=11, fillstyle="none", color="black"
    )
    panel.set_xticks(list(ticks.values()), list(ticks), fontsize=8)
    panel.set_xlabel(name, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.grid(visible=True, linewidth=0.3)
    if any(several) and len(several) <= MOST_LABELS:
        panel.legend(fontsize=7, frameon=False)


def _words(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


# A picture of an ablation: what each scorer adds, with its interval; and the score as scorers are added.

VERDICT_LOOKS = {HELPS: (GREEN, "o"), HURTS: (VERMILION, "X"), UNTOLD: ("#777777", "s")}


def draw_ablation(found: Ablation, path: Path, width: float | None = None) -> None:
    """Draw Δ of each scorer, the largest on top; beside it the score of the first, the first two, … scorers."""
    order = sorted(found.effects, key=lambda e: e.difference if found.higher_is_better else -e.difference)
    panels = 1 if found.forward is None else 2
    rows, columns = grid_of(panels, width)
    height = 1.6 + 0.32 * max(len(order), 6)
    figure = make_figure(figsize=(6.2 * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flat
    name = found.metric.partition("|")[0].partition("(")[0]
    _draw_effects(axes[0], order, name)
    if found.forward is not None:
        _draw_forward(axes[1], found, found.forward, name)
    write_figure(figure, path, dpi=110, width=width)


def _draw_effects(axis: Any, effects: Sequence[Effect], metric: str) -> None:
    axis.axvline(0.0, color="#555555", linewidth=0.9, linestyle="--", zorder=0)
    for name, (color, mark) in VERDICT_LOOKS.items():
        own = [(place, effect) for place, effect in enumerate(effects) if effect.verdict == name]
        if not own:
            continue
        places, lows, highs = zip(*((place, *effect.interval) for place, effect in own), strict=True)
        axis.hlines(places, lows, highs, color=color, linewidth=2.2)
        axis.plot([e.difference for _, e in own], places, mark, color=color, markersize=6, label=name)
    axis.set_yticks(range(len(effects)), [effect.name for effect in effects], fontsize=8)
    axis.set_ylim(-0.7, len(effects) - 0.3)
    axis.set_xlabel(f"Δ {metric}: all scorers less all but this one, 95 % intervals", fontsize=9)
    axis.grid(visible=True, axis="x", linewidth=0.3)
    axis.legend(fontsize=8, frameon=False, loc="lower right")  # the longest rows are at the top


def _draw_forward(axis: Any, found: Ablation, steps: Sequence[Effect], metric: str) -> None:
    scores = [found.first, *(effect.score for effect in steps)]
    axis.plot(scores, range(len(scores)), "-", color=BLUE, linewidth=1.4, zorder=2)
    axis.plot(scores[0], 0, "D", color=BLUE, markersize=5)
    for place, effect in enumerate(steps, start=1):
        color, mark = VERDICT_LOOKS[effect.verdict]
        axis.plot(effect.score, place, mark, color=color, markersize=6, zorder=3)
    axis.axvline(found.score, color="#555555", linewidth=0.9, linestyle=":", label="all scorers")
    labels = ["first of each list", *(f"+ {effect.name}" for effect in steps)]
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel(f"{metric}, cross-validated", fontsize=9)
    axis.grid(visible=True, linewidth=0.3)
    axis.legend(fontsize=8, frameon=False, loc="best")
