"""Where everything ties at a point, a box's sides represent it: proofs over all weights close on whole numbers, too."""

import itertools

import numpy as np
import pytest
from certified_problems import draw_problem

from luthier.geometry.subspace import Subspace
from luthier.landscape.bounds import Bounds
from luthier.landscape.certified.box import Boxes, first_moments
from luthier.landscape.certified.certify import CertifyOptions, certify
from luthier.landscape.certified.search import sides_for, tie_point
from luthier.landscape.certified.space import all_directions, reach_space
from luthier.landscape.certified.windows import WindowOptions, feature_axes

compiled = pytest.mark.compiled
START = np.array([1.0, 0.0, -1.0])
FAR = 10**6  # above all that differences of these small whole numbers and tangents of their cells come to


def lists_of(problem):
    """Return each list's rows, without repeats of features, as (features, place), in whole numbers of any size."""
    features = problem.pool.features.dense
    features = np.rint(features / (np.abs(features[features != 0]).min() or 1.0))  # of lists that were scaled
    lists = []
    for a, b in itertools.pairwise(problem.offsets):
        seen = {}
        for row in range(a, b):
            seen.setdefault(tuple(int(v) for v in features[row]), row)
        lists.append(list(seen.items()))
    return lists


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def inner_points(lists):
    """Yield a whole-numbered point inside of every cone of three weights that selects one row of each list clearly.

    Such a cone has an edge: a line in which two planes of ties meet. Round an edge, the planes that hold it are lines
    in a plane across it, and between two neighbours of these is a cone.
    """
    normals = {
        tuple(x - y for x, y in zip(a, b, strict=True))
        for rows in lists
        for (a, _), (b, _) in itertools.combinations(rows, 2)
    }
    edges = {cross(a, b) for a, b in itertools.combinations(sorted(normals), 2)} - {(0, 0, 0)}
    for edge in sorted(edges | {tuple(-x for x in edge) for edge in edges}):
        lines = {cross(edge, n) for n in normals if dot(edge, n) == 0}
        lines |= {tuple(-x for x in line) for line in lines}
        first = min(lines)
        second = cross(edge, first)
        units = [dot(line, line) ** 0.5 for line in (first, second)]

        def angle(line, first=first, second=second, units=units):
            return np.arctan2(dot(line, second) / units[1], dot(line, first) / units[0])

        turned = sorted(lines, key=angle)
        for one, other in zip(turned, turned[1:] + turned[:1], strict=True):
            # lines of unlike lengths: bring them to about the same, so that their sum lies well between them
            ratio = max(1, round((dot(one, one) / dot(other, other)) ** 0.5))
            back = max(1, round((dot(other, other) / dot(one, one)) ** 0.5))
            yield tuple(FAR * e + back * a + ratio * b for e, a, b in zip(edge, one, other, strict=True))


def best_clear(problem, allowed=lambda w: True):
    """Return the highest gain of any weights that select one row of each list clearly, by whole numbers alone."""
    lists, best = lists_of(problem), -np.inf
    chosen = set()
    for w in inner_points(lists):
        if allowed(w):
            rows = []
            for candidates in lists:
                heights = [dot(w, features) for features, _ in candidates]
                top = max(heights)
                if heights.count(top) > 1:
                    break
                rows.append(candidates[heights.index(top)][1])
            else:
                chosen.add(tuple(rows))
    for rows in chosen:
        best = max(best, float(problem.gain_of_sums(problem.stats[list(rows)].sum(axis=0))))
    return best, len(chosen)


@compiled
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
@pytest.mark.parametrize("spec", ["bleu", "wer", "column:worth"])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_weights_is_that_of_all_cones_of_whole_numbers(spec, seed, scale):
    problem = draw_problem(spec, seed, sentences=4, k=5, scale=scale)
    space = WindowOptions(whole=True).space(problem, feature_axes(problem, START, ()))
    found = certify(problem, space, START, CertifyOptions(gap=1e-6, limit=40_000))
    best, cones = best_clear(problem)
    assert cones > 10
    assert found.complete
    assert not found.ties
    assert "ties aside" in found.sentence
    assert best <= found.bound + 1e-9
    if problem.gain(START) <= best:  # a start that hangs on ties may be better than all that is clear
        assert found.gain == pytest.approx(best, abs=2e-6)


