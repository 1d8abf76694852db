"""A picture of a metric over a plane of weights: the window from afar, and exact cells around the optimum."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.axes import axes_of, origins
from luthier.landscape.lines.stability import SHARE
from luthier.landscape.planes.pixels import Pixels, absolute_window
from luthier.landscape.planes.robust import RobustOptimum
from luthier.landscape.planes.surface import SurfaceReport
from luthier.landscape.planes.view import Scene
from luthier.report.figure_style import grid_of, make_figure, make_panels, save_picture

START, BEST, FRAME, STEADY = "#111111", "#e8303a", "#111111", "#f0a030"
AT_BORDER = 1e-6  # of a panel: points this near beyond its border are at it, but for rounding
VISIBLE = 0.015  # of a panel's side: cells that are wider are outlined
COLORS = "viridis"
# Colours end at this quantile on the bad side: a few far corners would take all contrast away.
ROBUST = 0.04
LEVELS = 64
EDGE_ALPHA, FEW_CELLS = 0.35, 3000  # of more cells the edges are drawn fainter
DPI = 100


@dataclasses.dataclass(frozen=True, eq=False)
class SurfaceFigure:
    """All that the picture shows.

    Attributes
    ----------
    scenes : the window; then, perhaps, the neighbourhood of the optimum
    labels : of the two axes; all places are weights, or offsets along a combination of features
    metric : name of the metric
    higher_is_better : bool
    start, best, chosen : x, y and score; `chosen` is a point that lasts, where one was asked for
    title, where : str
        `where` names what the first scene shows.
    bars : left edges (B,), width, and shares of the cells (B,)
    resampled : optima of resamples (n, 2), the border of the region that holds most of them (v, 2), and its label
    """

    scenes: tuple[Scene, ...]
    labels: tuple[str, str]
    metric: str
    higher_is_better: bool
    start: tuple[float, float, float]
    best: tuple[float, float, float]
    title: str
    outline: Float64  # (v, 2): the corners of the optimum's cell
    chosen: tuple[float, float, float] | None = None
    where: str = "the window"
    bars: tuple[Float64, float, Float64] | None = None
    resampled: tuple[Float64, Float64, str] | None = None


def draw_surface(
    report: SurfaceReport,
    scenes: tuple[Scene, ...],
    path: Path,
    chosen: RobustOptimum | None = None,
    width: float | None = None,
) -> None:
    """Draw the window, and exact cells around the optimum, into a file."""
    canvas, colors = surface_picture(report, scenes, chosen, width)
    save_picture(canvas, path, colors=colors, dpi=DPI, width=width)


def surface_picture(
    report: SurfaceReport, scenes: tuple[Scene, ...], chosen: RobustOptimum | None = None, width: float | None = None
) -> tuple[Any, Float64]:
    """Return a figure of the window and of exact cells around the optimum, and the colours in it.

    The point that was chosen is marked if it is another.
    """
    figure = _figure(report, scenes, chosen)

    n = len(figure.scenes)
    rows, columns = grid_of(n, width)
    canvas = make_figure(figsize=(5.6 * columns + 0.5, 5.2 * rows), layout="constrained")
    panels = canvas.subplots(rows, columns, squeeze=False).ravel()
    for axis, scene in zip(panels, figure.scenes, strict=True):
        _draw_scene(canvas, axis, figure, scene)
    if n > 1:
        _frame(panels[0], figure.scenes[1].limits)
    _draw_bars(panels[0], figure)
    how = (
        count_of(len(figure.scenes[0].polygons), "exact ")
        if figure.scenes[0].raster is None
        else "exact at every pixel"
    )
    panels[0].set_title(f"{figure.where}: {how}", fontsize=10)
    if n > 1:
        panels[1].set_title(f"around the optimum: {count_of(len(figure.scenes[1].polygons), 'exact ')}", fontsize=10)
    canvas.suptitle(figure.title, fontsize=12)
    marked: dict[str, Any] = {}  # every mark once, as the first panel that shows it has it
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            marked.setdefault(label, handle)
    canvas.legend(marked.values(), marked.keys(), loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    marks = mpl.colors.to_rgba_array([BEST, START, STEADY])[:, :3]
    blends = np.concatenate([share * marks + (1 - share) for share in (1.0, 0.75, 0.5)])  # with the white round them
    colors = color_map(figure)(np.linspace(0.0, 1.0, LEVELS))[:, :3]
    return canvas, np.concatenate([colors, blends])


def _figure(report: SurfaceReport, scenes: tuple[Scene, ...], chosen: RobustOptimum | None) -> SurfaceFigure:
    """Return all that the picture shows and says."""
    plane, best, metric = report.plane, report.optimum, report.plane.problem.metric
    origin = origins(plane.subspace)
    x, y = (best.cell.position + origin).tolist()
    histogram, axes = report.survey.histogram, axes_of(plane.subspace)
    return SurfaceFigure(
        scenes=tuple(_told(scene, origin) for scene in scenes),
        labels=(axes[0].label, axes[1].label),
        metric=metric.name,
        higher_is_better=bool(metric.higher_is_better),
        start=(float(origin[0]), float(origin[1]), report.start_score),
        best=(x, y, best.score),
        outline=best.cell.polygon + origin,
        chosen=None if chosen is None else (*(chosen.position + origin).tolist(), chosen.score),
        where="the window" if plane.window.bounded else "a part",
        title=f"{metric.name} over {axes[0].name} × {axes[1].name}: {_cells(report)}",
        bars=(histogram.edges, histogram.width, histogram.shares),
        resampled=_resampled(report, origin),
    )


def _resampled(report: SurfaceReport, origin: Float64) -> tuple[Float64, Float64, str] | None:
    """Return the optima of resamples and their region as the picture has them, where there are any."""
    found = report.stability
    if found is None:
        return None
    return found.position + origin, found.outline() + origin, f"{SHARE:.0%} of {len(found.position):,} resamples"


def _cells(report: SurfaceReport) -> str:
    """Say how many cells there are, and of what."""
    ends = np.isfinite(report.plane.window.limits)
    where = "" if ends.all() else " in a window without end" if ends.any() else " on the whole plane"
    return ("" if report.survey.share == 1.0 else "stopped after ") + f"{count_of(report.survey.cells)}{where}"


def _told(scene: Scene, origin: Float64) -> Scene:
    """Return a scene whose places are weights, or offsets along a combination of features."""
    limits = (np.array(scene.limits) + np.repeat(origin, 2)).tolist()
    polygons = [polygon + origin for polygon in scene.polygons]
    return dataclasses.replace(scene, limits=tuple(limits), polygons=polygons)


def count_of(cells: int, kind: str = "") -> str:
    """Return how many cells there are, in words.

    >>> count_of(1, "exact "), count_of(2000)
    ('1 exact cell', '2,000 cells')
    """
    return f"{cells:,} {kind}cell{'' if cells == 1 else 's'}"


def _draw_scene(canvas: Any, axis: Any, figure: SurfaceFigure, scene: Scene) -> None:
    """Draw cells or pixels, their colours, and the two marks."""
    from matplotlib.collections import PolyCollection

    low, high, extend = color_limits(scene.shown, higher_is_better=figure.higher_is_better)
    colors = color_map(figure)
    x0, x1, y0, y1 = scene.limits
    drawn: Any
    if scene.raster is not None:
        drawn = axis.imshow(
            scene.raster,
            origin="lower",
            extent=scene.limits,
            aspect="auto",
            cmap=colors,
            vmin=low,
            vmax=high,
            interpolation="nearest",
        )
    else:
        # Faces without smooth edges, or the background shines through between them; then the edges alone.
        drawn = PolyCollection(scene.polygons, array=scene.scores, cmap=colors, linewidths=0.0, antialiaseds=False)
        drawn.set_clim(low, high)
        axis.add_collection(drawn)
        faint = EDGE_ALPHA * min(1.0, FEW_CELLS / max(1, len(scene.polygons)))
        edges = PolyCollection(scene.polygons, facecolors="none", edgecolors=(0.0, 0.0, 0.0, faint), linewidths=0.3)
        axis.add_collection(edges)
    axis.set_xlim(x0, x1)
    axis.set_ylim(y0, y1)
    axis.locator_params(axis="x", nbins=5)  # places around a small cell have many digits
    axis.set_xlabel(figure.labels[0])
    axis.set_ylabel(figure.labels[1])
    canvas.colorbar(drawn, ax=axis, extend=extend, label=figure.metric, fraction=0.05, pad=0.02)
    outline = figure.outline[np.isfinite(figure.outline).all(axis=1)]
    wide = (outline.max(axis=0) - outline.min(axis=0)) / (x1 - x0, y1 - y0) if len(outline) > 2 else np.zeros(2)
    for color, width in (("white", 2.2), (BEST, 1.1)) if wide.min() > VISIBLE else ():
        axis.fill(*outline.T, fill=False, edgecolor=color, linewidth=width, zorder=4)
    _draw_resampled(axis, figure)
    marks = [(figure.start, "s", START, 7, "$w^{(0)}$")]
    if figure.chosen is not None:
        marks.append((figure.chosen, "D", STEADY, 7, "lasts"))
    near_x, near_y = AT_BORDER * (x1 - x0), AT_BORDER * (y1 - y0)
    for (x, y, score), marker, color, size, name in marks:
        if x0 - near_x <= x <= x1 + near_x and y0 - near_y <= y <= y1 + near_y:
            axis.plot(
                x,
                y,
                marker,
                color=color,
                markersize=size,
                markeredgecolor="white",
                markeredgewidth=1.0,
                linestyle="none",
                label=f"{name}: {score:.2f}",
                zorder=5,
                clip_on=False,
            )
    # a cell too small to be outlined is ringed, not covered
    x, y, score = figure.best
    if x0 - near_x <= x <= x1 + near_x and y0 - near_y <= y <= y1 + near_y:
        mark_best(axis, x, y, f"optimum: {score:.2f}", small=bool(wide.min() > VISIBLE))


def _draw_resampled(axis: Any, figure: SurfaceFigure) -> None:
    """Draw the optima of resamples, and the border of the region that holds most of them."""
    if figure.resampled is None:
        return
    places, border, label = figure.resampled
    axis.plot(*places.T, ".", color="black", markersize=5, markeredgecolor="white", markeredgewidth=0.4, zorder=4)
    axis.plot(*border.T, "-", color="white", linewidth=2.6, zorder=4)
    axis.plot(*border.T, "--", color="black", linewidth=1.2, zorder=4, label=label)


def mark_best(axis: Any, x: float, y: float, label: str, *, small: bool = False) -> None:
    """Draw a ring, red on white, that leaves what is inside it to be seen."""
    for color, width, named in (("white", 3.2, None), (BEST, 1.6, label)):
        axis.plot(
            x,
            y,
            "o",
            color=color,
            markersize=4 if small else 13,
            fillstyle="none",
            markeredgewidth=width,
            linestyle="none",
            label=named,
            zorder=5,
            clip_on=False,
        )


def _frame(axis: Any, limits: tuple[float, float, float, float]) -> None:
    """Show in the first panel what the second one shows."""
    from matplotlib.patches import Rectangle

    x0, x1, y0, y1 = limits
    for color, width in (("white", 2.4), (FRAME, 0.9)):
        axis.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor=color, linewidth=width, zorder=4))


def _draw_bars(axis: Any, figure: SurfaceFigure) -> None:
    """Lay the histogram of the cells' scores into the corner of a panel that is farthest from the marks."""
    from matplotlib.patheffects import withStroke

    if figure.bars is None or len(figure.bars[0]) < 2:
        return
    inset = axis.inset_axes(_free_corner(axis, (figure.start, figure.best, figure.chosen or figure.best)))
    edges, width, shares = figure.bars
    low, high, _ = color_limits(figure.scenes[0].shown, higher_is_better=figure.higher_is_better)
    colors = color_map(figure)
    shades = colors(mpl.colors.Normalize(low, high, clip=True)(edges + width / 2))
    # edges keep bars visible that are narrower than a pixel
    inset.bar(edges + width / 2, shares, width=width, color=shades, edgecolor=shades, linewidth=0.5)
    inset.set_yticks([])
    inset.tick_params(labelsize=7, pad=1, length=2)
    inset.set_title(f"cells by {figure.metric}", fontsize=8, pad=2)
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for text in (inset.title, *inset.get_xticklabels()):
        text.set_path_effects(halo)


