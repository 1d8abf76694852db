"""Whole-numbered lists against brute force in rational arithmetic: what the plane finds must be what there is.

``python fuzz_integers.py 100 0`` tries 100 instances of every subject from seed 0 on and prints how many disagree;
each subject is a function of a seed. Features are small whole numbers (ties, duplicates, collinear rows, boundaries
through one point), over planes along features, along whole-numbered directions or turned by any angle, some lists 2²⁰
or 2⁴⁰ times as large as others.
"""

import itertools
import sys
from fractions import Fraction

import numpy as np
from planar_oracles import area_of, box, clip

from luthier.core.errors import LuthierError
from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes.best_cells import best_cells
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists

LISTS = SyntheticLists(sentences=5, k=6, vocabulary=100)
SCALES = (1.0, 1.0, 1.0, 2.0**-40, 2.0**-20, 2.0**20, 2.0**40)
ROUNDING = 1e-9


def heights_of(features, matrix):
    """Return exact c, p, q of every row."""
    exact = [[Fraction(float(a)) for a in vector] for vector in matrix]
    rows = [[Fraction(float(h)) for h in row] for row in features]
    return [tuple(sum(a * h for a, h in zip(vector, row, strict=True)) for vector in exact) for row in rows]


def brute_force(heights, offsets, limits):
    """Return every selection with an area in a window, and its polygon, by cutting what is left for every row."""
    found = [((), box(limits))]
    for low, high in itertools.pairwise(offsets):
        new = []
        for rows, polygon in found:
            for k in range(low, high):
                part = polygon
                for j in range(low, high):
                    line = tuple(a - b for a, b in zip(heights[k], heights[j], strict=True))
                    if j != k and any(line):
                        part = clip(part, line)
                    elif j < k:
                        part = []
                    if len(part) < 3:
                        break
                if len(part) >= 3 and area_of(part) > 0:
                    new.append(((*rows, k), part))
        found = new
    return dict(found)


def width_of(polygon):
    """Return how wide a polygon is, about."""
    xs, ys = zip(*polygon, strict=True)
    return float(area_of(polygon) / max(max(xs) - min(xs), max(ys) - min(ys)))


