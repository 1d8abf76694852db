"""Separability: the figures of the paper, brute force on small constraints, proofs, ties, pairs alike."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts, Tokens
from luthier.features.bins_file import write_bins
from luthier.features.fit_bins import BinOptions, bins_of_pool
from luthier.jobs.separable import separable
from luthier.kbest.derivations import unique_rules
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import save_pool
from luthier.landscape.selections.separability import (
    Constraints,
    conflicting,
    oracle_constraints,
    separability,
    separate,
)
from small_problems import pool_of

pytestmark = pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")  # of few values
SAMPLING = {"draws": 200, "kept": 50, "alpha": 1.0}


def derived_pool(lists):
    """Return a pool of lists of (is better, rules); a rule is {feature: value}, and a hypothesis sums its rules."""
    rows = [row for rows in lists for row in rows]
    names = sorted({name for _, rules in rows for rule in rules for name in rule})
    uses = [rule for _, rules in rows for rule in rules]
    entries = [sorted((names.index(name), value) for name, value in rule.items()) for rule in uses]
    flat = [entry for row in entries for entry in row]
    local = Features(
        tuple(names), np.empty((len(uses), 0)), np.cumsum([0, *map(len, entries)]),
        np.array([c for c, _ in flat], np.int32), np.array([v for _, v in flat], float),
    )  # fmt: skip
    offsets = np.cumsum([0, *(len(rules) for _, rules in rows)])
    sums = [[sum(rule.get(name, 0.0) for rule in rules) for name in names] for _, rules in rows]
    empty = Texts.from_strings(["x"] * len(rows))
    return Pool(
        offsets=np.cumsum([0, *map(len, lists)]),
        features=Features.from_dense(names, np.array(sums, float)),
        sentence_ids=Texts.from_strings([str(s) for s in range(len(lists))]),
        texts=empty,
        tokens=Tokens(np.arange(len(rows) + 1), np.zeros(len(rows), np.int32)),
        vocab=Texts.from_strings(["x"]),
        derivations=unique_rules(offsets, np.arange(len(uses)), Texts.from_strings([str(r) for r in uses]), local),
        columns={"worth": np.array([100.0 if better else 0.0 for better, _ in rows])},
    )


def one(*values):
    return [{"F": value} for value in values]


A, B = {"A": 1.0}, {"B": 1.0}
FIGURES = {
    # who is separable: linear, globally discretised, locally discretised
    4: ([[(True, one(1, 1)), (False, one(2, 2))], [(False, one(2, 2)), (True, one(3, 3))]], (False, True, True)),
    5: ([[(True, one(2, 2)), (False, one(4))]], (False, False, True)),
    6: (
        [
            [(True, [B]), (False, [A, A])],
            [(True, [A, A, B]), (False, [{"A": 0.0}])],
            [(True, [{"B": -4.0}, B, B, B]), (False, [A])],
            [(True, [{"B": -4.0}, A]), (False, [B, B])],
        ],
        (False, None, True),
    ),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_4_to_6(figure):
    lists, expected = FIGURES[figure]
    pool = derived_pool(lists)
    names = list(pool.features.names)
    inductions = {scope: bins_of_pool(pool, names, BinOptions(bins=64), scope=scope) for scope in ("global", "local")}
    models = separable(pool, "column:worth", bins=inductions, seed=0, **SAMPLING).models
    assert [model.name for model in models] == ["as given", "global", "local"]
    for model, wanted in zip(models, expected, strict=True):
        if wanted is not None:
            assert model.pairs.together.separable is wanted
            assert model.oracle.together.separable is wanted
        contradiction = model.pairs.together.contradiction
        if contradiction is not None:
            assert sum(contradiction.exact) == 1
            total = [Fraction(0)] * model.pool.n_features
            for b, w, share in zip(
                contradiction.constraints.better, contradiction.constraints.worse, contradiction.exact, strict=True
            ):
                for d, name in enumerate(model.pool.features.names):
                    column = model.pool.features.column(name)
                    total[d] += share * (Fraction(column[b]) - Fraction(column[w]))
            assert not any(total)
        else:
            margins = model.pool.scores(model.pairs.together.weights)
            assert (margins[model.pairs.constraints.better] > margins[model.pairs.constraints.worse]).all()


@pytest.mark.parametrize("figure", FIGURES)
def test_the_figures_by_a_command(figure, run_cli):
    lists, expected = FIGURES[figure]
    code, out, _ = run_cli("geometry", "separable", "--example", f"figure{figure}", "--json")
    models = json.loads(out)["models"]
    assert code == 0
    assert [model["model"] for model in models] == ["as given", "global bins", "local bins"]
    for model, wanted in zip(models, expected, strict=True):
        assert model["pairs"]["constraints"] == len(lists)
        assert wanted is None or model["pairs"]["separable_together"] is wanted


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--example", "figure7"], "expected an example, figure4, figure5, figure6, found 'figure7'"),
        (["--example", "figure4", "--bins", "b.json"], "an example has bins of its own"),
        ([], "expected a pool or an example, found both or neither"),
    ],
)
def test_examples_that_are_none_are_refused(given, said, run_cli):
    code, _, err = run_cli("geometry", "separable", *given)
    assert code == 2
    assert said in err


def test_figure_4_is_separable_sentence_by_sentence():
    pool = derived_pool(FIGURES[4][0])
    model = separable(pool, "column:worth", seed=0, **SAMPLING).models[0]
    assert model.pairs.alone.tolist() == [True, True]
    assert model.pairs.together.conflicts.tolist() == [True, True]
    assert model.misordered > 0


def by_linprog(differences):
    """Return which constraints are in conflict, one linear program each: can d·w be 1 while none is below 0?"""
    out = []
    for d in differences:
        found = linprog(
            -d, A_ub=np.vstack([-differences, d]), b_ub=[*np.zeros(len(differences)), 1.0], bounds=(None, None)
        )
        out.append(-found.fun < 0.5)
    return out


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
@example(1086, 3, 2)  # a third constraint has a share of 1e-17 in what two others cancel
def test_conflicts_are_those_of_a_programme_for_each_wish(seed, n, d):
    differences = np.random.default_rng(seed).integers(-2, 3, (n, d)).astype(float)
    assert conflicting(differences).tolist() == by_linprog(differences)


def test_wishes_alike_ties_and_no_wishes():
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [3.0, 1.0]])
    lists = np.zeros(2, np.int64)
    found = separate(rows, Constraints(np.array([0, 3]), np.array([1, 2]), lists))
    assert not found.separable
    assert found.contradiction.exact == (Fraction(1),)
    assert found.conflicts.tolist() == [True, False]
    empty = np.zeros(0, np.int64)
    assert separate(rows, Constraints(empty, empty, empty)).separable
    pool = pool_of([[[0.0], [1.0], [2.0]], [[1.0]], [[5.0], [5.0]]], [[1, 9, 9], [4], [1, 1]])
    constraints = oracle_constraints(pool, pool.columns["worth"])
    assert list(zip(constraints.better.tolist(), constraints.worse.tolist(), strict=True)) == [(1, 0)]
    report = separability(pool, constraints)
    assert report.alone.all()
    assert report.together.separable


def test_of_several_best_ones_that_is_taken_which_can_win():
    # rows 0 and 2 are best; 1, which is worse, lies beyond 0 in the only feature that counts
    pool = pool_of([[[0.0, 0.0], [1.0, 1.0], [0.0, 5.0], [-1.0, -1.0]]], [[9, 1, 9, 1]])
    constraints = oracle_constraints(pool, pool.columns["worth"])
    assert set(constraints.better.tolist()) == {2}


def test_too_many_features_are_refused():
    pool = pool_of([np.eye(201)], [np.arange(201)])
    with pytest.raises(LuthierError, match="at most 200 features"):
        separability(pool, oracle_constraints(pool, pool.columns["worth"]))


def test_the_command(run_cli, tmp_path):
    pool = derived_pool(FIGURES[5][0])
    save_pool(pool, tmp_path / "p.arrow")
    write_bins(bins_of_pool(pool, ["F"]), tmp_path / "b.json")
    arguments = (
        "geometry",
        "separable",
        tmp_path / "p.arrow",
        "--bins",
        tmp_path / "b.json",
        "--metric",
        "column:worth",
    )
    code, out, _ = run_cli(*arguments, "--json")
    models = json.loads(out)["models"]
    assert code == 0
    assert [model["pairs"]["separable_together"] for model in models] == [False, True]
    assert models[0]["pairs"]["contradiction"][0]["exact_multiplier"] == "1"
    assert models[0]["pairs"]["share_in_conflict_together"] == 1.0
    code, out, _ = run_cli(*arguments)
    assert code == 0
    assert "not separable" in out
    assert run_cli(*arguments, "--kept", "0")[0] != 0


def test_features_whose_squares_are_no_numbers_are_refused():
    pool = pool_of([np.array([[1e300, 1.0], [-1e300, 2.0]])], [[50.0, 10.0]])
    with pytest.raises(LuthierError, match=r"features of at most 1e\+150, found 1e\+300"):
        separable(pool, "column:worth")
    small = pool_of([np.array([[1e12, 1e-12], [-1e12, 2e-12]])], [[50.0, 10.0]])
    assert separable(small, "column:worth").models[0].pairs.together.separable


def test_one_pair_is_not_several(run_cli):
    out = run_cli("geometry", "separable", "--example", "figure5")[1]
    assert out.count("a pair that no weights tell apart") == 2