def _free_corner(axis: Any, marks: Sequence[tuple[float, float, float]]) -> tuple[float, float, float, float]:
    """Return a corner, in shares of the panel, away from all marks."""
    (x0, x1), (y0, y1), (width, height) = axis.get_xlim(), axis.get_ylim(), (0.3, 0.17)
    places = [((x - x0) / (x1 - x0), (y - y0) / (y1 - y0)) for x, y, _ in marks]
    corners = [(u, v) for v in (0.065, 1 - height - 0.07) for u in (0.03, 1 - width - 0.03)]

    def room(corner: tuple[float, float]) -> float:
        u, v = corner[0] + width / 2, corner[1] + height / 2
        return min(math.hypot(u - a, v - b) for a, b in places)

    u, v = max(corners, key=room)
    return u, v, width, height


def color_map(figure: SurfaceFigure) -> Any:
    """Return colours of which the bright ones are good."""
    return mpl.colormaps[COLORS if figure.higher_is_better else f"{COLORS}_r"].resampled(LEVELS)


def color_limits(scores: Float64, *, higher_is_better: bool) -> tuple[float, float, str]:
    """Return where colours begin and end, and at which end there are scores beyond.

    >>> color_limits(np.arange(101.0), higher_is_better=True)
    (4.0, 100.0, 'min')
    """
    least, most = float(scores.min()), float(scores.max())
    if higher_is_better:
        low, high = float(np.quantile(scores, ROBUST)), most
    else:
        low, high = least, float(np.quantile(scores, 1 - ROBUST))
    if not low < high:
        low, high = (least, most) if least < most else (least - 0.5, most + 0.5)
    extend = ("min" if least < low else "") + ("max" if most > high else "")
    return low, high, extend or "neither"


