"""Rational arithmetic: Gordan's alternative decided exactly, and proofs that are wrong found out."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from exact_oracles import cancel_by_enumeration
from luthier.geometry.lp.certificates import Infeasible, proves_feasible, proves_infeasible
from luthier.geometry.lp.lp import largest_margin
from luthier.geometry.lp.rational import Cancelled, ExactMargin, Separated, dot, exact_difference, settle


@pytest.mark.parametrize("seed", range(80))
def test_the_alternative_is_settled_as_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    vectors = [v for v in rng.integers(-2, 3, (k, d)).tolist() if any(v)] or [[1] * d]
    outcome = settle(vectors)
    assert isinstance(outcome, Cancelled) == cancel_by_enumeration(vectors)
    if isinstance(outcome, Separated):
        assert all(dot(outcome.weights, vector) < 0 for vector in vectors)
        assert all(abs(w) <= 1 for w in outcome.weights)
    else:
        assert len(outcome.indices) <= d + 1
        assert sum(outcome.multipliers) == 1
        assert all(share > 0 for share in outcome.multipliers)
        pairs = list(zip(outcome.indices, outcome.multipliers, strict=True))
        assert all(sum(share * vectors[j][c] for j, share in pairs) == 0 for c in range(d))


@pytest.mark.parametrize("cancels", [True, False])
def test_many_columns_and_floats_in_full(cancels):
    """Floats with all their digits, in 8 columns: 9 random vectors that do, or do not, surround the origin."""
    rng = np.random.default_rng(8)
    points = rng.standard_normal((9, 8))
    inside = rng.dirichlet(np.ones(9)) @ points  # rounded, but well within the simplex
    outside = points.max(axis=0) + 1.0
    vectors = [exact_difference(p, inside if cancels else outside)[0] for p in points]
    assert isinstance(settle(vectors), Cancelled) == cancels


def test_the_lowest_index_rule_alone_ends_too(monkeypatch):
    import luthier.geometry.lp.rational as rational

    rng = np.random.default_rng(1)
    for _ in range(10):
        vectors = rng.integers(-2, 3, (10, 3)).tolist()
        vectors = [v for v in vectors if any(v)]
        monkeypatch.setattr(rational, "MOST_GREEDY", 300)
        greedy = settle(vectors)
        monkeypatch.setattr(rational, "MOST_GREEDY", 0)
        assert type(settle(vectors)) is type(greedy)


@pytest.mark.parametrize("seed", range(10))
def test_vectors_that_join_give_the_margin_of_all_vectors(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-40, 41, (12, 3)) / 8.0  # exact in floats; each with a scale of its own
    problem, answer = ExactMargin(3), None
    vectors = [exact_difference(row, np.zeros(3)) for row in rows if row.any()]
    for first in range(0, len(vectors), 4):
        problem.add(vectors[first : first + 4])
        answer = problem.solve()
        if isinstance(answer, Cancelled):
            break
        expected = largest_margin([np.array(v, float) * float(s) for v, s in vectors[: first + 4]]).margin
        assert float(answer.margin) == pytest.approx(expected, rel=1e-9)
    if isinstance(answer, Cancelled):
        total = [
            sum(m * vectors[j][1] * vectors[j][0][c] for j, m in zip(answer.indices, answer.multipliers, strict=True))
            for c in range(3)
        ]
        assert (total, sum(answer.multipliers)) == ([0, 0, 0], 1)


def test_differences_are_exact():
    vector, scale = exact_difference(np.array([1e300, 1.0 + 2.0**-52, 5e-324]), np.array([1.0, 1.0, 0.0]))
    assert scale * vector[0] == Fraction(1e300) - 1
    assert scale * vector[1] == Fraction(1, 2**52)
    assert scale * vector[2] == Fraction(5e-324)


def test_wrong_proofs_are_found_out():
    offsets, features = np.array([0, 2, 4]), np.array([[0.0], [1.0], [0.0], [3.0]])
    selection = np.array([0, 3])
    good = Infeasible(
        np.array([0, 1]), np.array([1, 2]), np.array([0.75, 0.25]), (Fraction(3, 4), Fraction(1, 4))
    )  # fmt: skip
    assert proves_infeasible(good, offsets, features, selection)
    wrong = [
        {"exact": (Fraction(1, 2), Fraction(1, 2))},  # they do not cancel
        {"exact": (Fraction(3), Fraction(1))},  # their sum is not 1
        {"exact": (Fraction(-3, 4), Fraction(-1, 4))},  # they are not positive
        {"rows": np.array([1, 1])},  # a row of another list
        {"rows": np.array([0, 2])},  # the selected row itself
    ]
    for change in wrong:
        assert not proves_infeasible(dataclasses.replace(good, **change), offsets, features, selection)
    assert proves_feasible((Fraction(1),), offsets, features, np.array([1, 3]))
    assert not proves_feasible((Fraction(1),), offsets, features, selection)
    assert not proves_feasible((Fraction(0),), offsets, features, np.array([1, 3]))
