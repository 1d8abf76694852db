"""Parts of pictures of fans: a polygon of points, rays and coloured cones, each drawn into given axes.

Two features may have unlike units, so the plane of features is stretched to fill a square and the plane of
weights the other way round: a boundary is then seen at a right angle to its side, as it must be.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.files.io import atomic_write
from luthier.geometry.polytopes.fan import PlanarFan
from luthier.report import figure_style as colors
from luthier.report.figure_style import PRINT_DPI, fit_for_print, for_print, write_fitted
from luthier.report.figures.label_placement import add_name, settle_names

PALETTE = (colors.BLUE, colors.ORANGE, colors.GREEN, colors.PURPLE, colors.SKY, colors.YELLOW, colors.VERMILION)
DARK, GREY, SHADE, RED = "#222222", "#999999", "#cfe3f5", "#c1121f"
UNLIKE = 1.8  # units are stretched where one feature's range is this many times the other's
PADDING = 0.08  # inches about every panel
LEAST_LABEL, LEAST_RAY_LABEL = math.radians(9), math.radians(7)  # narrower ones get no name
INNER = (0.58, 0.66, 0.74, 0.5)  # of a circle's radius: where a name stands inside a cone
BEHIND = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}


def math_text(name: str) -> str:
    """Return a name in mathematical notation as matplotlib reads it."""
    return f"${name}$"


@dataclasses.dataclass(frozen=True)
class Frame:
    """How a plane of features is shown: its centre, half the width of the square, and the stretch of y."""

    centre: tuple[float, float]
    half: float
    stretch: float

    @classmethod
    def around(cls, points: Float64, margin: float = 1.45, stretch: float | None = None) -> Frame:
        """Return a frame that shows all points; the stretch is found where none is given."""
        low, high = points.min(axis=0), points.max(axis=0)
        width, height = (float(x) for x in high - low)
        unlike = width > 0 and height > 0 and not 1 / UNLIKE < width / height < UNLIKE
        stretch = stretch or (width / height if unlike else 1.0)
        half = max(width, height * stretch) / 2 or 1.0
        middle = (low + high) / 2
        return cls((float(middle[0]), float(middle[1])), half * margin, stretch)

    def apply(self, axis: Any, names: Sequence[str]) -> None:
        """Give the axes this view, and names."""
        axis.set_xlim(self.centre[0] - self.half, self.centre[0] + self.half)
        axis.set_ylim(self.centre[1] - self.half / self.stretch, self.centre[1] + self.half / self.stretch)
        axis.set_box_aspect(1)  # the two ranges are what is stretched
        axis.set_xlabel(names[0], fontsize=9)
        axis.set_ylabel(names[1], fontsize=9)
        axis.locator_params(nbins=5)
        axis.tick_params(labelsize=7)
        axis.grid(visible=True, linewidth=0.3)
        axis.set_axisbelow(True)

    def seen(self, weights: Float64) -> Float64:
        """Return directions of weights as they are drawn, of length 1: (..., 2)."""
        drawn = np.asarray(weights, np.float64) * np.array([1.0, 1.0 / self.stretch])
        drawn = drawn / np.abs(drawn).max(axis=-1, keepdims=True)  # or squares of extreme ones underflow
        return np.asarray(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True))

    def moved(self, place: Float64, seen: Float64, share: float) -> Float64:
        """Return a point of the plane of features, `share` of the frame away in a direction as drawn."""
        return np.asarray(place + share * self.half * seen / np.array([1.0, self.stretch]))


def draw_polygon(axis: Any, points: Float64, corners: Int64, *, faint: bool = False) -> None:
    """Draw points and the polygon of their corners (counter-clockwise)."""
    shape = points[corners]
    if len(shape) > 2:
        axis.fill(*shape.T, facecolor=SHADE, edgecolor="none", zorder=1)
    loop = np.concatenate([shape, shape[:1]])
    axis.plot(*loop.T, color=DARK, linewidth=0.9, alpha=0.35 if faint else 1.0, zorder=2)
    rest = np.setdiff1d(np.arange(len(points)), corners)
    size = 18 if len(rest) < 60 else 5
    axis.scatter(*points[rest].T, s=size, facecolor="white", edgecolor=GREY, linewidth=0.8, zorder=3)
    axis.scatter(*shape.T, s=24, color=DARK, zorder=4)


def label_points(axis: Any, frame: Frame, points: Float64, names: Sequence[str], rows: Int64) -> None:
    """Write names beside points, away from the middle of all of them."""
    middle = np.mean(points[rows], axis=0)
    for row in rows:
        away = (points[row] - middle) * np.array([1.0, frame.stretch])
        length = float(np.linalg.norm(away))
        away = away / length if length > 0 else np.array([0.0, 1.0])
        add_name(axis, math_text(names[row]), points[row], away, fontsize=10, zorder=6)


def prepare_weights(axis: Any, names: Sequence[str], *, reach: float = 1.6) -> None:
    """Give axes the look of the plane of weights: two thin arrows through the origin, no numbers."""
    axis.set_xlim(-reach, reach)
    axis.set_ylim(-reach, reach)
    axis.set_aspect(1.0)
    axis.set_xticks([])
    axis.set_yticks([])
    for side in axis.spines.values():
        side.set_color("#dddddd")
    style = {"arrowstyle": "-|>", "color": GREY, "linewidth": 0.7}
    axis.annotate("", (0.97 * reach, 0), (-0.97 * reach, 0), arrowprops=style, zorder=0)
    axis.annotate("", (0, 0.97 * reach), (0, -0.97 * reach), arrowprops=style, zorder=0)
    axis.set_xlabel(f"w {names[0]}", fontsize=8, color="#666666")
    axis.set_ylabel(f"w {names[1]}", fontsize=8, color="#666666")


def draw_ray(axis: Any, direction: Float64, *, color: str = DARK, width: float = 1.8, length: float = 1.0) -> None:
    """Draw a ray from the origin; `direction` as drawn, of length 1."""
    axis.plot(
        [0, length * direction[0]],
        [0, length * direction[1]],
        color=color,
        linewidth=width,
        zorder=4,
        solid_capstyle="round",
    )


def label_ray(axis: Any, direction: Float64, text: str, *, color: str = DARK, length: float = 1.0) -> None:
    """Write at the end of a ray."""
    add_name(axis, text, length * direction, direction, fontsize=8, color=color, zorder=6).disc = True


def drawn_angles(frame: Frame, fan: PlanarFan, cone: int) -> tuple[float, float]:
    """Return where a cone begins and how far it opens, as drawn, in radians."""
    if not len(fan.normals):
        return 0.0, 2 * math.pi
    first, second = frame.seen(fan.rays(cone))
    begin = math.atan2(first[1], first[0])
    opening = (math.atan2(second[1], second[0]) - begin) % (2 * math.pi)
    return begin, math.pi if fan.opening(cone) == math.pi else opening


def draw_cone(axis: Any, frame: Frame, fan: PlanarFan, cone: int, color: Any, *, alpha: float = 0.45) -> None:
    """Fill a cone, cut off at length 1."""
    from matplotlib.patches import Wedge

    begin, opening = drawn_angles(frame, fan, cone)
    ends = math.degrees(begin), math.degrees(begin + opening)
    axis.add_patch(Wedge((0, 0), 1.0, *ends, facecolor=color, alpha=alpha, edgecolor="none", zorder=1))


def label_cone(axis: Any, frame: Frame, fan: PlanarFan, cone: int, text: str, *, size: float = 8) -> None:
    """Write a name into a cone, or led to it from outside; a very narrow one gets none."""
    begin, opening = drawn_angles(frame, fan, cone)
    if opening < LEAST_LABEL:
        return
    middle = np.array([math.cos(begin + opening / 2), math.sin(begin + opening / 2)])
    name = add_name(axis, text, 0.98 * middle, middle, fontsize=size, zorder=7)
    name.disc = True
    name.inner = [share * middle for share in INNER]

    def fits(places: Float64) -> bool:
        turned = (np.arctan2(places[:, 1], places[:, 0]) - begin) % (2 * math.pi)
        return bool(np.all(turned < opening) and np.all(np.hypot(*places.T) < 1.0))

    name.fits = fits


def label_beside(axis: Any, frame: Frame, fan: PlanarFan, cone: int, text: str) -> None:
    """Write a name outside the circle, at the middle of a cone, unless that is too narrow for one."""
    begin, opening = drawn_angles(frame, fan, cone)
    if opening >= LEAST_LABEL:
        middle = begin + opening / 2
        label_ray(axis, np.array([math.cos(middle), math.sin(middle)]), text)


def cone_colors(
    fan: PlanarFan, scores: Float64 | None, better: int = 1, among: Float64 | None = None
) -> tuple[list[Any], Any]:
    """Return a colour for every cone, and what a colour bar needs (None where colours only tell apart).

    The better the score the lighter; `among` are the scores that all colours are for, if more than the cones'.
    """
    if scores is None:
        n = fan.n_cones
        shades = [PALETTE[c % len(PALETTE)] for c in range(n)]
        if n > 1 and shades[0] == shades[-1]:  # the first and the last are neighbours
            shades[-1] = PALETTE[len(PALETTE) // 2]
        return list(shades), None
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    among = scores if among is None else among
    low, high = float(among.min()), float(among.max())
    scale = ScalarMappable(Normalize(low, high if high > low else low + 1.0), colormaps[color_map(better)])
    return [scale.to_rgba(score) for score in scores], scale


def color_map(better: int) -> str:
    """Return the name of the colours of scores, the best one light."""
    return "viridis" if better > 0 else "viridis_r"


def save(figure: Any, path: Path, width: float | None = None, *, square: bool = True) -> None:
    """Write a picture, its names where there is room for them; panels that are not square get higher in print."""
    from matplotlib import pyplot as plt

    printed = for_print(path, width)
    try:
        if printed:
            fit_for_print(figure, width, letters_need_height=not square)
            figure.set_dpi(PRINT_DPI)
        figure.draw_without_rendering()  # places are known only now
        figure.set_layout_engine("none")
        settle_names(figure)
        if printed:
            write_fitted(figure, path)
            return
        with atomic_write(path) as temporary:
            figure.savefig(temporary, dpi=figure.dpi, format="png", pil_kwargs={"optimize": True})
    finally:
        plt.close(figure)
