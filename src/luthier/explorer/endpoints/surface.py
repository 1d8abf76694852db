"""The metric over a plane of weights: a raster, exact cells where they are few, one cell looked at closely."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.explorer.sessions.request import LARGEST_NUMBER, CheckedRequest, changed_from_start
from luthier.explorer.sessions.responses import Reply, finite, shown, signed
from luthier.explorer.sessions.session import Session
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.cells import Cell
from luthier.geometry.plane.raster import raster
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.planes.plane import Plane, PlaneLists, usual_reach
from luthier.landscape.planes.surface import certain_cells

LEAST_PIXELS, MOST_PIXELS, BAND = 16, 512, 32
MOST_CELLS = 15_000
SAME = 1e-9  # of a window: two that differ by less are one
NEIGHBOURS, NAMED = 12, 12


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A window of a plane, and which request asked for it."""

    plane: Plane
    window: Window
    go_on: Callable[[], None]


def surface(session: Session, asked: CheckedRequest) -> Reply:
    """Return the scores of a window: cells with their corners where there are few, else a raster of pixels."""
    page, number = (asked.whole(name, low=0, high=LARGEST_NUMBER, default=0) for name in ("page", "number"))
    view = _view(session, asked, session.begin("surface", page, number))
    pixels = asked.whole("pixels", low=LEAST_PIXELS, high=MOST_PIXELS, default=128)
    axes = view.plane.subspace
    key = "lists", axes.matrix.tobytes(), view.plane.window, view.window
    lists = session.kept(key, lambda: view.plane.within(view.window))
    head: dict[str, Any] = {
        "limits": list(view.window.limits),
        "origin": [_origin(session, axes, i) for i in range(2)],
        "names": list(axes.names),
    }
    if asked.choice("form", ("auto", "raster")) == "auto":
        found = _cells(view, lists, session.threads)
        if found is not None:
            offsets, corners = found.polygons(np.arange(len(found)))
            scores = view.plane.score(found.sums)
            arrays: dict[str, npt.NDArray[Any]] = {
                "offsets": offsets.astype(np.int32),
                "corners": corners.reshape(-1),
                "scores": scores,
            }
            head["best_shown"] = _best(session, scores)
            return Reply({**head, "form": "cells", "cells": int(found.sized.sum())}, arrays)
    scores = _raster(view, lists, pixels, session.threads)
    head["best_shown"] = _best(session, scores)
    return Reply({**head, "form": "raster", "pixels": pixels}, {"scores": scores.reshape(-1)})


def _best(session: Session, scores: Float64) -> str:
    gain = session.problem.metric.gain
    return shown(float(gain(np.array(gain(scores).max()))))  # a gain's gain is the score


def cell(session: Session, asked: CheckedRequest) -> Reply:
    """Return the cell of a point: its weights, score, size, whether re-ranking finds it, and what changes beyond it."""
    view = _view(session, asked, lambda: None)
    place = asked.number("x"), asked.number("y")
    x_low, x_high, y_low, y_high = view.plane.window.limits
    if not (x_low <= place[0] <= x_high and y_low <= place[1] <= y_high):
        raise LuthierError("the point lies outside of the window")
    found = view.plane.overlay.cell_at(*place)
    sums = session.problem.stats[found.selection].sum(axis=0)
    score = float(view.plane.score(sums))
    weights = view.plane.subspace.weights(found.position)
    there = None if session.heldout is None else session.heldout.score(weights)
    return Reply(
        {
            "weights": changed_from_start(session, weights),
            "named": _named(session, view.plane.subspace, weights),
            "unseen": None if there is None else shown(there),
            "unseen_change": "" if there is None else _unseen_change(session, there),
            "score": finite(score),
            "shown": shown(score),
            "x": float(found.position[0]),
            "y": float(found.position[1]),
            "area": finite(found.area),
            "radius": finite(found.radius),
            "sized": f"{found.area:.3g}",
            "representable": bool(certain_cells(view.plane, [found])[0]),
            "polygon": [[finite(value) for value in corner] for corner in found.polygon.tolist()],
            "neighbours": _neighbours(session, view.plane, found, score),
        }
    )


def _named(session: Session, axes: Subspace, weights: Float64) -> list[tuple[str, str]]:
    """Return the weights that a place is about: those of its axes, or the largest where an axis is no feature."""
    names = session.problem.names
    places = [names.index(name) for name in axes.names if name in names]
    if len(places) < len(axes.names):
        places = np.argsort(-np.abs(weights) * session.problem.spread, kind="stable")[:NAMED].tolist()
    return [(names[d], f"{weights[d]:.5g}".replace("-", "−")) for d in places]


