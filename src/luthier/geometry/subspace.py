"""An affine subspace of weights, and what the rows of lists look like from within it.

Weights are ``w = w0 + γ_1 a_1 + … + γ_Q a_Q``. With the matrix A of the rows w0, a_1, …, a_Q a row h becomes
``A h``: its score at w is the product of ``(1, γ)`` with that [waite2015] (who write M for Q). Q = 1 is a line
search, Q = 2 a plane.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, frozen
from luthier.core.errors import LuthierError


@dataclasses.dataclass(frozen=True, eq=False)
class Subspace:
    """The weights ``start + γ·directions``.

    Attributes
    ----------
    start : (D,) float64
        w0: the origin, γ = 0.
    directions : (Q, D) float64
        a_1, …, a_Q; linearly independent.
    names : Q names of the axes, for people
    """

    start: Float64
    directions: Float64
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        start = np.array(self.start, dtype=np.float64)
        directions = np.atleast_2d(np.array(self.directions, dtype=np.float64))
        if start.ndim != 1 or directions.ndim != 2 or directions.shape[1] != len(start):
            raise LuthierError(f"expected directions of {len(start)} weights, found shape {directions.shape}")
        if not (np.all(np.isfinite(start)) and np.all(np.isfinite(directions))):
            raise LuthierError("expected finite weights and directions, found others")
        longest = np.abs(directions).max(axis=1, keepdims=True, initial=0.0)
        scaled = np.divide(directions, longest, out=np.zeros_like(directions), where=longest > 0)  # of whatever lengths
        if np.linalg.matrix_rank(scaled) < len(scaled):
            raise LuthierError(f"expected {len(directions)} axes that are independent, found axes that are not")
        object.__setattr__(self, "start", frozen(start))
        object.__setattr__(self, "directions", frozen(directions))
        names = self.names or tuple(f"axis {i + 1}" for i in range(len(directions)))
        object.__setattr__(self, "names", tuple(names))

    @property
    def n_axes(self) -> int:
        """How many directions there are, Q."""
        return len(self.directions)

    @property
    def matrix(self) -> Float64:
        """A, (Q+1, D): the start, then the directions."""
        return np.concatenate([self.start[None], self.directions])

    def weights(self, positions: npt.ArrayLike) -> Float64:
        """Return the weights at positions γ, (..., Q) → (..., D).

        Terms are added one at a time in the order of the axes, so that one position or many give the
        same bits.

        >>> Subspace(np.array([1.0, 0.0]), np.array([[0.0, 2.0]])).weights([[0.5], [-1.0]]).tolist()
        [[1.0, 1.0], [1.0, -2.0]]
        """
        positions = np.asarray(positions, dtype=np.float64)
        total = np.broadcast_to(self.start, (*positions.shape[:-1], len(self.start))).copy()
        for axis, direction in enumerate(self.directions):
            total += positions[..., axis, None] * direction
        return total


def origin_place(start: Float64, directions: Float64) -> list[Fraction] | None:
    """Return γ with ``start + γ·directions`` = 0 exactly, (D,) and (Q, D) → Q numbers, or None if there is none.

    By elimination; a direction that nothing asks for gets 0. Most starts are refused after a few weights.

    >>> origin_place(np.array([1.0, 3.0]), np.array([[0.5, 1.5]]))
    [Fraction(-2, 1)]
    >>> origin_place(np.array([1.0, 3.0 + 2**-51]), np.array([[0.5, 1.5]]))
    """
    rows: dict[int, tuple[dict[int, Fraction], Fraction]] = {}  # by their first axis, which counts 1 in them
    for d in range(len(start)):
        row = {int(k): Fraction(float(directions[k, d])) for k in np.flatnonzero(directions[:, d])}
        rest = Fraction(-float(start[d]))
        for k in sorted(rows):
            if k in row:
                share = row[k]
                rest -= share * rows[k][1]
                for other, value in rows[k][0].items():
                    row[other] = row.get(other, Fraction(0)) - share * value
        row = {k: value for k, value in row.items() if value}
        if row:
            first = min(row)
            rows[first] = {k: value / row[first] for k, value in row.items()}, rest / row[first]
        elif rest:
            return None
    place = [Fraction(0)] * len(directions)
    for first in sorted(rows, reverse=True):
        row, rest = rows[first]
        place[first] = rest - sum((value * place[k] for k, value in row.items() if k != first), Fraction(0))
    return place