@compiled
@pytest.mark.parametrize("seed", range(3))
def test_limits_of_weights_hold_where_rays_would_leave_them(seed):
    problem = draw_problem("bleu", seed, sentences=5, k=5)
    limited = problem.with_bounds(Bounds(np.array([0.0, -np.inf, -np.inf]), np.array([np.inf, 0.0, np.inf])))
    space = all_directions(limited, feature_axes(limited, START, ()))
    found = certify(limited, space, START, CertifyOptions(gap=1e-6, limit=1_000))
    best, cones = best_clear(problem, lambda w: w[0] >= 0 and w[1] <= 0)
    assert cones > 5
    assert best <= found.bound + 1e-9
    assert limited.bounds.allow(found.weights)


@compiled
def test_without_sides_a_box_round_a_tie_stays_as_it_is():
    # three whole-numbered features, all directions: on some seeds the bound of an edge's boxes never falls
    stuck = 0
    for seed in range(4):
        problem = draw_problem("bleu", seed, sentences=12, k=6)
        space = WindowOptions(whole=True).space(problem, feature_axes(problem, START, ()))
        aside = certify(problem, space, START, CertifyOptions(gap=0.01, limit=3_000))
        object.__setattr__(space, "ties", True)
        with_ties = certify(problem, space, START, CertifyOptions(gap=0.01, limit=3_000))
        assert aside.complete
        assert aside.bound <= with_ties.bound + 0.01
        stuck += not with_ties.complete
    assert stuck >= 2


def ties_at_the_top(problem, point):
    """Return whether two lists or more have several highest rows of unlike statistics there."""
    ties = 0
    for rows in lists_of(problem):
        heights = [int(dot(point, features)) for features, _ in rows]
        top = {tuple(problem.stats[row]) for (_, row), h in zip(rows, heights, strict=True) if h == max(heights)}
        ties += len(top) > 1
    return ties >= 2


@compiled
@pytest.mark.parametrize("seed", range(6))
def test_what_is_selected_inside_is_selected_on_a_side(seed):
    # rows of small whole numbers, and a point where planes of ties meet: near it only rows that tie there are open
    rng = np.random.default_rng(seed)
    problem = draw_problem("bleu", seed, sentences=6, k=6)
    normals = [np.subtract(a, b) for rows in lists_of(problem) for (a, _), (b, _) in itertools.combinations(rows, 2)]
    meets = [np.cross(a, b) for a, b in itertools.combinations(normals, 2)]
    tie = next(point for point in meets if np.abs(point).max() > 0 and ties_at_the_top(problem, point)).astype(float)
    subspace = Subspace(tie, np.eye(3), ("f0", "f1", "f2"))
    boxes = Boxes(problem, reach_space(problem, subspace, 1e-3))
    low, high = boxes.space.lows[0], boxes.space.highs[0]
    (box,) = boxes.look([(low, high, boxes.rows.all_open(), np.inf, first_moments(len(boxes.space.matrix)))], -np.inf)
    sides = sides_for(boxes.rows, box.low, box.high, box.open)
    point = tie_point(boxes.rows, box.low, box.high, box.open)
    assert sides
    assert boxes.rows.margin(point) <= 1
    clear = 0
    for _ in range(300):
        inside = box.low + rng.random(4) * (box.high - box.low)
        if not boxes.rows.is_clear(inside):
            continue
        ray = inside - point
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(ray > 0, (box.high - point) / ray, np.where(ray < 0, (box.low - point) / ray, np.inf))
        k = int(np.argmin(steps))
        leaves = point + steps[k] * ray
        leaves[k] = box.high[k] if ray[k] > 0 else box.low[k]
        assert any(np.all((a <= leaves + 1e-12) & (leaves - 1e-12 <= b)) for a, b in sides)
        one, other = (boxes.rows.heights @ z for z in (inside, leaves))
        for a, b in itertools.pairwise(boxes.rows.offsets):
            assert np.argmax(one[a:b]) == np.argmax(other[a:b])
        clear += 1
    assert clear > 50


@compiled
def test_rows_that_do_not_tie_have_no_point():
    problem = draw_problem("bleu", 3, sentences=6, k=6, whole=False)
    boxes = Boxes(problem, reach_space(problem, Subspace(START, np.eye(3), ("f0", "f1", "f2")), 0.5))
    box = boxes.look(
        [
            (
                boxes.space.lows[0],
                boxes.space.highs[0],
                boxes.rows.all_open(),
                np.inf,
                first_moments(len(boxes.space.matrix)),
            )
        ],
        -np.inf,
    )[0]
    assert len(box.open.lists) > 3
    assert sides_for(boxes.rows, box.low, box.high, box.open) is None
