"""Largest margins by interior points against HiGHS, and rows that contradict each other against rationals."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from luthier.geometry.lp._interior_kernels import weighed_gram
from luthier.geometry.lp.interior import MarginProgram, contradicting, repaired
from luthier.geometry.lp.rational import cancelling


def largest_margin(rows, leads):
    """Return the largest t with rows·w + leads ≥ t, |w_k| ≤ 1, by HiGHS."""
    m, n = rows.shape
    matrix = np.column_stack([-rows, np.ones(m)])
    return -linprog(np.append(np.zeros(n), -1.0), A_ub=matrix, b_ub=leads, bounds=[(-1, 1)] * n + [(None, None)]).fun


def random_rows(seed, m, n, *, share=1.0, whole=False, towards=0.0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (m, n)) / 2 if whole else rng.uniform(-1, 1, (m, n))
    rows = rows * (rng.random((m, n)) < share) + towards * rng.choice([-1.0, 1.0], n)
    return rows / np.maximum(np.abs(rows).max(), 1e-9)


def contradicting_rows(rows):
    program = MarginProgram(rows.shape[1])
    program.add(sparse.csr_array(rows))
    program.solve(0.5)
    assert program.bound < 1e-9
    return contradicting(program)


SHAPES = [(1, 1), (1, 5), (4, 1), (30, 6), (6, 30), (20, 20), (80, 25), (40, 200)]


@pytest.mark.parametrize("towards", [0.0, 0.3])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_step_has_the_optimum_between_margin_and_bound(shape, whole, towards):
    for seed in range(4):
        rows = random_rows(seed, *shape, share=0.5, whole=whole, towards=towards)
        leads = np.random.default_rng(seed).random(len(rows)) if seed % 2 else np.zeros(len(rows))
        best = largest_margin(rows, leads)
        program = MarginProgram(shape[1])
        program.add(sparse.csr_array(rows), leads)
        for _ in range(60):
            assert program.margin <= best + 1e-9
            assert best <= program.bound + 1e-9
            assert np.all(np.abs(program.weights) < 1 + 1e-9)
            assert np.all(program.multipliers > 0)
            if program.bound - program.margin < 1e-7:
                break
            program.step()
        assert program.bound - program.margin < 1e-7
        assert program.margin == pytest.approx(float((rows @ program.weights + leads).min()), abs=1e-12)


def test_rows_that_join_later_lead_to_the_optimum_of_all():
    rows = random_rows(5, 120, 15, towards=0.3)
    best = largest_margin(rows, np.zeros(120))
    assert best > 0.01
    program = MarginProgram(15)
    for part in np.array_split(rows, 4):
        program.add(sparse.csr_array(part))
        program.solve(0.5)
        assert program.margin >= 0.5 * program.bound
    program.solve(1 - 1e-6)
    assert program.rows.shape == (120, 15)
    assert program.margin == pytest.approx(best, rel=1e-5)


def test_the_matrix_of_the_normal_equations_is_that_of_dense_rows():
    rows = random_rows(1, 12, 7, share=0.4)
    table, x = sparse.csr_array(rows), np.arange(1.0, 13.0)
    out = np.diag(np.full(7, 3.0))
    weighed_gram(table.indptr, table.indices, table.data, x, out)
    np.testing.assert_allclose(out, np.tril(rows.T @ (x[:, None] * rows) + 3.0 * np.eye(7)), atol=1e-12)


@pytest.mark.parametrize(("m", "n"), [(30, 5), (60, 20), (200, 60)])
def test_rows_that_contradict_each_other_are_few_and_cancel(m, n):
    """Random rows in all directions: a corner of the multipliers has n + 1 rows, with one dependence."""
    for seed in range(3):
        rows = random_rows(seed, m, n)
        assert largest_margin(rows, np.zeros(m)) < 1e-9
        few, shares = contradicting_rows(rows)
        assert len(few) == n + 1
        assert np.all(shares > 0)
        assert shares.sum() == pytest.approx(1.0, abs=1e-14)
        assert np.abs(shares @ rows[few]).sum() < 1e-14
        if n <= 20:
            whole = [[int(Fraction(x) * 2**60) for x in row] for row in rows[few].tolist()]
            np.testing.assert_allclose([float(x) for x in cancelling(whole)], shares, rtol=1e-6)


def test_a_small_contradiction_among_many_rows_is_found():
    """Two rows are opposite; nothing else is in the way, and there are more columns than rows."""
    for seed in range(5):
        rows = random_rows(seed, 40, 300, share=0.1)
        rows[31] = -0.5 * rows[7]
        few, shares = contradicting_rows(rows)
        assert few.tolist() == [7, 31]
        np.testing.assert_allclose(shares, [1 / 3, 2 / 3], rtol=1e-9)


def test_rows_that_nearly_have_a_margin_cancel_too():
    """But for one row there is a small margin: with leads the weights would run into the box."""
    for seed in range(5):
        rows = random_rows(seed, 60, 10)
        rows += 1e-5 * np.random.default_rng(seed).random((60, 1)) - rows.mean(axis=1, keepdims=True)
        assert 0 < largest_margin(rows, np.zeros(60)) < 1e-4
        rows[59] = -rows[:59].sum(axis=0) / 59
        few, shares = contradicting_rows(rows)
        assert 59 in few
        assert len(few) <= 11
        assert np.all(shares > 0)
        assert np.abs(shares @ rows[few]).sum() < 1e-13


def test_multipliers_are_repaired_but_stay_positive():
    rows = np.array([[1.0, 0.0], [-0.5, 0.5], [-0.5, -0.5]])
    shares = repaired(sparse.csr_array(rows), np.array([0.32, 0.34, 0.34]))
    np.testing.assert_allclose(shares @ rows, 0, atol=1e-16)
    np.testing.assert_allclose(shares, [1 / 3, 1 / 3, 1 / 3], atol=1e-15)
    apart = repaired(sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([0.5, 0.5]))
    assert np.all(apart > 0)  # these do not cancel: what is nearest is no contradiction, and is not called one
    assert np.abs(apart @ np.eye(2)).sum() > 0.1
