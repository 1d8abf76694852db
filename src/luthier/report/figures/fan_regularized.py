"""Regularisation on a fan, as in Figure 5 of [waite2015]: what a line search sees, and what the fan shows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.cones.fan_scenes import FanScene, RegularizedScene, joint_name
from luthier.report.figure_style import make_figure
from luthier.report.figures import fan_parts as parts
from luthier.report.figures.label_placement import add_name

NEAREST, LINE = "#0072B2", "#c1121f"
MOST_NAMES = 12
PLAIN = parts.Frame((0.0, 0.0), 1.0, 1.0)  # angles are what this is about: nothing is stretched


def draw_regularized(regularized: RegularizedScene, path: Path, width: float | None = None) -> None:
    """Draw the fan coloured by score with w0, the line and both choices; beside it what the line sees."""
    figure = make_figure(figsize=(13.5, 7.2), layout="constrained", dpi=84)
    figure.get_layout_engine().set(w_pad=parts.PADDING, h_pad=parts.PADDING)
    grid = figure.add_gridspec(2, 2, width_ratios=[1.25, 1])
    scene = regularized.scene
    figure.suptitle(f"{scene.title}: staying near to $w^{{(0)}}$", fontsize=12)
    plane = figure.add_subplot(grid[:, 0])
    scale = _draw_plane(plane, regularized)
    figure.legend(*plane.get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncol=3, frameon=False)
    bar = figure.colorbar(scale, ax=plane, shrink=0.7, pad=0.01)
    bar.set_label(scene.metric, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    _draw_line_view(figure.add_subplot(grid[0, 1]), regularized)
    _draw_angle_view(figure.add_subplot(grid[1, 1]), regularized)
    parts.save(figure, path, width, square=False)


def _candidates(regularized: RegularizedScene) -> Float64:
    """Return the weights that the line search may take, (B, 2): several if it cannot tell."""
    steps = regularized.line.inside[list(regularized.line.best)]
    return regularized.start + steps[:, None] * regularized.direction


def _draw_plane(axis: Any, regularized: RegularizedScene) -> Any:
    scene, fan, start = regularized.scene, regularized.scene.joint, regularized.start
    taken, chosen = _candidates(regularized), regularized.angle.weights
    places = np.concatenate([start[None], taken, chosen[None]])
    unit = 1.25 * float(np.linalg.norm(places, axis=1).max())  # drawn as length 1
    colors, scale = parts.cone_colors(fan, scene.cone_scores, scene.better)
    parts.prepare_weights(axis, scene.axes, reach=1.25)
    for cone in range(fan.n_cones):
        parts.draw_cone(axis, PLAIN, fan, cone, colors[cone], alpha=0.55)
    for normal in fan.normals:
        parts.draw_ray(axis, normal, width=1.0 if fan.n_cones > MOST_NAMES else 1.6)
    if fan.n_cones <= MOST_NAMES:
        for cone in range(fan.n_cones):
            parts.label_beside(axis, PLAIN, fan, cone, f"$N\\{{{joint_name(scene, cone)}\\}}$")
    direction = regularized.direction / np.linalg.norm(regularized.direction)
    line = _chord(start / unit, direction, 1.2)
    axis.plot(*line.T, color=LINE, linewidth=3, zorder=5, label="the line $w^{(0)} + \\gamma d$ of a line search")
    finite = np.isfinite(regularized.angle.angles)
    for place, foot in enumerate(regularized.angle.feet[finite][:MOST_NAMES]):
        ends = np.stack([start, foot]) / unit
        axis.plot(
            *ends.T,
            color=parts.DARK,
            linewidth=1.2,
            linestyle=(0, (4, 3)),
            zorder=6,
            label="shortest ways into the good cones" if place == 0 else None,
        )
    for i, place in enumerate(taken / unit, 1):
        axis.scatter(
            *place,
            s=70,
            color=LINE,
            edgecolor="white",
            zorder=8,
            label="what the line search may take" if i == 1 else None,
        )
        _tag(axis, place, f"$w^{{({i})}}$", LINE)
    axis.scatter(
        *(start / unit), s=80, color=parts.DARK, edgecolor="white", zorder=8, label="the trusted start $w^{(0)}$"
    )
    _tag(axis, start / unit, "$w^{(0)}$", parts.DARK, (1, -2))
    if regularized.angle.best >= 0:
        axis.scatter(
            *(chosen / unit),
            s=150,
            marker="*",
            color=NEAREST,
            edgecolor="white",
            zorder=9,
            label="the nearest good cone by angle",
        )
        _tag(axis, chosen / unit, "$\\hat{w}$", NEAREST, (-1, -1))
    axis.set_title("the fan, coloured by score", fontsize=10)
    return scale


def _chord(point: Float64, direction: Float64, reach: float) -> Float64:
    """Return the part of a line inside a circle round the origin: (2, 2)."""
    along = float(point @ direction)
    left = float(np.sqrt(max(reach**2 - (float(point @ point) - along**2), 0.0)))
    return np.stack([point + (-along - left) * direction, point + (-along + left) * direction])


def _tag(axis: Any, place: Float64, text: str, color: str, away: tuple[int, int] = (1, 1)) -> None:
    towards = np.array(away) / math.hypot(*away)
    add_name(axis, text, place, towards, color=color, fontsize=12, zorder=10, bbox=parts.BEHIND)


def _draw_line_view(axis: Any, regularized: RegularizedScene) -> None:
    """Draw score and penalised score along the line: all that a line search knows."""
    scene, line = regularized.scene, regularized.line
    scores = _scores(scene)[line.cones]
    unit = float(np.linalg.norm(regularized.direction))
    reach = _shown_reach(regularized)
    steps = np.linspace(-reach, reach, 1200)
    where = np.searchsorted(line.low[1:], steps, side="right")
    charged = scores[where] - scene.better * regularized.strength * (steps * unit) ** 2
    axis.step(steps * unit, scores[where], where="mid", color=parts.GREY, linewidth=1.4, label=scene.metric)
    word = "less" if scene.better > 0 else "plus"
    axis.plot(steps * unit, charged, color=LINE, linewidth=1.6, label=f"{word} $\\beta\\gamma^2\\Vert d\\Vert^2$")
    axis.axvline(0.0, color=parts.DARK, linewidth=1)
    axis.annotate(
        "$w^{(0)}$", (0, 0), (3, 4), xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=10
    )
    for i, best in enumerate(line.best, 1):
        place = line.nearest[best] * unit, -scene.better * line.costs[best]
        axis.scatter(*place, s=60, color=LINE, edgecolor="white", zorder=6)
        axis.annotate(
            f"$w^{{({i})}}$",
            place,
            (-10, 9),
            textcoords="offset points",
            color=LINE,
            fontsize=11,
            zorder=7,
            bbox=parts.BEHIND,
        )
    found = f"{len(line.best)} candidates tie" if len(line.best) > 1 else "one candidate is best"
    title = f"what the line sees: {len(line.cones)} of {scene.joint.n_cones} cones; {found}"
    axis.set_title(title, fontsize=10)
    axis.margins(y=0.24)  # room for the names of the candidates
    axis.set_xlabel("distance from $w^{(0)}$ along the line, $\\gamma\\Vert d\\Vert$", fontsize=9)
    axis.set_ylabel(scene.metric.split(" ")[0], fontsize=9)
    axis.tick_params(labelsize=8)
    axis.grid(visible=True, linewidth=0.3)
    axis.legend(fontsize=8, frameon=False)


def _shown_reach(regularized: RegularizedScene) -> float:
    """Return up to which γ the line is shown: past all changes, but not where the penalty outweighs all gains."""
    line = regularized.line
    inner = np.abs(np.append(line.low[1:], line.high[:-1]))
    past = 1.4 * float(inner.max(initial=0.0)) or 1.0
    spread = float(np.ptp(_scores(regularized.scene)))
    if regularized.strength == 0.0 or spread == 0.0:
        return past
    dear = float(np.sqrt(1.2 * spread / regularized.strength) / np.linalg.norm(regularized.direction))
    return min(past, max(dear, 1.4 * float(np.abs(line.inside[list(line.best)]).max())))


def _draw_angle_view(axis: Any, regularized: RegularizedScene) -> None:
    """Draw the angle to every good cone: what the fan as a whole shows."""
    scene, choice = regularized.scene, regularized.angle
    order = np.argsort(choice.angles, kind="stable")[:MOST_NAMES]
    degrees = np.degrees(np.where(np.isfinite(choice.angles[order]), choice.angles[order], 0.0))
    names = [parts.math_text(joint_name(scene, int(choice.cones[i]))) for i in order]
    if len(scene.lists) > 2:
        names = [f"cone {int(choice.cones[i])}" for i in order]
    crossed = set(regularized.line.cones.tolist())
    places = np.arange(len(order))[::-1]
    colors = [NEAREST if int(choice.cones[i]) == choice.best else parts.GREY for i in order]
    axis.barh(places, degrees, color=colors, height=0.55)
    for place, i, width in zip(places, order, degrees, strict=True):
        score = float(_scores(scene)[choice.cones[i]])
        apart = "behind $w^{(0)}$" if not np.isfinite(choice.angles[i]) else f"{width:.3g}°"
        unseen = "" if int(choice.cones[i]) in crossed else ", not on the line"
        axis.text(
            width, place, f"  {apart} ({scene.metric.split(' ')[0]} {score:.4g}{unseen})", va="center", fontsize=8
        )
    axis.set_yticks(places, names, fontsize=9)
    axis.set_ylim(-0.7, max(len(order), 2) - 0.3)
    axis.set_xlim(0, 1.5 * max(float(degrees.max()), 1.0))
    axis.set_xlabel("angle from $w^{(0)}$ to the cone, degrees", fontsize=9)
    axis.tick_params(axis="x", labelsize=8)
    axis.grid(visible=True, axis="x", linewidth=0.3)
    axis.set_axisbelow(True)
    axis.set_title(
        f"what the fan shows: {len(choice.cones)} good cone{'s' * (len(choice.cones) > 1)}, the nearest first",
        fontsize=10,
    )


def _scores(scene: FanScene) -> Float64:
    if scene.cone_scores is None:
        raise AssertionError("a regularised scene has scores")
    return scene.cone_scores
