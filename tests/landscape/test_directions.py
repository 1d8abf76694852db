"""Few directions of many features, and selections of many features: against plain arithmetic and exact proofs."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from luthier.core.errors import LuthierError
from luthier.geometry.lp.certificates import Feasible, Infeasible, proves_feasible, proves_infeasible
from luthier.kbest.groups import FeatureGroup
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections import sparse_feasibility as sparse_feasibility_module
from luthier.landscape.selections.feasibility import Choice, judge
from luthier.landscape.selections.sparse_feasibility import lists_followed, sparse_feasibility, weights_that_select
from luthier.landscape.subspaces import directions_along, leading_differences, random_sums, sums_of_groups
from small_problems import pool_of, random_problem


def grouped(seed):
    """Return a problem of five features, of which three are the bins of one, and a start that weighs these alike."""
    problem = random_problem(seed, sentences=6, k=7, features=5)
    names = problem.names
    features = problem.pool.features.group((FeatureGroup("bins", names[2:]),))
    start = np.array([1.0, -0.5, 0.25, 0.25, 0.25])
    return ListProblem(problem.pool.with_features(features), problem.metric, problem.stats, problem.bounds), start


def made(kind, problem, start):
    if kind == "sums":
        return sums_of_groups(problem, start, problem.groups)
    if kind == "random":
        return random_sums(problem, start, 3, np.random.default_rng(4))
    return leading_differences(problem, start, 3)


@pytest.mark.parametrize("kind", ["sums", "random", "leading"])
def test_a_place_among_directions_selects_what_its_weights_select(kind):
    problem, start = grouped(1)
    few = made(kind, problem, start)
    seen = few.seen_from(problem)
    np.testing.assert_allclose(few.weights(few.start), start, atol=1e-15)
    assert seen.gain(few.start) == problem.gain(start)
    rng = np.random.default_rng(2)
    for place in rng.standard_normal((20, len(few.start))):
        assert np.array_equal(seen.select(place), problem.select(few.weights(place)))


@pytest.mark.parametrize(
    ("axes", "count"), [(["sums"], 3), (["random:2"], 3), (["leading:2", "f0"], 4), (["f1", "FILE"], 3), (["f2"], 2)]
)
def test_directions_by_their_names_hold_the_start_and_select_what_their_weights_select(tmp_path, axes, count):
    problem, start = grouped(1)
    (tmp_path / "file.txt").write_text("f3 1\nf4 -2\n")
    named = [str(tmp_path / "file.txt") if axis == "FILE" else axis for axis in axes]
    few = directions_along(problem, start, named, np.random.default_rng(4))
    assert few.matrix.shape == (count, 5)
    np.testing.assert_allclose(few.weights(few.start), start, atol=1e-12)
    seen = few.seen_from(problem)
    for place in np.random.default_rng(2).standard_normal((20, count)):
        assert np.array_equal(seen.select(place), problem.select(few.weights(place)))


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (["f0", "f0"], "axes that are independent"),
        (["leading:6"], "leading:N with N from 1 to 5"),
        (["random:0"], "random:N with N from 1 to 5"),
        (["leading"], "neither a feature nor a file"),
        (["sums:2"], "neither a feature nor a file"),
        (["ZERO"], "axes that are independent"),
    ],
)
def test_directions_that_are_none_are_refused(tmp_path, axes, words):
    problem, start = grouped(1)
    (tmp_path / "zero.txt").write_text("f3 0\n")
    named = [str(tmp_path / "zero.txt") if axis == "ZERO" else axis for axis in axes]
    with pytest.raises(LuthierError, match=words):
        directions_along(problem, start, named, np.random.default_rng(4))


def test_sums_add_the_columns_of_a_group():
    problem, start = grouped(3)
    few = sums_of_groups(problem, start, problem.groups)
    table = problem.pool.features.dense
    assert few.names == (*problem.names[:2], "sum of bins")
    wanted = np.column_stack([table[:, :2], table[:, 2:].sum(axis=1)])
    np.testing.assert_allclose(few.seen_from(problem).pool.features.dense, wanted, atol=1e-12)


def test_leading_directions_are_those_of_a_plain_decomposition():
    problem, start = grouped(5)
    few = leading_differences(problem, start, 2)
    table = problem.pool.features.dense / problem.spread
    parts = [table[a:b] - table[a:b].mean(axis=0) for a, b in zip(problem.offsets, problem.offsets[1:], strict=False)]
    wanted = np.linalg.svd(np.concatenate(parts))[2][:2]
    found = few.matrix[1:] * problem.spread
    np.testing.assert_allclose(np.abs(np.sum(found * wanted, axis=1)), 1.0, atol=1e-9)
    assert len(leading_differences(problem, start, 99).matrix) == 1 + 5  # as many as there are


def test_many_weights_select_where_exact_proofs_say_that_some_do():
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        lists, size, columns = (int(n) for n in rng.integers([1, 1, 1], [5, 6, 6]))
        table = [rng.integers(-2, 3, (size, columns)).astype(float) for _ in range(lists)]  # ties, repeated rows
        pool = pool_of(table, [np.zeros(size)] * lists)
        rows = pool.offsets[:-1] + rng.integers(0, size, lists)
        weights = weights_that_select(pool, rows)
        proof = judge(pool, Choice("drawn", rows)).proof
        assert (weights is not None) == isinstance(proof, Feasible)
        found.append(weights is not None)
        followed = lists_followed(pool, rows)
        assert np.all(followed) == (weights is not None)
        some = np.where(followed, rows, -1)  # what was found is possible
        assert isinstance(judge(pool, Choice("some", some)).proof, Feasible)
        if weights is not None:
            scores = pool.features.dense @ weights
            for row, a, b in zip(rows, pool.offsets, pool.offsets[1:], strict=False):
                others = np.any(pool.features.dense[a:b] != pool.features.dense[row], axis=1)
                assert np.all(scores[a:b][others] < scores[row])
    assert 5 < sum(found) < 55


def feasible_in_many(seed, lists=8, k=10, columns=300, planted=True):
    """Return sparse lists over more features than exact programs take, and rows that some weights select, or not."""
    rng = np.random.default_rng(seed)
    truth, tables, rows = rng.normal(size=columns), [], []
    for s in range(lists):
        table = rng.integers(-1, 2, (k, columns)) * (rng.random((k, columns)) < 0.1)
        tables.append(table.astype(float))
        rows.append(s * k + int(np.argmax(table @ truth)) if planted else s * k)
    if not planted:  # the wanted row of list 0 is between two others; nothing else is in the way
        tables[0][0] = (tables[0][1] + 3 * tables[0][2]) / 4
    return pool_of(tables, [np.zeros(k)] * lists), np.array(rows)


def test_with_many_features_both_answers_are_proven(monkeypatch):
    for seed in range(4):
        pool, rows = feasible_in_many(seed)
        verdict = judge(pool, Choice("planted", rows))
        assert isinstance(verdict.proof, Feasible)
        assert verdict.selects
        assert proves_feasible(verdict.proof.exact, pool.offsets, pool.features.dense, rows)
        pool, rows = feasible_in_many(seed, planted=False)
        verdict = judge(pool, Choice("between", rows))
        assert isinstance(verdict.proof, Infeasible)
        assert verdict.proof.epsilon == 0.0
        assert proves_infeasible(verdict.proof, pool.offsets, pool.features.dense, rows)
        assert verdict.proof.lists.tolist() == [0, 0]
        assert sorted(verdict.proof.exact) == [Fraction(1, 4), Fraction(3, 4)]
        # where exact multipliers are not looked for, the sum of the rounded ones is bounded without rounding
        monkeypatch.setattr(sparse_feasibility_module, "MOST_EXACT", 0)
        rough = judge(pool, Choice("between", rows)).proof
        monkeypatch.undo()
        h, scale = pool.features.dense, np.abs(pool.features.dense[rows[np.arange(80) // 10]] - pool.features.dense)
        shares = list(zip(rough.rows, rough.exact, strict=True))
        total = [sum(share * (Fraction(h[0, c]) - Fraction(h[j, c])) for j, share in shares) for c in range(300)]
        size = sum(abs(x) / Fraction(m) for x, m in zip(total, scale.max(axis=0).tolist(), strict=True) if m)
        assert sum(rough.exact) == 1
        assert size <= Fraction(rough.epsilon)
        assert rough.epsilon <= 1e-6


def test_verdicts_near_the_threshold_are_those_of_one_program_over_all_rows():
    """Rows at random: the more lists, the less is feasible; in between margins are small."""
    rng, found = np.random.default_rng(8), []
    tables = [rng.integers(-2, 3, (20, 60)) * (rng.random((20, 60)) < 0.3) for _ in range(30)]
    for n in range(14, 31, 2):
        pool = pool_of(tables[:n], [np.zeros(20)] * n)
        rows = np.arange(n) * 20
        differences = np.concatenate([table[:1] - table[1:] for table in tables[:n]])
        best = linprog(
            np.append(np.zeros(60), -1.0),
            A_ub=np.column_stack([-differences, np.ones(len(differences))]),
            b_ub=np.zeros(len(differences)),
            bounds=[(-1, 1)] * 60 + [(None, None)],
        )
        proof = sparse_feasibility(pool, rows)
        assert isinstance(proof, Feasible) == (-best.fun > 1e-9), (n, best.fun)
        found.append(isinstance(proof, Feasible))
        if isinstance(proof, Feasible):
            assert proves_feasible(proof.exact, pool.offsets, pool.features.dense, rows)
        else:
            assert proof.epsilon == 0.0
            assert len(proof.rows) <= 61
            assert proves_infeasible(proof, pool.offsets, pool.features.dense, rows)
    assert 2 <= sum(found) <= len(found) - 2


def test_a_list_without_a_choice_asks_for_nothing():
    pool, rows = feasible_in_many(1, planted=False)
    rows[0] = -1
    assert isinstance(judge(pool, Choice("all but one", rows)).proof, Feasible)


def test_a_column_that_differs_by_rounding_alone_is_weighed_exactly():
    drawn = np.random.default_rng(3)
    for _ in range(20):
        table = np.column_stack([drawn.integers(-2, 3, (8, 2)), -24.0 + drawn.integers(0, 2, 8) * 2.0**-48])
        pool, rows = pool_of([table], [np.zeros(8)]), drawn.integers(0, 8, 1)
        found, proof = sparse_feasibility(pool, rows), judge(pool, Choice("drawn", rows)).proof
        assert type(found) is type(proof)
        if isinstance(found, Feasible):
            assert proves_feasible(found.exact, pool.offsets, pool.features.dense, rows)
            assert found.margin > 0
