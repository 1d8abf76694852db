"""From names and texts to spaces: which weights may move, and how far."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import param, validate
from luthier.geometry.subspace import Subspace
from luthier.landscape.axes import origins
from luthier.landscape.certified.space import (
    Space,
    all_directions,
    holds_origin,
    reach_space,
    whole_space,
    window_space,
)
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import usual_reach
from luthier.landscape.problem import movable
from luthier.landscape.subspaces import read_axes, read_ends


@dataclasses.dataclass(frozen=True)
class WindowOptions:
    """How far weights may move from the start.

    With `principal` boxes lie along the principal axes of the differences within lists, which makes the search much
    faster where features are nearly collinear. A `window` keeps its meaning; a `reach` goes along these axes then.
    A window round weights that are all 0 has weights of every direction: then these are searched, without a window.
    """

    window: tuple[str, ...] = param(
        (), help="AXIS=LO:HI, weights of a feature, or offsets along a file (default: as far as matters)"
    )
    reach: float = param(0.0, low=0.0, help="what is added along every axis, at most (0: as far as matters)")
    whole: bool = param(False, help="no window: all weights along the axes")
    principal: bool = param(True, help="boxes along the principal axes of differences within lists")
    ties: bool = param(True, help="count scores that are reached by ties only (without a window they never count)")

    def __post_init__(self) -> None:
        validate(self)
        if self.whole and (self.window or self.reach):
            raise LuthierError("the whole space has no window. hint: leave out `window` and `reach`, or `whole`")
        if self.window and self.reach:
            raise LuthierError("expected one kind of window, found two. hint: leave out `window` or `reach`")

    def space(self, problem: ListProblem, subspace: Subspace) -> Space:
        """Return the space that these options say."""
        found = self._space(problem, subspace)
        return found if found.ties == self.ties or found.whole else dataclasses.replace(found, ties=self.ties)

    def _space(self, problem: ListProblem, subspace: Subspace) -> Space:
        if self.whole:
            everywhere = np.full(subspace.n_axes, np.inf)
            alone = holds_origin(problem, subspace, -everywhere, everywhere)
            return all_directions(problem, subspace) if alone else whole_space(problem, subspace)
        if self.reach:
            reach = np.full(subspace.n_axes, self.reach)
            if holds_origin(problem, subspace, -reach, reach):
                return all_directions(problem, subspace)
            return reach_space(problem, subspace, self.reach, principal=self.principal)
        ends = window_ends(problem, subspace, self.window)
        if holds_origin(problem, subspace, ends[:, 0], ends[:, 1]):
            return all_directions(problem, subspace)
        return window_space(problem, subspace, ends, principal=self.principal)


def window_ends(problem: ListProblem, subspace: Subspace, texts: Sequence[str]) -> Float64:
    """Read ``axis=lo:hi``, at most one for each axis, as offsets; an axis without has its usual window: (Q, 2).

    The ends are weights, or offsets along an axis that combines features (`luthier.landscape.axes`).
    """
    reach = usual_reach(problem, subspace)
    ends = np.stack([-reach, reach], axis=1)
    given: set[str] = set()
    for text in texts:
        name, equals, range_text = text.rpartition("=")
        if not equals or name not in subspace.names:
            axes = " or ".join(f"{axis}=lo:hi" for axis in subspace.names[:6])
            raise LuthierError(f"expected a window such as {axes}, found {text!r}")
        if name in given:
            raise LuthierError(f"expected one window for each axis, found another for {name!r}")
        given.add(name)
        found = read_ends(text, range_text)
        if not np.all(np.isfinite(found)):
            raise LuthierError(f"expected both ends of a window, found {text!r}. hint: or search the whole space")
        place = subspace.names.index(name)
        ends[place] = np.array(found) - origins(subspace)[place]
    return ends


def feature_axes(problem: ListProblem, start: Float64, names: Sequence[str]) -> Subspace:
    """Return the subspace of some weights by their names, or along files of directions, or of all that can move."""
    if names:
        if len(set(names)) < len(names):
            raise LuthierError(f"expected axes that differ, found {', '.join(names)}")
        return Subspace(start, read_axes(problem.pool, names), tuple(names))
    places = movable(problem)
    directions = np.eye(problem.n_features)[places]
    return Subspace(start, directions, tuple(problem.names[place] for place in places))
