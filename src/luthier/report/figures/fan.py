"""The normal fan of one list, drawn step by step as in Figures 1 and 2 of [waite2015]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.geometry.polytopes.fan import PlanarFan, all_sums
from luthier.geometry.polytopes.polytope import distinct_rows
from luthier.landscape.cones.fan_scenes import FanScene, RegularizedScene, joint_name
from luthier.report.figure_style import make_figure, make_panels
from luthier.report.figures import fan_parts as parts
from luthier.report.figures.fan_regularized import draw_regularized
from luthier.report.figures.label_placement import add_name

COLORS = ("#0072B2", "#D55E00")  # of the two lists' sides and boundaries
PLANE_REACH = 1.65  # of the planes of weights, so that names beside the circle fit in
MANY, MOST_SUMS, MOST_SUM_NAMES, MOST_RAY_NAMES = 200, 200_000, 12, 10


def draw_sum(scene: FanScene, path: Path, width: float | None = None) -> None:
    """Draw above two polygons and their sum, below two fans and what both together are."""
    figure, axes = make_panels(2, 3, figsize=(11.6, 7.7), layout="constrained", dpi=90)
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
    frame = parts.Frame.around(joint.sums, margin=2.4 if joint.n_cones <= MOST_SUM_NAMES else 1.2)
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
    if joint.n_cones <= MOST_SUM_NAMES:
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
    parts.prepare_weights(axis, scene.axes, reach=PLANE_REACH)
    for cone in range(fan.n_cones):
        parts.draw_cone(axis, frame, fan, cone, COLORS[s], alpha=0.10 + 0.08 * (cone % 2))
        if fan.n_cones <= MOST_SUM_NAMES:
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
    parts.prepare_weights(axis, scene.axes, reach=PLANE_REACH)
    fan = scene.joint
    colors, scale = parts.cone_colors(fan, scene.cone_scores, scene.better)
    for cone in range(fan.n_cones):
        parts.draw_cone(axis, frame, fan, cone, colors[cone], alpha=0.3 if scale is None else 0.75)
        if fan.n_cones <= MOST_SUM_NAMES:
            parts.label_beside(axis, frame, fan, cone, parts.math_text(joint_name(scene, cone)))
    _draw_rays(axis, scene, frame, fan, [_color(change) for change in fan.changes], -1)
    both = "\\wedge ".join(f"N({name})" for name in scene.list_names)
    axis.set_title(f"${both}$: {fan.n_cones} cones, {len(fan.normals)} boundaries", fontsize=10)
    return scale


MOST_NAMES = 12


def draw_fan(scene: FanScene, path: Path, width: float | None = None) -> None:
    """Draw the polygon of the first list, and how its normal fan comes about.

    Above: points, polygon and what is what. Then, always the plane of features beside the plane of weights,
    (a) one side and its boundary, (b) the other side at the same corner, (c) the cone between them,
    (d) the whole fan. The corner is the one that the marked weights select, else the lowest row of all.
    """
    figure = make_figure(figsize=(10.0, 8.8), layout="constrained", dpi=100)
    figure.get_layout_engine().set(h_pad=0.04, w_pad=0.04)
    grid = figure.add_gridspec(3, 4, height_ratios=[1.25, 1, 1])
    frame = parts.Frame.around(scene.lists[0])
    figure.suptitle(f"{scene.title}: polytope and normal fan", fontsize=12)
    first = figure.add_subplot(grid[0, :2])
    _draw_polytope(first, scene, frame)
    scale = _write_legend(figure.add_subplot(grid[0, 2:]), scene)
    if scale is not None:
        bar = figure.colorbar(scale, ax=first, shrink=0.8)
        bar.set_label(scene.metric, fontsize=8)
        bar.ax.tick_params(labelsize=7)
    for step, (row, column) in enumerate(((1, 0), (1, 2), (2, 0), (2, 2))):
        left, right = figure.add_subplot(grid[row, column]), figure.add_subplot(grid[row, column + 1])
        _draw_step(left, right, scene, frame, step)
    parts.save(figure, path, width)


def focus(scene: FanScene) -> int:
    """Return the cone that the steps show: that of the marked weights, else of the lowest row."""
    if scene.start is not None:
        return scene.fans[0].cone_at(scene.start)
    return int(np.argmin(scene.fans[0].selections[:, 0]))


def _side_name(scene: FanScene, boundary: int) -> str:
    """Return the name of a side, its later row first as in the paper."""
    rows = scene.fans[0].selections[:, 0]
    low, high = sorted((int(rows[boundary]), int(rows[(boundary + 1) % len(rows)])))
    return f"[{scene.names[0][high]},{scene.names[0][low]}]"


def _colors(scene: FanScene) -> tuple[list[Any], Any]:
    scores = None if scene.scores is None else scene.scores[0]
    own = None if scores is None else scores[scene.fans[0].selections[:, 0]]
    return parts.cone_colors(scene.fans[0], own, scene.better, scores)


def _draw_polytope(axis: Any, scene: FanScene, frame: parts.Frame) -> None:
    points, corners = scene.lists[0], scene.fans[0].selections[:, 0]
    parts.draw_polygon(axis, points, corners)
    shown = np.arange(len(points)) if len(points) <= MOST_NAMES else corners
    parts.label_points(axis, frame, points, scene.names[0], shown)
    if scene.scores is not None:
        axis.scatter(
            *points.T,
            c=scene.scores[0],
            cmap=parts.color_map(scene.better),
            s=26,
            edgecolor=parts.DARK,
            linewidth=0.4,
            zorder=5,
        )
    if len(corners) > 1:
        _draw_support(axis, scene, frame, (focus(scene) + 1) % len(corners))
    frame.apply(axis, [f"h {name}" for name in scene.axes])
    axis.set_title("the list and its polytope", fontsize=10)


def _draw_support(axis: Any, scene: FanScene, frame: parts.Frame, cone: int) -> None:
    """Draw a line that touches the polygon at one corner only, and the weights at a right angle to it."""
    fan = scene.fans[0]
    corner = scene.lists[0][fan.selections[cone, 0]]
    begin, opening = parts.drawn_angles(frame, fan, cone)
    seen = np.array([np.cos(begin + opening / 2), np.sin(begin + opening / 2)])
    across = np.array([-seen[1], seen[0]])
    line = np.stack([frame.moved(corner, across, share) for share in (-3.0, 3.0)])
    axis.plot(*line.T, color=parts.RED, linestyle="--", linewidth=1.1, zorder=3)
    foot = frame.moved(corner, across, -0.55)  # beside the corner, which has its name there
    tip = frame.moved(foot, seen, 0.3)
    axis.annotate("", tip, foot, arrowprops={"arrowstyle": "-|>", "color": parts.RED, "linewidth": 1.4}, zorder=6)
    axis.text(*frame.moved(tip, across, 0.1), "$w$", color=parts.RED, fontsize=10, ha="center", va="center")


def _write_legend(axis: Any, scene: FanScene) -> Any:
    """Say which rows are corners and how wide their cones are; return what a colour bar needs."""
    axis.axis("off")
    fan, points = scene.fans[0], scene.lists[0]
    rows = fan.selections[:, 0]
    colors, scale = _colors(scene)
    redundant = len(points) - len(rows)
    axis.set_title(
        f"{len(rows)} of {len(points)} can be selected;\n{redundant} cannot, whatever the weights", fontsize=9
    )
    order = np.argsort(rows)[:MOST_NAMES]
    for line, cone in enumerate(order):
        y = 0.93 - line * 0.9 / MOST_NAMES
        x, z = points[rows[cone]]
        axis.scatter([0.02], [y], s=60, color=[colors[cone]], alpha=0.7, transform=axis.transAxes)
        degrees = np.degrees(fan.opening(int(cone)))
        name = parts.math_text(scene.names[0][rows[cone]])
        axis.text(
            0.07, y, f"{name} = ({x:.4g}, {z:.4g})".replace("-", "−"), fontsize=9, va="center", transform=axis.transAxes
        )
        axis.text(0.98, y, f"cone {degrees:.3g}°", fontsize=9, va="center", ha="right", transform=axis.transAxes)
    if len(rows) > MOST_NAMES:
        axis.text(0.07, 0.0, f"and {len(rows) - MOST_NAMES} more", fontsize=9, transform=axis.transAxes)
    return scale


def _draw_step(left: Any, right: Any, scene: FanScene, frame: parts.Frame, step: int) -> None:
    """Draw step (a), (b), (c) or (d): features on the left, weights on the right."""
    fan, points = scene.fans[0], scene.lists[0]
    corners, names = fan.selections[:, 0], scene.names[0]
    parts.draw_polygon(left, points, corners, faint=step < 3)
    parts.label_points(left, frame, points, names, corners)
    colors, _ = _colors(scene)
    if step == 3:
        left.scatter(*points[corners].T, s=70, color=colors, edgecolor=parts.DARK, zorder=5)
    frame.apply(left, [f"h {name}" for name in scene.axes])
    parts.prepare_weights(right, scene.axes)
    cone, n = focus(scene), fan.n_cones
    if not len(fan.normals):
        left.set_title(f"({'abcd'[step]}) one point: nothing to choose", fontsize=9)
        parts.draw_cone(right, frame, fan, 0, parts.PALETTE[0])
        return
    after, before = cone, (cone - 1) % n
    shown = ([after], [before, after], [before, after], list(range(n)))[step]
    for c in ([], [], [cone], range(n))[step]:
        parts.draw_cone(right, frame, fan, c, colors[c])
        parts.label_cone(right, frame, fan, c, f"$N\\{{{names[corners[c]]}\\}}$")
    for boundary in shown:
        _draw_boundary(left, right, scene, frame, boundary, new=step < 2 and boundary == shown[0])
    if step == 3 and scene.start is not None:
        _mark_weights(right, frame.seen(scene.start))
    here = parts.math_text(names[corners[cone]])
    titles = (
        "(a) a side and its normal",
        f"(b) the other side at {here}",
        f"(c) all that select {here}",
        f"(d) the normal fan: {n} cones",
    )
    left.set_title(titles[step], fontsize=9)
    right.set_title("weights", fontsize=9, color="#666666")


def _draw_boundary(left: Any, right: Any, scene: FanScene, frame: parts.Frame, boundary: int, *, new: bool) -> None:
    fan = scene.fans[0]
    corners = scene.lists[0][fan.selections[:, 0]]
    a, b = corners[boundary], corners[(boundary + 1) % len(corners)]
    seen = frame.seen(fan.normals[boundary])
    parts.draw_ray(right, seen, color=parts.RED if new else parts.DARK)
    if new or _roomy(frame, fan.normals, boundary):
        parts.label_ray(right, seen, f"$N{_side_name(scene, boundary)}$", color=parts.RED if new else parts.DARK)
    if not new:
        return
    side = b - a
    line = np.stack([a - 3 * side, b + 3 * side])
    left.plot(*line.T, color=parts.RED, linestyle="--", linewidth=1.1, zorder=3)
    left.plot(*np.stack([a, b]).T, color=parts.RED, linewidth=2, zorder=3)
    middle = (a + b) / 2
    tip = frame.moved(middle, seen, 0.36)
    left.annotate("", tip, middle, arrowprops={"arrowstyle": "-|>", "color": parts.RED, "linewidth": 1.4}, zorder=6)
    place = frame.moved(tip, seen, 0.09)
    left.text(*place, "$w$", color=parts.RED, fontsize=10, ha="center", va="center")


def _roomy(frame: parts.Frame, normals: Float64, boundary: int) -> bool:
    """Whether a ray is far enough from the one before it to be given a name."""
    seen = frame.seen(normals[[boundary - 1, boundary]])
    return len(normals) < 3 or float(seen[0] @ seen[1]) < np.cos(parts.LEAST_RAY_LABEL)


def _mark_weights(axis: Any, seen: Float64) -> None:
    style = {"arrowstyle": "-|>", "color": parts.RED, "linewidth": 1.6}
    axis.annotate("", 0.93 * seen, (0, 0), arrowprops=style, zorder=8)
    axis.text(*(0.93 * seen + 0.08), "$w^{(0)}$", color=parts.RED, fontsize=9, zorder=8)


# A scene of fans as the picture that suits it.


def draw_scene(scene: FanScene, regularized: RegularizedScene | None, path: Path, width: float | None = None) -> None:
    """Draw what there is: choices on a fan, one list step by step, or two lists and their sum."""
    if regularized is not None:
        draw_regularized(regularized, path, width)
    elif len(scene.lists) == 1:
        draw_fan(scene, path, width)
    elif len(scene.lists) == 2:
        draw_sum(scene, path, width)
    else:
        raise LuthierError(f"expected one or two sentences to draw, found {len(scene.lists)}")
