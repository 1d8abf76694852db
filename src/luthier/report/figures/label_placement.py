"""Names in pictures that keep out of each other's way: moved aside, led to their place by a thin line, or left out.

How much room a name takes is known only when its picture has got its size. So names are given with the place that
they belong to, and `settle_names` finds seats for all of them just before the picture is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text

from luthier.core.arrays import Float64

LEADER = {"arrowstyle": "-", "color": "#777777", "linewidth": 0.5, "shrinkA": 0.0, "shrinkB": 1.5}
DISTANCES = (2.5, 5.0, 8.0, 12.0, 17.0, 23.0, 30.0, 38.0, 48.0)  # points between a place and its name
TURNS = (0, 20, -20, 40, -40, 60, -60, 85, -85, 115, -115)  # degrees away from where a name would best be
LED = 10.0  # points from which a line leads to a name
GAP = 1.5  # points round every name
# What a seat costs: by its distance and turn, for the line that leads there, for every point and line it lies on.
PER_POINT, PER_DEGREE, LINE_LEADS, ON_POINT, ON_LINE, ON_DISC = 0.12, 0.02, 1.0, 6.0, 4.0, 3.0
TOO_DEAR = 7.0  # a seat that costs so much is none
MOST_OBSTACLES = 400  # of more points or lines a name cannot keep clear


class Name(Annotation):
    """A name of a place.

    Attributes
    ----------
    away : (2,), where the name should go, as drawn
    inner : places where it may stand by itself, the best first
    fits : whether all of some places, (n, 2), are inside of what is named
    disc : bool
        A disc of radius 1 about the origin is drawn: the name stands inside what it names, or beside the disc.
    """

    def __init__(self, text: str, place: Float64, away: Float64, **looks: Any) -> None:
        super().__init__(
            text,
            tuple(place),
            (0.0, 0.0),
            textcoords="offset points",
            ha="center",
            va="center",
            arrowprops=dict(LEADER),
            annotation_clip=False,
            **looks,
        )
        self.away = np.asarray(away, np.float64)
        self.inner: Sequence[Float64] = ()
        self.fits: Callable[[Float64], bool] = lambda _: True
        self.disc = False
        self.set_in_layout(False)
        self.set_path_effects([withStroke(linewidth=1.6, foreground="white")])


def add_name(axis: Any, text: str, place: Float64, away: Float64, **looks: Any) -> Name:
    """Give a place, in units of the axes, a name beside it: `away` as drawn, of length 1."""
    name = Name(text, place, away, **looks)
    axis.add_artist(name)
    return name


def settle_names(figure: Any) -> None:
    """Find a seat for every name of a figure whose layout is done; a name for which there is none is left out."""
    renderer = figure.canvas.get_renderer()
    for axis in figure.axes:
        names = [artist for artist in axis.texts if isinstance(artist, Name)]
        if not names:
            continue
        others = [text for text in axis.texts if not isinstance(text, Name) and text.get_text()]
        taken = [_box(Text.get_window_extent(text, renderer)) for text in others]
        points, lines = _obstacles(axis)
        for name in names:
            seat = _seat(axis, name, renderer, taken, points, lines)
            if seat is None:
                name.set_visible(False)
                continue
            centre, box, led = seat
            place = axis.transData.transform(name.xy)
            name.set_position(tuple((centre - place) * 72.0 / figure.dpi))
            taken.append(box)
            if name.arrow_patch is not None:
                name.arrow_patch.set_visible(led)
            if led:
                lines = np.concatenate([lines, [[*place, *centre]]])


def _box(extent: Any) -> Float64:
    return np.array([extent.x0, extent.y0, extent.x1, extent.y1])


def _seat(
    axis: Any, name: Name, renderer: Any, taken: list[Float64], points: Float64, lines: Float64
) -> tuple[Float64, Float64, bool] | None:
    """Return the cheapest free seat: its centre and box, as drawn, and whether a line leads to it."""
    extent, point = Text.get_window_extent(name, renderer), axis.figure.dpi / 72.0
    half = np.array([extent.width, extent.height]) / 2 + GAP * point
    inside = _box(axis.bbox)
    best, found = TOO_DEAR, None
    place = axis.transData.transform(name.xy)
    for centre, cost, led in _seats(axis, name, half, point):
        box = np.concatenate([centre - half, centre + half])
        if cost >= best or np.any(box[:2] < inside[:2]) or np.any(box[2:] > inside[2:]):
            continue
        if any(np.all(box[:2] < other[2:]) and np.all(other[:2] < box[2:]) for other in taken):
            continue
        cost += ON_POINT * _points_within(box, points) + ON_LINE * _lines_within(box, lines)
        if led:
            cost += ON_LINE * sum(_lines_within(other, np.array([[*place, *centre]])) for other in taken)
        if cost < best:
            best, found = cost, (centre, box, led)
    return found


def _seats(axis: Any, name: Name, half: Float64, point: float) -> Iterator[tuple[Float64, float, bool]]:
    """Yield centres, as drawn, what they cost by themselves, and whether a line leads there."""
    corners = half * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    for rank, inner in enumerate(name.inner):
        centre = axis.transData.transform(inner)
        if name.fits(axis.transData.inverted().transform(centre + corners)):
            yield centre, 0.01 * rank, False
    place = axis.transData.transform(name.xy)
    for turn in TURNS:
        angle = math.atan2(name.away[1], name.away[0]) + math.radians(turn)
        towards = np.array([math.cos(angle), math.sin(angle)])
        reach = float(np.min(half / np.maximum(np.abs(towards), 1e-9)))  # from the centre to the name's own border
        for distance in DISTANCES:
            led = distance >= LED
            centre = place + towards * (distance * point + reach)
            cost = PER_POINT * distance + PER_DEGREE * abs(turn) + LINE_LEADS * led + bool(name.inner)
            if name.disc:
                low, high = axis.transData.inverted().transform([centre - half, centre + half])
                cost += ON_DISC * bool(np.hypot(*np.clip(0.0, low, high)) < 1.0)
            yield centre, cost, led


def _obstacles(axis: Any) -> tuple[Float64, Float64]:
    """Return the points of an axis, (n, 3): x, y, radius as drawn; and its straight lines, (m, 4), as drawn."""
    pixels = axis.figure.dpi / 72.0
    points, lines = [np.zeros((0, 3))], [np.zeros((0, 4))]
    for drawn in axis.collections:
        if isinstance(drawn, mpl.collections.PathCollection):
            places = drawn.get_offset_transform().transform(np.asarray(drawn.get_offsets()))
            radii = np.broadcast_to(np.sqrt(drawn.get_sizes()) / 2 * pixels, len(places))
            points.append(np.column_stack([places, radii]))
    for line in axis.lines:
        places = line.get_transform().transform(line.get_xydata())
        if line.get_linestyle() == "None":
            points.append(np.column_stack([places, np.full(len(places), line.get_markersize() / 2 * pixels)]))
        else:
            lines.append(np.concatenate([places[:-1], places[1:]], axis=1))
    return tuple(  # type: ignore[return-value]
        found if len(found) <= MOST_OBSTACLES else found[:0]
        for found in (np.concatenate(points), np.concatenate(lines))
    )


def _points_within(box: Float64, points: Float64) -> int:
    """Return how many of some discs, (n, 3), touch a box."""
    nearest = np.clip(points[:, :2], box[:2], box[2:])
    return int(np.count_nonzero(np.hypot(*(points[:, :2] - nearest).T) < points[:, 2]))


def _lines_within(box: Float64, lines: Float64) -> int:
    """Return how many straight lines, (m, 4), pass through a box.

    >>> _lines_within(np.array([0.0, 0.0, 1.0, 1.0]), np.array([[-1.0, 0.5, 2.0, 0.5], [-1.0, 2.0, 2.0, 2.0]]))
    1
    """
    start, step = lines[:, :2], lines[:, 2:] - lines[:, :2]
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (box[:2] - start) / step, (box[2:] - start) / step
    enter, leave = np.minimum(first, second), np.maximum(first, second)
    # a line along an axis is inside or outside of the box in the other one for good
    within = (start > box[:2]) & (start < box[2:])
    enter = np.where(step == 0.0, np.where(within, -np.inf, np.inf), enter)
    leave = np.where(step == 0.0, np.inf, leave)
    return int(np.count_nonzero(np.maximum(enter.max(axis=1), 0.0) < np.minimum(leave.min(axis=1), 1.0)))