def whole_numbers(rng, shape, *, largest=3):
    """Return whole-numbered rows: as they fall, on one line, few of them repeated, or all on two lines."""
    rows = rng.integers(-largest, largest + 1, size=shape).astype(float)
    kind = rng.integers(4)
    if kind == 1:
        rows[: shape[0] // 2] = np.outer(np.arange(shape[0] // 2), rows[0])
    elif kind == 2:
        rows[1::2] = rows[::2][: len(rows[1::2])]
    elif kind == 3 and shape[1] > 1:
        rows[:, 1] = rows[:, 0]
    return rows


def window_of(rng):
    """Return a window, bounded or not, and limits that hold all of its corners."""
    kind = rng.integers(3)
    if kind == 0:
        return Window(), (-1e9, 1e9, -1e9, 1e9)
    limits = (-2.0, 2.0, -1.0, 3.0) if kind == 1 else (-1.0, 1.0, 0.0, 1.0)
    return Window(*limits), limits


def overlay_cells(seed):
    """Tell whether the cells with an area are those of brute force, heights being whole numbers."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, size=rng.integers(2, 5))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    points = np.concatenate([whole_numbers(rng, (n, 3)) for n in lengths])
    if rng.integers(3) == 0:
        points[:, 0] = 0.0  # every boundary passes by the origin
    points *= np.repeat(rng.choice(SCALES, len(lengths)), lengths)[:, None]
    window, limits = window_of(rng)
    overlay = Overlay(offsets, points, window)
    blocks = list(overlay.stream(np.zeros((len(points), 1), np.int64), lambda block: block.with_area))
    found = [tuple(overlay.cell(key).selection.tolist()) for block in blocks for key in block.keys]
    exact = [tuple(Fraction(float(value)) for value in row) for row in points]
    expected = brute_force(exact, offsets.tolist(), limits)
    return len(found) == len(set(found)) and set(found) == expected.keys()


def problem_of(rng, n_features):
    """Return a problem with whole-numbered features."""
    pool = LISTS.generate(int(rng.integers(1 << 30)))
    parts = [whole_numbers(rng, (n, n_features)) * rng.choice(SCALES) for n in pool.list_lengths]
    names = tuple("abcde"[:n_features])
    return ListProblem.of(pool.with_features(Features.from_dense(names, np.concatenate(parts))), load_metric("bleu"))


def plane_of(rng, n_features):
    """Return a plane: along features, whole-numbered directions, or, of two features, turned by any angle."""
    while True:
        if n_features == 2 and rng.integers(2):
            turned, _ = np.linalg.qr(rng.normal(size=(2, 2)))
            return Subspace(rng.normal(size=2), turned)
        axes = rng.integers(-2, 3, size=(2, n_features)).astype(float)
        if np.linalg.matrix_rank(axes) < 2:
            continue
        through_origin = rng.integers(-4, 5, size=2) / 4.0 @ axes
        return Subspace(through_origin if rng.integers(2) else rng.integers(-2, 3, n_features).astype(float), axes)


def best_gain(problem, selections):
    """Return the best gain of selections."""
    sums = problem.stats[np.array(sorted(selections))].sum(axis=1)
    return float(problem.gain_of_sums(sums).max())


def has_idle_axis(heights, offsets):
    """Return whether an axis changes no difference of two rows of a list."""
    lists = [heights[low:high] for low, high in itertools.pairwise(offsets)]
    return any(all(len({row[axis] for row in rows}) == 1 for rows in lists) for axis in (1, 2))


def surface_cells(seed):
    """Tell whether `surface` counts what brute force does, has its best score, and what it calls certain is so.

    A decoder adds up features in an order of its own: certain is what any order selects.
    """
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(2, 6))
    problem, subspace = problem_of(rng, n_features), plane_of(rng, n_features)
    window, limits = window_of(rng)
    plane = Plane.make(problem, subspace, window)
    features = problem.pool.features.dense
    heights = heights_of(features, subspace.matrix)
    try:
        report = look_at_plane(plane, SurfaceOptions(stream=False, check=50))
    except LuthierError as refusal:
        return "constant in every list" in str(refusal) and has_idle_axis(heights, problem.offsets.tolist())
    expected = brute_force(heights, problem.offsets.tolist(), limits)
    record = report.record
    found = [tuple(record.selection(cell).tolist()) for cell in np.flatnonzero(record.sized)]
    best = problem.metric.gain(np.array(report.best[0].score))
    right = len(found) == report.survey.cells == len(set(found)) and set(found) == expected.keys()
    right &= abs(best - best_gain(problem, expected)) < ROUNDING and report.check.wrong == 0
    for cell in np.flatnonzero(record.representable):
        order = rng.permutation(n_features)
        weights = subspace.weights(record.position[cell])
        scores = np.zeros(len(features))
        for d in order:
            scores = scores + weights[d] * features[:, d]
        chosen = [low + int(np.argmax(scores[low:high])) for low, high in itertools.pairwise(problem.offsets.tolist())]
        right &= chosen == record.selection(cell).tolist()
    return bool(right)


def rounding_decides(problem, heights):
    """Tell whether two unlike rows of a list are tied all over the plane: then sums of floats choose between them.

    The tuner looks at what a re-rank gives, and takes the next cell where the best one is not kept.
    """
    features = problem.pool.features.dense
    for first, last in itertools.pairwise(problem.offsets.tolist()):
        for a, b in itertools.combinations(range(first, last), 2):
            if list(heights[a]) == list(heights[b]) and list(features[a]) != list(features[b]):
                return True
    return False


def tuned_plane(seed):
    """Tell whether the `plane` tuner finds the best gain that a window has.

    It need not find cells narrower than 10⁻¹¹ of the window, but may.
    """
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(2, 5))
    problem = problem_of(rng, n_features)
    weights = rng.integers(-4, 5, size=n_features) / 4.0
    near = Nearby.of(problem, weights, 3.0)
    plane = near.subspace(rng.normal(size=(2, n_features)) if n_features == 2 else np.eye(n_features)[:2])
    if plane is None:
        return True
    size = float(near.reach / np.sqrt(2.0))
    heights = heights_of(problem.pool.features.dense, plane.matrix)
    cells = brute_force(heights, problem.offsets.tolist(), (-size, size, -size, size))
    wide = [rows for rows, polygon in cells.items() if width_of(polygon) > 1e-11 * size]
    pieces = best_cells(problem, near, plane, size, above=-1.0)
    found = pieces[0].gain if pieces else -1.0
    real = abs(problem.gain(plane.weights(pieces[0].position)) - found) < ROUNDING if pieces else False
    real = real or (bool(pieces) and rounding_decides(problem, heights))
    return real and best_gain(problem, wide) - ROUNDING < found < best_gain(problem, cells) + ROUNDING


SUBJECTS = (overlay_cells, surface_cells, tuned_plane)


def run(n, seed=0):
    """Try n instances of every subject; print how many disagree, and return which."""
    wrong = []
    for subject in SUBJECTS:
        failed = [k for k in range(seed, seed + n) if not subject(k)]
        print(  # noqa: T201 - what it is for
            f"{subject.__name__}: {n} instances, {len(failed)} disagree {failed[:10] or ''}", flush=True
        )
        wrong += [f"{subject.__name__} {k}" for k in failed]
    return wrong


if __name__ == "__main__":
    sys.exit(bool(run(*(int(argument) for argument in sys.argv[1:3]))))
