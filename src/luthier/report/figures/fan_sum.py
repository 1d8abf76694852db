"""Two lists, their Minkowski sum, their fans and the common refinement, as in Figure 3 of [waite2015]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from luthier.core.arrays import Float64
from luthier.geometry.polytopes.fan import PlanarFan, all_sums
from luthier.geometry.polytopes.polytope import distinct_rows
from luthier.landscape.fans.scene import FanScene, joint_name
from luthier.report.figures import fan_parts as parts
from luthier.report.figures.names import add_name

COLORS = ("#0072B2", "#D55E00")  # of the two lists' sides and boundaries
REACH = 1.65  # of the planes of weights, so that names beside the circle fit in
MANY, MOST_SUMS, MOST_NAMES, MOST_RAY_NAMES = 200, 200_000, 12, 10


def draw_sum(scene: FanScene, path: Path, width: float | None = None) -> None:
    """Draw above two polygons and their sum, below two fans and what both together are."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11.6, 7.7), layout="constrained", dpi=90)
    figure.suptitle(f"{scene.title}: the Minkowski sum and the common refinement", fontsize=12)
    figure.get_layout_engine().set(w_pad=parts.PADDING, h_pad=parts.PADDING)
    total = _draw_polygons(axes[0], scene)
    frame = parts.Frame.around(total)
    for s, fan in enumerate(scene.fans):
        _draw_single(axes[1, s], scene, frame, fan, s)
    scale = _draw_joint(axes[1, 2], scene, frame)
    if scale is not None:
        bar = figure.colorbar(scale, ax=axes[1, 2], shrink=0.8)
        bar.set_label(scene.metric, fontsize=8)
        bar.ax.tick_params(labelsize=7)
    parts.save(figure, path, width)


def _draw_polygons(axes: Any, scene: FanScene) -> Float64:
    """Draw the upper row; return the corners of the sum."""
    joint = scene.joint
    # one stretch for all three, so that parallel sides are seen to be parallel
    frame = parts.Frame.around(joint.sums, margin=2.4 if joint.n_cones <= MOST_NAMES else 1.2)
    for s, (axis, points, fan) in enumerate(zip(axes, scene.lists, scene.fans, strict=False)):
        own = parts.Frame.around(points, stretch=frame.stretch)
        corners = fan.selections[:, 0]
        parts.draw_polygon(axis, points, corners, faint=True)
        _draw_sides(axis, fan, [COLORS[s]] * len(fan.normals))
        parts.label_points(axis, own, points, scene.names[s], corners)
        own.apply(axis, [f"h {name}" for name in scene.axes])
        name = parts.math_text(scene.list_names[s])
        axis.set_title(f"{name}: {len(corners)} of {len(points)} rows are corners", fontsize=10)
    axis = axes[2]
    counted = np.prod([float(len(points)) for points in scene.lists])
    title = f"{parts.math_text('+'.join(scene.list_names))}: {joint.n_cones} corners\namong {counted:,.0f} sums"
    if counted <= MOST_SUMS:
        sums = all_sums(scene.lists)
        distinct = sums[distinct_rows(sums)]
        title += f" ({len(distinct):,} distinct)"
        if len(distinct) > MANY:  # one pixel each
            axis.plot(*distinct.T, ",", color="#777777", zorder=2)
        else:
            axis.scatter(*distinct.T, s=16, facecolor="white", edgecolor=parts.GREY, linewidth=0.8, zorder=4)
    parts.draw_polygon(axis, joint.sums, np.arange(joint.n_cones), faint=True)
    _draw_sides(axis, joint, [_color(change) for change in joint.changes])
    if joint.n_cones <= MOST_NAMES:
        _label_sums(axis, scene, frame)
    frame.apply(axis, [f"h {name}" for name in scene.axes])
    axis.set_title(title, fontsize=9)
    return joint.sums


def _color(change: tuple[int, ...]) -> str | None:
    """Return the colour of the list that changes; None if both do."""
    return COLORS[change[0]] if len(change) == 1 else None


def _draw_sides(axis: Any, fan: PlanarFan, colors: list[Any]) -> None:
    for side, color in enumerate(colors):
        ends = fan.sums[[side, (side + 1) % fan.n_cones]].T
        axis.plot(*ends, color=color or COLORS[0], linewidth=2, zorder=3)
        if color is None:
            axis.plot(*ends, color=COLORS[1], linewidth=2, linestyle=(0, (4, 4)), zorder=3)


def _label_sums(axis: Any, scene: FanScene, frame: parts.Frame) -> None:
    middle = scene.joint.sums.mean(axis=0)
    for cone, place in enumerate(scene.joint.sums):
        away = (place - middle) * np.array([1.0, frame.stretch])
        away = away / (np.linalg.norm(away) or 1.0)
        add_name(axis, parts.math_text(joint_name(scene, cone)), place, away, fontsize=8)


def _draw_single(axis: Any, scene: FanScene, frame: parts.Frame, fan: PlanarFan, s: int) -> None:
    parts.prepare_weights(axis, scene.axes, reach=REACH)
    for cone in range(fan.n_cones):
        parts.draw_cone(axis, frame, fan, cone, COLORS[s], alpha=0.10 + 0.08 * (cone % 2))
        if fan.n_cones <= MOST_NAMES:
            parts.label_cone(axis, frame, fan, cone, f"$N\\{{{scene.names[s][fan.selections[cone, 0]]}\\}}$")
    _draw_rays(axis, scene, frame, fan, [COLORS[s]] * len(fan.normals), s)
    axis.set_title(f"$N({scene.list_names[s]})$: {fan.n_cones} cones", fontsize=10)


def _draw_rays(axis: Any, scene: FanScene, frame: parts.Frame, fan: PlanarFan, colors: list[Any], s: int) -> None:
    for ray, color in enumerate(colors):
        seen = frame.seen(fan.normals[ray])
        parts.draw_ray(axis, seen, color=color or COLORS[0])
        if color is None:
            axis.plot([0, seen[0]], [0, seen[1]], color=COLORS[1], linewidth=1.8, linestyle=(0, (4, 4)), zorder=5)
        if s >= 0 and len(colors) <= MOST_RAY_NAMES:
            ends = sorted(int(fan.selections[c % fan.n_cones, 0]) for c in (ray, ray + 1))
            names = scene.names[s]
            parts.label_ray(axis, seen, f"$N[{names[ends[1]]},{names[ends[0]]}]$", color=color)


def _draw_joint(axis: Any, scene: FanScene, frame: parts.Frame) -> Any:
    parts.prepare_weights(axis, scene.axes, reach=REACH)
    fan = scene.joint
    colors, scale = parts.cone_colors(fan, scene.cone_scores, scene.better)
    for cone in range(fan.n_cones):
        parts.draw_cone(axis, frame, fan, cone, colors[cone], alpha=0.3 if scale is None else 0.75)
        if fan.n_cones <= MOST_NAMES:
            parts.label_beside(axis, frame, fan, cone, parts.math_text(joint_name(scene, cone)))
    _draw_rays(axis, scene, frame, fan, [_color(change) for change in fan.changes], -1)
    both = "\\wedge ".join(f"N({name})" for name in scene.list_names)
    axis.set_title(f"${both}$: {fan.n_cones} cones, {len(fan.normals)} boundaries", fontsize=10)
    return scale
