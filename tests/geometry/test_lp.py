"""Small linear programs against the enumeration of all corners, HiGHS and their own proofs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from luthier.core.errors import LuthierError
from luthier.geometry.lp import _facet_kernels, _lp_kernels, lp


def with_box(rows, limits, box):
    d = rows.shape[1]
    return np.vstack([rows, np.eye(d), -np.eye(d)]), np.concatenate([limits, np.full(2 * d, box)])


def solve_exactly(matrix, right):
    """Return the rational solution of a square system, None if it is singular."""
    table = [[Fraction(v) for v in [*row, value]] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(table)):
        pivot = next((r for r in range(k, len(table)) if table[r][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for r in range(len(table)):
            if r != k:
                table[r] = [a - table[r][k] * b for a, b in zip(table[r], table[k], strict=True)]
    return [row[-1] for row in table]


def best_corner(rows, limits, objective, box):
    """Return the optimum over all corners, each computed and tested without rounding; None if there is none."""
    a, b = with_box(rows, limits, box)
    a, b = [[int(v) for v in row] for row in a], [int(v) for v in b]
    best = None
    for chosen in itertools.combinations(range(len(a)), rows.shape[1]):
        x = solve_exactly([a[i] for i in chosen], [b[i] for i in chosen])
        if x is None or any(sum(v * g for v, g in zip(x, row, strict=True)) > t for row, t in zip(a, b, strict=True)):
            continue
        value = sum(v * int(c) for v, c in zip(x, objective, strict=True))
        best = value if best is None else max(best, value)
    return best


def row_of(constraint, rows, limits, box):
    if constraint >= 0:
        return rows[constraint], limits[constraint]
    side = np.zeros(rows.shape[1])
    side[(-1 - constraint) // 2] = 1.0 if (-1 - constraint) % 2 == 0 else -1.0
    return side, box


def check_proof(optima, q, rows, limits, objective, box):
    """The multipliers prove the optimum, or that there is no point at all."""
    total, bound = np.zeros(rows.shape[1]), 0.0
    for constraint, share in zip(optima.active[q].tolist(), optima.multipliers[q].tolist(), strict=True):
        row, limit = row_of(constraint, rows, limits, box)
        assert share >= 0.0
        total, bound = total + share * row, bound + share * limit
    if optima.status[q] == lp.INFEASIBLE:
        np.testing.assert_allclose(total, 0.0, atol=1e-9)
        assert bound < 0.0
    else:
        np.testing.assert_allclose(total, objective, atol=1e-9)
        np.testing.assert_allclose(bound, optima.values[q], atol=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_small_programmes_equal_the_best_of_all_corners(seed):
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(1, 4)), int(rng.integers(0, 6))
    rows = rng.integers(-2, 3, (m, d)).astype(float)  # rows of zeros, parallel and equal rows happen
    limits, box = rng.integers(-2, 4, m).astype(float), float(rng.integers(1, 4))
    objectives = rng.integers(-2, 3, (3, d)).astype(float)
    optima = lp.maximize(rows, limits, objectives, box=box)
    for q, objective in enumerate(objectives):
        best = best_corner(rows, limits, objective, box)
        if best is None:
            assert optima.status[q] == lp.INFEASIBLE
            assert np.isnan(optima.values[q])
        else:
            assert optima.status[q] == lp.OPTIMAL
            assert optima.values[q] == pytest.approx(float(best), abs=1e-9)
            a, b = with_box(rows, limits, box)
            assert (a @ optima.points[q] <= b + 1e-9).all()
        if optima.pivots[q] >= 0:
            check_proof(optima, q, rows, limits, objective, box)


@pytest.mark.parametrize("d, m", [(2, 90), (5, 300), (12, 150), (40, 70)])
def test_larger_programmes_equal_highs(d, m):
    rng = np.random.default_rng(d)
    rows, limits = rng.standard_normal((m, d)) * rng.uniform(0.01, 100.0, (m, 1)), rng.uniform(0.0, 2.0, m)
    objectives = rng.standard_normal((3, d))
    optima = lp.maximize(rows, limits, objectives, box=50.0)
    assert (optima.pivots > 0).all()
    for q, objective in enumerate(objectives):
        theirs = -linprog(-objective, A_ub=rows, b_ub=limits, bounds=(-50.0, 50.0)).fun
        assert optima.values[q] == pytest.approx(theirs, rel=1e-9)
        check_proof(optima, q, rows, limits, objective, 50.0)


def test_rows_met_before_do_not_change_an_optimum():
    rng = np.random.default_rng(3)
    rows, limits = rng.standard_normal((400, 4)), np.ones(400)
    objectives = rng.standard_normal((20, 4))
    together = lp.maximize(rows, limits, objectives, box=10.0)
    alone = [lp.maximize(rows, limits, c, box=10.0).values[0] for c in objectives]
    np.testing.assert_allclose(together.values, alone, rtol=1e-12)


def test_each_unknown_can_have_its_own_box():
    optima = lp.maximize(np.zeros((0, 2)), [], [[1.0, -1.0], [0.0, 2.0]], box=[2.0, 3.0])
    np.testing.assert_allclose(optima.values, [5.0, 6.0])


def test_degenerate_programmes_end():
    """Every row passes through the origin, many are equal, and the objective is a row: all steps are of length 0."""
    rng = np.random.default_rng(5)
    rows = np.repeat(rng.integers(-1, 2, (12, 5)).astype(float), 3, axis=0)
    optima = lp.maximize(rows, np.zeros(len(rows)), rows)
    assert np.abs(optima.values).max() < 1e-12


def test_where_the_kernel_gives_up_highs_answers(monkeypatch):
    rng = np.random.default_rng(7)
    rows, limits, objectives = rng.standard_normal((30, 3)), np.ones(30), rng.standard_normal((4, 3))
    own = lp.maximize(rows, limits, objectives)
    margin = lp.largest_margin(rows[:2])

    def give_up(*arguments):
        arguments[-1].status[:] = lp.GAVE_UP

    monkeypatch.setattr(_lp_kernels, "maximize_many", give_up)
    theirs = lp.maximize(rows, limits, objectives)
    assert (theirs.pivots == -1).all()
    np.testing.assert_allclose(theirs.values, own.values, rtol=1e-7)
    assert lp.maximize([[1.0], [-1.0]], [-1.0, -1.0], [1.0]).status.tolist() == [lp.INFEASIBLE]
    assert lp.largest_margin(rows[:2]).margin == pytest.approx(margin.margin, rel=1e-7)


@pytest.mark.parametrize("seed", range(30))
def test_the_largest_margin_and_its_multipliers(seed):
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(1, 5)), int(rng.integers(1, 12))
    rows = rng.integers(-3, 4, (m, d)).astype(float)
    margin = lp.largest_margin(rows)
    a = np.column_stack([rows, np.ones(m)])
    bounds = [(-1.0, 1.0)] * d + [(None, None)]
    theirs = -linprog(np.eye(d + 1)[d] * -1.0, A_ub=a, b_ub=np.zeros(m), bounds=bounds).fun
    assert margin.margin == pytest.approx(theirs, abs=1e-9)
    assert (rows @ margin.weights <= -margin.margin + 1e-9).all()
    assert (np.abs(margin.weights) <= 1.0 + 1e-9).all()
    assert margin.multipliers.sum() == pytest.approx(1.0)
    assert np.abs(margin.multipliers @ rows[margin.active]).sum() == pytest.approx(margin.margin, abs=1e-9)


def test_rows_that_join_give_the_answer_of_all_rows():
    rng = np.random.default_rng(11)
    rows = rng.standard_normal((150, 4)) * np.geomspace(0.1, 30.0, 150)[:, None]
    rows *= -np.sign(rows @ np.ones(4))[:, None]
    problem = lp.MarginProblem(4)
    for first in range(0, 150, 30):
        problem.add(rows[first : first + 30])
        assert len(problem) == first + 30
        assert problem.solve().margin == pytest.approx(lp.largest_margin(rows[: first + 30]).margin, rel=1e-9)


def test_a_margin_of_normalised_rows_is_a_distance():
    margin = lp.largest_margin([[-5.0, 0.0], [0.0, -0.1]], normalize=True)
    assert margin.margin == pytest.approx(1.0)
    assert lp.largest_margin([[-5.0, 0.0], [0.0, -0.1]]).margin == pytest.approx(0.1)
    assert lp.largest_margin([[-5.0, 0.0], [0.0, 0.0]], normalize=True).margin == pytest.approx(0.0)


def facets_by_brute_force(rows):
    leaders = [
        next(i for i in range(j + 1) if np.linalg.matrix_rank(rows[[i, j]]) == 1 and rows[i] @ rows[j] > 0)
        if rows[j].any()
        else -1
        for j in range(len(rows))
    ]
    distinct = [j for j in range(len(rows)) if leaders[j] == j]
    facets = np.zeros(len(rows), bool)
    for i in distinct:
        others = rows[[j for j in distinct if j != i]]
        result = linprog(-rows[i], A_ub=others, b_ub=np.zeros(len(others)), bounds=(-1.0, 1.0))
        facets[i] = -result.fun > 1e-7
    return leaders, facets


@pytest.mark.parametrize("seed", range(40))
def test_facets_equal_one_programme_for_each_row(seed):
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(1, 5)), int(rng.integers(1, 14))
    inside = rng.integers(-3, 4, d) + rng.uniform(-0.3, 0.3, d)
    rows = rng.integers(-2, 3, (m, d)).astype(float)  # equal, parallel and touching rows, and rows of zeros
    rows[rows @ inside > 0] *= -1.0
    leaders, facets = facets_by_brute_force(rows)
    assert lp.parallel_groups(rows).tolist() == leaders
    assert lp.irredundant(rows, inside).tolist() == facets.tolist()


def test_facets_where_the_kernel_leaves_rows_open(monkeypatch):
    rows = np.array([[-1.0, 0.0], [0.0, -1.0], [-1.0, -1.0]])
    monkeypatch.setattr(_facet_kernels, "find_facets", lambda *arguments: None)
    assert lp.irredundant(rows, [1.0, 1.0]).tolist() == [True, True, False]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: lp.maximize([[1.0, np.nan]], [1.0], [1.0, 0.0]), "expected finite numbers in rows, found nan"),
        (lambda: lp.maximize([[1.0, 0.0]], [1.0, 2.0], [1.0, 0.0]), r"expected rows of shape \(2, 2\)"),
        (lambda: lp.maximize([[1.0, 0.0]], [1.0], [1.0, 0.0], box=np.inf), "a box that is positive and finite"),
        (lambda: lp.irredundant([[1.0, 0.0]], [1.0]), "an interior point of 2 numbers, found 1"),
        (lambda: lp.irredundant([[1.0, 0.0]], [0.0, 1.0]), "rows·w < 0 in every row, found 0 in row 0"),
    ],
)
def test_what_cannot_be_asked(call, message):
    with pytest.raises(LuthierError, match=message):
        call()
