"""Boxes that are looked at together; also run with bounds checking, for the kernels index by what they found."""

from fractions import Fraction

import numpy as np
import pytest
from certified_problems import SPECS, draw_problem

from luthier.geometry.subspace import Subspace
from luthier.landscape.certified._cut_kernels import Steps
from luthier.landscape.certified._moment_kernels import bound_by_moments, scratch_of
from luthier.landscape.certified.box import Boxes, first_moments
from luthier.landscape.certified.space import window_space

START = np.array([1.0, 0.0, -1.0])


@pytest.mark.compiled
@pytest.mark.parametrize("spec", SPECS)
def test_what_is_found_of_a_box_does_not_depend_on_the_others(spec):
    problem = draw_problem(spec, 3, whole=False, sentences=9, k=9)
    space = window_space(
        problem,
        Subspace(START, np.eye(3), ("f0", "f1", "f2")),
        np.array([[-1.0, 2.0], [-2.0, 2.0], [0.0, 1.0]]),
        principal=True,
    )
    boxes, rng = Boxes(problem, space), np.random.default_rng(4)
    everything, again = boxes.rows.all_open(), boxes.rows.all_open()
    ends = np.sort(rng.random((12, 2, 4)), axis=1)
    tasks = [
        (*(space.lows[0] + end * (space.highs[0] - space.lows[0]) for end in pair), given, limit, first_moments(4))
        for pair, given, limit in zip(ends, [everything, again, everything] * 4, [np.inf, 40.0] * 6, strict=True)
    ]
    gain = problem.gain(START)
    for target in (-np.inf, gain - 5.0, gain, gain + 5.0):
        together = boxes.look(tasks, target)
        for task, found in zip(tasks, together, strict=True):
            alone = boxes.look([task], target)[0]
            assert (alone is None) == (found is None)
            if alone is not None:
                assert (alone.bound, alone.axis) == (found.bound, found.axis)
                for name in ("low", "high", "point", "sums", "moments"):
                    assert getattr(alone, name).tobytes() == getattr(found, name).tobytes()
                for one, other in zip(alone.open, found.open, strict=True):
                    assert one.tobytes() == other.tobytes()


def draw_lists(rng, n_axes, scale, *, whole):
    """Return heights (rows, axes + 1) and values of lists; whole numbers tie."""
    lists = []
    for size in rng.integers(2, 9, 14):
        heights = rng.integers(-2, 3, (size, n_axes + 1)) if whole else rng.normal(size=(size, n_axes + 1))
        values = rng.integers(0, 4, size) / 3.0 if whole else rng.random(size)
        lists.append((scale * heights.astype(float), values))
    return lists


def steps_of(lists, centre, radius, room):
    """Return what `order_steps` makes of lists, written anew: rows by descending value, seen from the first."""
    starts, values, lines, depths, raises = [0], [], [], [], []
    for heights, own in lists:
        order = np.argsort(-own, kind="stable")
        raised = 0.0
        for i, row in enumerate(order):
            apart = heights[order[0]] - heights[row]
            middle, swing = float(apart @ np.append(1.0, centre)), float(np.abs(apart[1:]) @ radius)
            raised = max(raised, swing - middle + room) if i else raised
            values.append(own[row])
            lines.append([middle + room, *(apart[1:] * radius)])
            depths.append(swing - middle - room)
            raises.append(raised)
        starts.append(len(values))
    return Steps(np.array(starts), np.array(values), np.array(lines), np.array(depths), np.array(raises))


def is_positive_definite(matrix):
    """Tell by elimination in rational arithmetic."""
    rows = [[Fraction(x) for x in row] for row in matrix]
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, len(rows)):
            share = rows[i][k] / rows[k][k]
            rows[i] = [x - share * y for x, y in zip(rows[i], rows[k], strict=True)]
    return True


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("n_axes", "rounds"), [(1, 2), (3, 1), (3, 6), (6, 4)])
def test_no_point_of_a_box_exceeds_its_bound_by_moments(n_axes, rounds, whole, scale):
    rng = np.random.default_rng([n_axes, rounds, whole])
    lists = draw_lists(rng, n_axes, scale, whole=whole)
    centre, radius = rng.integers(-2, 3, n_axes) / 2.0, 2.0 ** -rng.integers(0, 3, n_axes)
    radius[n_axes // 2] = radius[n_axes // 2] * (n_axes < 3)  # a coordinate that is one number
    steps = steps_of(lists, centre, radius, 1e-12 * scale)
    extends = np.flatnonzero(radius > 0)
    scratch, moments = scratch_of(len(steps.values), len(extends) + 1), np.eye(n_axes + 1)
    peak = bound_by_moments(steps, len(lists), extends, (rounds, np.inf, 4.0), -np.inf, moments, scratch)
    u = rng.uniform(-1, 1, (20_000, n_axes))
    u[::2] = np.where(rng.random((10_000, n_axes)) < 0.8, np.sign(u[::2]), np.round(2 * u[::2]) / 2)
    z = np.column_stack([np.ones(len(u)), centre + u * radius])
    reached = np.zeros(len(u))
    for heights, values in lists:  # where rows tie, each of them may win: the one that is worth most
        scores = z @ heights.T
        tied = scores >= scores.max(axis=1, keepdims=True) - 1e-13 * scale
        reached += np.where(tied, values, -np.inf).max(axis=1) - values.min()
    assert reached.max() <= peak < np.inf
    form, place = scratch.best, np.column_stack([np.ones(len(u)), u[:, extends]])
    assert np.all(np.einsum("na,ab,nb->n", place, form.c, place) >= reached - 1e-9)
    room = (peak - form.c[0, 0] - form.d.sum()) / len(form.d)  # what rounding of the factor is allowed
    c = form.c.copy()
    c[0, 0] = 0.0
    exact = [[(Fraction(form.d[i]) + Fraction(room) if i == j else 0) - Fraction(c[i, j]) for j in range(len(c))]
             for i in range(len(c))]  # fmt: skip
    assert room > 0
    assert is_positive_definite(exact)