# A picture of a metric at the pixels of a window of weights.


def draw_pixels(pixels: Pixels, path: Path, width: float | None = None) -> None:
    """Draw the raster, and where the best pixel is."""
    colors = mpl.colormaps[COLORS if pixels.metric.higher_is_better else f"{COLORS}_r"]
    figure, axis = make_panels(figsize=(6.1, 5.2), layout="constrained")
    image = axis.imshow(
        pixels.scores,
        origin="lower",
        extent=tuple(absolute_window(pixels.subspace, pixels.window)),
        aspect="auto",
        cmap=colors,
        interpolation="nearest",
    )
    row, column = pixels.best
    label = f"best, {pixels.scores[row, column]:.4g}"
    mark_best(axis, float(pixels.told[0][column]), float(pixels.told[1][row]), label)
    axis.set_xlabel(axes_of(pixels.subspace)[0].label)
    axis.set_ylabel(axes_of(pixels.subspace)[1].label)
    axis.set_title(f"{pixels.metric.name}: exact at every pixel", fontsize=10)
    figure.legend(loc="outside lower center", fontsize=9, frameon=False)
    figure.colorbar(image, ax=axis)
    marks = mpl.colors.to_rgba_array([BEST])[:, :3]
    save_picture(
        figure, path, colors=np.concatenate([colors(np.linspace(0, 1, LEVELS))[:, :3], marks]), dpi=DPI, width=width
    )
