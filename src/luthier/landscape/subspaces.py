"""From names and files to lines, planes and larger subspaces of a pool's weights."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, flat
from luthier.core.errors import LuthierError, unwarned
from luthier.core.segments import segment_of_rows
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.kbest.groups import Groups
from luthier.kbest.pool import Pool
from luthier.kbest.weights import read_weights
from luthier.landscape.bounds import Bounds
from luthier.landscape.curve import LineCurve
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem, movable

if TYPE_CHECKING:
    from scipy import sparse


def read_start(pool: Pool, weights: str | Float64 | None) -> Float64:
    """Return the weights of a file or a vector, or equal ones (negative for costs) where none are given: (D,)."""
    if weights is None:
        return pool.features.signs
    if isinstance(weights, str):
        return read_weights(weights).vector(pool.features.names, source=weights)
    return weights


def read_axis(pool: Pool, axis: str) -> Float64:
    """Return a direction in weight space, (D,): one feature by its name, or a file of 'name value' lines.

    In a file a feature that is not named counts 0.
    """
    return named_axis(pool.features.names, axis)


def named_axis(names: Sequence[str], axis: str) -> Float64:
    """Return a direction in the weights of these features, (D,); see `read_axis`."""
    if axis in names:
        direction = np.zeros(len(names))
        direction[list(names).index(axis)] = 1.0
        return direction
    if not Path(axis).exists():
        shown = ", ".join(names[:12]) + (" …" if len(names) > 12 else "")
        raise LuthierError(
            f"the axis {axis!r} is neither a feature nor a file of 'name value' lines. hint: features are {shown}"
        )
    with unwarned():
        return read_weights(axis).vector(names, source=axis, strict=True)


def read_subspace(
    pool: Pool, weights: str | Float64 | None, axes: Sequence[str], *, expected: int | None = None
) -> Subspace:
    """Return the subspace through `weights` along `axes`; `expected` is how many axes there must be."""
    if expected is not None and len(axes) != expected:
        raise LuthierError(f"expected {'one axis' if expected == 1 else f'{expected} axes'}, found {len(axes)}")
    if not axes:
        raise LuthierError("expected at least one axis, found none")
    directions = read_axes(pool, axes)
    return Subspace(read_start(pool, weights), directions, axis_names(pool, directions, axes))


def axis_names(pool: Pool, directions: Float64, axes: Sequence[str]) -> tuple[str, ...]:
    """Return the names of axes; a file with 1 for one feature, and no more, is that feature."""
    names = []
    for direction, axis in zip(directions, axes, strict=True):
        moving = np.flatnonzero(direction)
        names.append(pool.features.names[moving[0]] if len(moving) == 1 and direction[moving[0]] == 1.0 else axis)
    return tuple(names)


def read_axes(pool: Pool, axes: Sequence[str]) -> Float64:
    """Return several directions, (Q, D), that are independent."""
    directions = np.array([read_axis(pool, axis) for axis in axes])
    for axis, direction in zip(axes, directions, strict=True):
        if not np.any(direction):
            raise LuthierError(f"the axis {axis!r} moves no weight: all its values are 0")
    if np.linalg.matrix_rank(directions) < len(axes):
        raise LuthierError(f"expected axes that are independent, found {', '.join(axes)}. hint: replace one of them")
    return directions


def read_ends(window: str, ends: str) -> tuple[float, float]:
    """Read ``lo:hi``, the `ends` of a `window`; an end that is left out is infinite.

    >>> read_ends("lm=-1:", "-1:")
    (-1.0, inf)
    """
    low, colon, high = ends.partition(":")
    try:
        found = float(low) if low.strip() else -np.inf, float(high) if high.strip() else np.inf
    except ValueError:
        found = np.nan, np.nan
    if not colon or not found[0] < found[1]:
        raise LuthierError(f"expected a window from low to high such as -0.5:2, found {ends!r} in {window!r}")
    return found


def project(pool: Pool, subspace: Subspace) -> Float64:
    """Return the pool's features seen from within a subspace, ``h Aᵀ``: (M, Q+1).

    Every entry is the same sum in the same order as when the pool is re-ranked with that vector.
    """
    return flat(np.ascontiguousarray(pool.features.scores(subspace.matrix).T))


# Few directions in place of many features: sums of groups, random ones, the leading ones of the differences.

MAKERS = ("sums", "random", "leading")
SAME_START = 1e-12  # a start that differs from a sum of directions by less than this is one


@dataclasses.dataclass(frozen=True, eq=False)
class Directions:
    """Q directions of weights, (Q, D), and the start as a sum of them, (Q,)."""

    names: tuple[str, ...]
    matrix: Float64
    start: Float64

    def weights(self, place: Float64) -> Float64:
        """Return the weights of a place, (Q,) → (D,)."""
        return np.asarray(place @ self.matrix)

    def seen_from(self, problem: Problem) -> Problem:
        """Return the problem whose weights are places: rows have Q features, and gains are the same but for ties."""
        if not isinstance(problem, ListProblem):
            return SubstitutedProblem(problem, self.names, self.matrix, Bounds.none(len(self.names)))
        table = Features.from_dense(self.names, np.ascontiguousarray(problem.pool.features.scores(self.matrix).T))
        return ListProblem(
            problem.pool.with_features(table), problem.metric, problem.stats, Bounds.none(len(self.names))
        )


@dataclasses.dataclass(frozen=True, eq=False)
class SubstitutedProblem(Problem):
    """A problem in other coordinates, whatever its candidates are: its weights are ``place @ matrix``, (Q,) → (D,).

    `spread` adds what the features of a direction spread as if they were independent: it sets units, no gain.
    """

    base: Problem
    coordinates: tuple[str, ...]
    matrix: Float64 | sparse.sparray  # (Q, D)
    bounds: Bounds

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", self.base.metric)

    def weights(self, places: Float64) -> Float64:
        """Return the weights of places, (…, Q) → (…, D)."""
        return np.asarray(places @ self.matrix)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the Q coordinates."""
        return self.coordinates

    @property
    def spread(self) -> Float64:
        """How much each coordinate's feature differs between candidates, (Q,)."""
        return np.asarray(np.sqrt(self.matrix**2 @ self.base.spread**2))

    @property
    def n_sentences(self) -> int:
        """How many sentences there are, N."""
        return self.base.n_sentences

    def selected(self, weights: Float64) -> npt.NDArray[Any]:
        """Return the statistics of what each place selects: (W, Q) → (W, N, S)."""
        return self.base.selected(self.weights(weights))

    def gains(self, weights: Float64) -> Float64:
        """Return the gain of each place, (W, Q) → (W,)."""
        return self.base.gains(self.weights(weights))

    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the gain along lines of places."""
        return self.base.curves(self.weights(start), self.weights(directions))

    def uphill(self, weights: Float64, sharpness: float) -> Float64:
        """Return a direction in which the gain is likely to rise, (Q,)."""
        return np.asarray(self.matrix @ self.base.uphill(self.weights(weights), sharpness))

    def errors_of_differences(self, weights: Float64, to: int) -> Float64:
        """Return standard errors of differences in gain."""
        return self.base.errors_of_differences(self.weights(weights), to)

    def identity(self) -> dict[str, str]:
        """Return what the gain is made of, and the coordinates."""
        dense = self.matrix.toarray() if not isinstance(self.matrix, np.ndarray) else self.matrix
        return {**self.base.identity(), "coordinates": hashlib.blake2b(dense.tobytes(), digest_size=16).hexdigest()}

    def with_bounds(self, bounds: Bounds) -> SubstitutedProblem:
        """Return the same problem under other limits."""
        return dataclasses.replace(self, bounds=bounds)


def directions_along(problem: Problem, start: Float64, axes: Sequence[str], rng: np.random.Generator) -> Directions:
    """Return the directions that texts name, and the start, (D,), beside them unless it is a sum of them.

    A text is a feature, a file of 'name value' lines, ``sums`` (every feature, or where there are bins the sum of its
    bins), ``random:N`` or ``leading:N``.
    """
    found = [direction for axis in axes for direction in _named(problem, start, axis, rng)]
    matrix = np.array([row for _, row in found])
    sized = matrix * np.where(problem.spread > 0, problem.spread, 1.0)
    longest = np.abs(sized).max(axis=1, keepdims=True)
    sized = np.divide(sized, longest, out=np.zeros_like(sized), where=longest > 0)
    if np.linalg.matrix_rank(sized) < len(sized):
        raise LuthierError(f"expected axes that are independent, found {', '.join(axes)}. hint: leave one out")
    place = np.linalg.lstsq(matrix.T, start, rcond=None)[0]
    names = tuple(name for name, _ in found)
    if np.abs(place @ matrix - start).max() <= SAME_START * np.abs(start).max(initial=0.0):
        return Directions(names, matrix, place)
    return Directions(("start", *names), np.concatenate([start[None], matrix]), np.eye(len(matrix) + 1)[0])


def _named(problem: Problem, start: Float64, axis: str, rng: np.random.Generator) -> list[tuple[str, Float64]]:
    """Return the directions of one text, with their names."""
    kind, _, count = axis.partition(":")
    if axis in problem.names or kind not in MAKERS or (kind == "sums") != (not count):
        return [(axis, named_axis(problem.names, axis))]
    if kind == "sums":
        made = sums_of_groups(problem, start, problem.groups)
        return list(zip(made.names, made.matrix, strict=True))
    if not count.isdecimal() or not 1 <= int(count) <= len(movable(problem)):
        raise LuthierError(
            f"expected {kind}:N with N from 1 to {len(movable(problem))}, the weights that can move, found {axis!r}"
        )
    if kind == "random":
        made = random_sums(problem, start, int(count), rng)
    elif isinstance(problem, ListProblem):
        made = leading_differences(problem, start, int(count))
    else:
        raise LuthierError(
            f"{axis!r} looks at the rows of whole lists, which are not here. hint: random:{count} does not"
        )
    return [(f"{kind} {name}", row) for name, row in zip(made.names[1:], made.matrix[1:], strict=True)]


def sums_of_groups(problem: Problem, start: Float64, groups: Groups) -> Directions:
    """Return every feature that is in no group, and for each group the sum of its columns.

    The start, (D,), has to weigh the columns of a group alike.
    """
    grouped = {column for group in groups for column in group.columns}
    single = [name for name in problem.names if name not in grouped]
    place = {name: number for number, name in enumerate(problem.names)}
    matrix = np.zeros((len(single) + len(groups), len(problem.names)))
    for row, name in enumerate(single):
        matrix[row, place[name]] = 1.0
    for row, group in enumerate(groups, start=len(single)):
        matrix[row, [place[column] for column in group.columns]] = 1.0
    first = [int(np.flatnonzero(row)[0]) for row in matrix]
    names = (*single, *(f"sum of {group.name}" for group in groups))
    return Directions(names, matrix, start[first])


def random_sums(problem: Problem, start: Float64, count: int, rng: np.random.Generator) -> Directions:
    """Return the start and random directions beside it, normal in units in which all features spread alike."""
    columns = movable(problem)
    matrix = np.zeros((count + 1, problem.n_features))
    matrix[0] = start
    matrix[1:, columns] = rng.standard_normal((count, len(columns))) / problem.spread[columns]
    return _beside_start(matrix)


def leading_differences(problem: ListProblem, start: Float64, count: int) -> Directions:
    """Return the start and the directions in which the rows of lists differ most, all features spreading alike."""
    columns = movable(problem)
    f = problem.pool.features
    from scipy import sparse  # loaded by those who have such features only

    many = sparse.csr_array((f.values, f.indices, f.indptr), shape=(len(f), f.n_features - f.n_dense))
    table = sparse.hstack([sparse.csr_array(f.dense), many], format="csr")[:, columns]
    table = table @ sparse.diags_array(1.0 / problem.spread[columns])
    lists = segment_of_rows(problem.offsets)
    member = sparse.csr_array((np.ones(len(lists)), (lists, np.arange(len(lists)))))
    lengths = np.diff(problem.offsets).astype(np.float64)
    sums = member @ table
    within = (table.T @ table - sums.T @ sparse.diags_array(1.0 / lengths) @ sums).toarray()
    wanted = min(count, len(columns))
    vectors = np.linalg.eigh(within)[1][:, ::-1][:, :wanted].T
    vectors *= np.where(vectors[np.arange(wanted), np.abs(vectors).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    matrix = np.zeros((wanted + 1, problem.n_features))
    matrix[0] = start
    matrix[1:, columns] = vectors / problem.spread[columns]
    return _beside_start(matrix)


def _beside_start(matrix: Float64) -> Directions:
    names = ("start", *(f"direction {number}" for number in range(1, len(matrix))))
    place = np.zeros(len(matrix))
    place[0] = 1.0
    return Directions(names, matrix, place)


# Features brought to one scale while tuning, and the answer brought back to theirs.


def standardized(problem: Problem) -> tuple[Problem, Float64]:
    """Return the problem with each feature divided by its spread within lists, and the spreads, (D,).

    Weights w' of the new problem are ``w = w' / spread`` of the old one: w'·(h/s) = (w'/s)·h. A feature
    that never differs keeps its scale. The bins of one feature have one scale, the root mean square of their
    spreads: they stay counts of one kind, whose weights can be neighbours.
    """
    spread = np.array(problem.spread)
    position = {name: d for d, name in enumerate(problem.names)}
    for group in problem.groups:
        columns = [position[name] for name in group.columns]
        spread[columns] = np.sqrt(np.mean(spread[columns] ** 2))
    spread = np.where(spread > 0, spread, 1.0)
    bounds = Bounds(problem.bounds.low * spread, problem.bounds.high * spread)
    return rescaled(problem, spread).with_bounds(bounds), spread


def rescaled(problem: Problem, spread: Float64) -> Problem:
    """Return a problem (a held-out one, say) with each feature divided by a number, and without limits on weights."""
    if not isinstance(problem, ListProblem):
        from scipy import sparse

        return SubstitutedProblem(problem, problem.names, sparse.diags_array(1.0 / spread), Bounds.none(len(spread)))
    pool = problem.pool.with_features(_divided(problem.pool.features, spread))
    return dataclasses.replace(problem, pool=pool, bounds=Bounds.none(len(spread)), file=None)


def _divided(features: Features, spread: Float64) -> Features:
    return dataclasses.replace(
        features,
        dense=features.dense / spread[: features.n_dense],
        values=features.values / spread[features.n_dense :][features.indices],
    )