def _unseen_change(session: Session, score: float) -> str:
    """Return what a score on the held-out sentences adds to that of the start."""
    assert session.heldout is not None
    problem = session.heldout
    return signed(score - session.kept(("start unseen",), lambda: problem.score(session.start)), like=score)


def _neighbours(session: Session, plane: Plane, found: Cell, score: float) -> list[dict[str, Any]]:
    """Return what changes beyond each side: a sentence, its other words, the score there; the best first."""
    problem = session.problem
    lists = np.searchsorted(problem.offsets, found.beyond, side="right") - 1
    sums = problem.stats[found.selection].sum(axis=0)
    beyond = sums - problem.stats[found.selection[lists]] + problem.stats[found.beyond]
    scores = plane.score(beyond)
    order = np.argsort(-problem.metric.gain(scores), kind="stable")[:NEIGHBOURS]
    return [
        {
            "sentence": int(lists[i]),
            "id": problem.pool.sentence_ids[int(lists[i])],
            "shown": shown(scores[i]),
            "change": signed(float(scores[i]) - score, like=score),
            "text": problem.pool.texts[int(found.beyond[i])],
        }
        for i in order.tolist()
    ]


def _view(session: Session, asked: CheckedRequest, go_on: Callable[[], None]) -> View:
    """Return the plane and the window that are asked for; a plane is kept while windows within it are looked at."""
    subspace = _subspace(session, asked)
    window = asked.window("window", 2)
    key = "plane", subspace.matrix.tobytes()
    plane = session.kept((*key, "usual"), lambda: _plane(session, subspace))
    chosen = plane.window if window is None else Window(*window)
    if not _inside(chosen, plane.window):
        session.forget("lists")
        plane = session.kept((*key, chosen), lambda: dataclasses.replace(plane, window=chosen))
    go_on()
    return View(plane, chosen, go_on)


def plane_of(session: Session, asked: CheckedRequest) -> tuple[Plane, Window]:
    """Return the plane that is asked for, cut to its window."""
    view = _view(session, asked, lambda: None)
    return dataclasses.replace(view.plane, window=view.window), view.window


def _subspace(session: Session, asked: CheckedRequest) -> Subspace:
    """Return the plane through weights along two features, or along named weights (numbered behind the features)."""
    n, weights = session.problem.n_features, asked.weights(session)
    axes = asked.items("axes", most=2)
    if (
        len(axes) != 2
        or not all(type(a) is int and 0 <= a < n + len(session.named) for a in axes)
        or axes[0] == axes[1]
    ):
        raise LuthierError("expected two different axes: numbers of features or of named weights")
    directions, names = np.zeros((2, n)), []
    for i, axis in enumerate(axes):
        if axis < n:
            directions[i, axis] = 1.0
        else:
            directions[i] = session.named[axis - n].weights
        names.append(session.problem.names[axis] if axis < n else session.named[axis - n].name)
    return Subspace(weights, directions, tuple(names))


def _plane(session: Session, subspace: Subspace) -> Plane:
    x, y = usual_reach(session.problem, subspace).tolist()
    session.forget("plane")
    session.forget("lists")
    return Plane.make(session.problem, subspace, Window(-x, x, -y, y))


def _inside(window: Window, other: Window) -> bool:
    a, b = np.array(window.limits), np.array(other.limits)
    slack = SAME * np.abs(b)
    return bool(np.all(a[::2] >= b[::2] - slack[::2]) and np.all(a[1::2] <= b[1::2] + slack[1::2]))


def _origin(session: Session, axes: Subspace, i: int) -> float:
    """Return the weight of an axis that is a feature, where the plane has 0; 0 for other directions."""
    named = session.problem.names
    return float(axes.start[named.index(axes.names[i])]) if axes.names[i] in named else 0.0


def _cells(view: View, lists: PlaneLists, threads: int) -> Arrangement | None:
    """Return all cells of the window, None where they are too many."""
    nothing, n = np.zeros((len(lists.points), 0), np.int64), 0
    for some in lists.overlay.stream(nothing, len, threads=1):
        n += some
        view.go_on()
        if n > MOST_CELLS:
            return None
    return Arrangement.make(lists.overlay, lists.values, threads=threads)


def _raster(view: View, lists: PlaneLists, pixels: int, threads: int) -> Float64:
    """Return the scores at the centres of pixels, (ny, nx), a band after another."""
    x_low, x_high, y_low, y_high = view.window.limits
    share = (np.arange(pixels) + 0.5) / pixels
    xs, ys = x_low + share * (x_high - x_low), y_low + share * (y_high - y_low)
    bands = []
    for first in range(0, pixels, BAND):
        view.go_on()
        bands.append(raster(lists.offsets, lists.points, lists.values, xs, ys[first : first + BAND], threads=threads))
    return view.plane.score(np.concatenate(bands))
