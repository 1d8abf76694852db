"""Small linear programs with columns from 1e-12 to 1e12: judged in rational arithmetic, not by another solver."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from test_lp import solve_exactly

from luthier.core.errors import LuthierError
from luthier.geometry.lp import lp
from luthier.geometry.lp.scales import column_scales

pytestmark = pytest.mark.compiled
N = 280


def instances(seed, boxes):
    """Yield rows, limits, objective and box, whole numbers times the scales of columns."""
    rng = np.random.default_rng(seed)
    while True:
        d, m = int(rng.integers(2, 4)), int(rng.integers(3, 8))
        rows, limits = rng.integers(-5, 6, (m, d)).astype(float), rng.integers(-2, 10, m).astype(float)
        objective, scales = rng.integers(-5, 6, d).astype(float), 10.0 ** rng.choice([-12, 0, 12], d)
        if np.abs(rows).sum(axis=1).all():
            yield rows * scales, limits, objective * scales, 100.0 / scales if boxes == "scaled" else np.ones(d)


def exact_optimum(rows, limits, objective, box):
    """Return the optimum over all corners in rational arithmetic; None if no point meets the rows."""
    d = rows.shape[1]
    a = [[Fraction(v) for v in row] for row in np.vstack([rows, np.eye(d), -np.eye(d)]).tolist()]
    b = [Fraction(v) for v in [*limits.tolist(), *box.tolist(), *box.tolist()]]
    goal, best = [Fraction(v) for v in objective.tolist()], None
    for chosen in itertools.combinations(range(len(a)), d):
        x = solve_exactly([a[i] for i in chosen], [b[i] for i in chosen])
        if x is None or any(sum(v * g for v, g in zip(x, row, strict=True)) > t for row, t in zip(a, b, strict=True)):
            continue
        value = sum(v * g for v, g in zip(x, goal, strict=True))
        best = value if best is None else max(best, value)
    return best


def is_near(rows, limits, point):
    """Return whether a point is beyond no row by more than a ten-millionth, in columns of one size."""
    sizes = np.abs(rows).max(axis=0)
    scales = np.where(sizes > 0, sizes, 1.0)
    beyond = rows / scales @ (point * scales) - limits
    return bool((beyond <= 1e-6 * np.maximum(1.0, np.abs(limits))).all())


@pytest.mark.slow
@pytest.mark.parametrize("boxes", ["scaled", "ones"])
def test_columns_of_any_scale(boxes):
    source, alone, refused = instances(1, boxes), 0, 0
    for _ in range(N):
        rows, limits, objective, box = next(source)
        exact = exact_optimum(rows, limits, objective, box)
        try:
            found = lp.maximize(rows, limits, objective, box=box)
        except LuthierError:  # said, and not answered by a guess
            refused += 1
            continue
        if exact is None:  # no point meets the rows, or one does but for rounding
            assert found.status[0] == lp.INFEASIBLE or is_near(rows, limits, found.points[0])
            continue
        reach = float(np.abs(objective) @ box) if boxes == "scaled" else max(1.0, abs(float(exact)))
        assert found.values[0] == pytest.approx(float(exact), abs=1e-6 * reach)
        other = linprog(-objective, A_ub=rows, b_ub=limits, bounds=np.column_stack([-box, box]), method="highs")
        alone += other.status != 0 or abs(-other.fun - float(exact)) > 1e-6 * reach
    assert refused <= (0 if boxes == "scaled" else N // 50)
    assert alone > 0 or boxes == "ones"  # where HiGHS itself is another judge than the arithmetic


def test_columns_of_like_sizes_are_left_as_they_are():
    assert column_scales(np.array([[1.0, 100.0], [3.0, 0.0]])) is None
    assert column_scales(np.zeros((3, 2))) is None
    scales = column_scales(np.array([[1e12, 1.0, 0.0]]))
    assert np.log2(scales).tolist() == [-40.0, 0.0, -39.0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9, 1e12])
def test_limits_that_are_tiny_beside_the_box(scale):
    """Rows of one size, whose limits lie below what counts as rounding in a box of 1: the point broke the fourth."""
    rows = [[2, 0, 3], [4, -5, -5], [4, -1, -5], [-2, 1, 5], [-1, -1, -4], [-4, 1, 0]]
    rows, limits, objective = (
        scale * np.array(rows, float),
        [-1.0, 4.0, -2.0, 2.0, 6.0, 4.0],
        scale * np.array([4.0, 4, -1]),
    )
    found = lp.maximize(rows, limits, objective, box=np.full(3, 1e4 / scale if scale < 1e9 else 1.0))
    assert found.values[0] == pytest.approx(16.4)
    assert (rows @ found.points[0] <= np.array(limits) + 1e-6).all()
    assert found.multipliers[0] @ np.array([*limits, 0])[np.maximum(found.active[0], -1)] == pytest.approx(16.4)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_multipliers_prove_the_optimum_in_the_units_of_the_caller(scale):
    rows, box = np.array([[scale, 1.0], [-scale, 1.0]]), np.array([3.0 / scale, 2.0])
    found = lp.maximize(rows, [2.0, 4.0], [scale, 0.0], box=box)
    total = np.zeros(2)
    for constraint, share in zip(found.active[0].tolist(), found.multipliers[0].tolist(), strict=True):
        side = np.zeros(2)
        if constraint < 0:
            side[(-1 - constraint) // 2] = 1.0 if (-1 - constraint) % 2 == 0 else -1.0
        total += share * (rows[constraint] if constraint >= 0 else side)
    assert total / [scale, 1.0] == pytest.approx([1.0, 0.0])
    assert found.values[0] == pytest.approx(3.0)
