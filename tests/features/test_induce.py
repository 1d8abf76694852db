"""Induction: the paper's figures, every value counted, and the same vectors by all ways."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import pool_of, rule_features, vectors

from luthier.core.errors import LuthierError
from luthier.core.plugins import available
from luthier.features.bins import Bins, bin_feature
from luthier.features.counts import TARGET_WORDS, count_values
from luthier.features.fit_bins import BinOptions, bins_of_pool
from luthier.features.induction import NONE, PACKAGE, induce_features, induce_pool, load_induction

pytestmark = pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")  # of few values


def test_figure_3():
    rules = [{"TM": 0.1}, {"TM": 0.2, "Count": 2}, {"TM": 0.1}]
    pool = pool_of([[rules]])
    induced = induce_pool(pool, bins_of_pool(pool, ["TM", "Count"]))
    assert vectors(induced.features) == [{"TM_0.1": 2, "TM_0.2": 1, "Count_2": 1}]
    assert [(group.name, group.columns) for group in induced.features.groups] == [
        ("TM", ("TM_0.1", "TM_0.2")),
        ("Count", ("Count_2",)),
    ]
    assert induced.derivations.features.names == ("TM", "Count")  # rules keep their own
    assert induced.provenance["operations"][-1]["operation"] == "induce"


def hypotheses(*rows):
    """Return a pool of one list; a hypothesis is a list of (feature, value) rules."""
    return pool_of([[[{name: value} for name, value in row] for row in rows]])


@pytest.mark.parametrize(
    ("rows", "scope", "expected"),
    [
        # Figure 4: both ways of binning tell the four apart
        ([[("H", 1.0)] * 2, [("H", 2.0)] * 2, [("H", 3.0)] * 2], "local", [{"H_1": 2}, {"H_2": 2}, {"H_3": 2}]),
        ([[("H", 1.0)] * 2, [("H", 2.0)] * 2, [("H", 3.0)] * 2], "global", [{"H_2": 1}, {"H_4": 1}, {"H_6": 1}]),
        # Figure 5: whole hypotheses are alike, their rules are not
        ([[("H", 2.0)] * 2, [("H", 4.0)]], "local", [{"H_2": 2}, {"H_4": 1}]),
        ([[("H", 2.0)] * 2, [("H", 4.0)]], "global", [{"H_4": 1}, {"H_4": 1}]),
        # Figure 6; a rule with A = 0 fires the bin of 0
        (
            [
                [("B", 1)], [("A", 1), ("A", 1)], [("A", 1), ("A", 1), ("B", 1)], [("A", 0)],
                [("B", -4), ("B", 1), ("B", 1), ("B", 1)], [("A", 1)], [("B", -4), ("A", 1)], [("B", 1), ("B", 1)],
            ],
            "local",
            [
                {"B_1": 1}, {"A_1": 2}, {"A_1": 2, "B_1": 1}, {"A_0": 1}, {"B_-4": 1, "B_1": 3}, {"A_1": 1},
                {"B_-4": 1, "A_1": 1}, {"B_1": 2},
            ],
        ),
    ],
)  # fmt: skip
def test_figures_4_to_6(rows, scope, expected):
    pool = hypotheses(*rows)
    bins = bins_of_pool(pool, list(pool.features.names), scope=scope)
    assert vectors(induce_pool(pool, bins).features) == expected


RULE = st.fixed_dictionaries(
    {}, optional={"p": st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0]), "c": st.sampled_from([1.0, 2.0, 7.0, 1e6])}
)
LISTS = st.lists(st.lists(st.lists(RULE, max_size=4), max_size=3), min_size=1, max_size=3).filter(
    lambda lists: {name for rows in lists for row in rows for rule in row for name in rule} == {"p", "c"}
)


@settings(max_examples=60)
@given(LISTS, st.integers(1, 4), st.sampled_from(sorted(available(PACKAGE))), st.booleans())
def test_a_hypothesis_sums_what_its_rules_fire(lists, n_bins, induction, by_use):
    pool = pool_of(lists)
    options = BinOptions(bins=n_bins, induction=induction, keep=["c"])
    bins = bins_of_pool(pool, ["p", "c"], options, by_use=by_use)
    method, found = load_induction(induction), vectors(induce_pool(pool, bins).features)
    for row, vector in zip([row for rows in lists for row in rows], found, strict=True):
        expected = {"c": sum(rule.get("c", 0.0) for rule in row)}
        for rule, feature in itertools.product(row, bins.features):
            if feature.feature in rule:
                columns, shares = method.fire(np.array([rule[feature.feature]]), feature)
                for column, share in zip(columns[0].tolist(), shares[0].tolist(), strict=True):
                    if column != NONE:
                        name = feature.names[column]
                        expected[name] = expected.get(name, 0.0) + share
        assert vector == pytest.approx({name: value for name, value in expected.items() if value})
    total = sum(
        len({(i, frozenset(rule.items())) for row in rows for rule in row if "p" in rule})
        if not by_use
        else sum("p" in rule for row in rows for rule in row)
        for i, rows in enumerate(lists)
    )
    assert bins.features[0].populations.sum() == total


@settings(max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.integers(1, 6))
def test_overlap_is_counted_on_every_value(values, n_bins):
    bins = bin_feature("f", count_values(np.array(values, dtype=np.float64)), n_bins)
    fired = load_induction("overlapping").fire(np.array(values, dtype=np.float64), bins)
    own = load_induction("indicator").fire(np.array(values, dtype=np.float64), bins).bins[:, 0]
    for k, row in zip(own.tolist(), fired.bins.tolist(), strict=True):
        assert [column for column in row if column != NONE] == [j for j in (k - 1, k, k + 1) if 0 <= j < len(bins)]
    assert (fired.values == 1).all()


def test_hats_share_a_value_between_two_means():
    bins = bin_feature("f", count_values(np.array([0.0, 1.0, 3.0])), 3)
    columns, shares = load_induction("hat").fire(np.array([-1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 9.0]), bins)
    table = [
        {c: s for c, s in zip(row, share, strict=True) if c != NONE}
        for row, share in zip(columns.tolist(), shares.tolist(), strict=True)
    ]
    assert table == [{0: 1}, {0: 1}, {0: 0.75, 1: 0.25}, {1: 1}, {1: 0.5, 2: 0.5}, {2: 1}, {2: 1}]
    # weights that are linear in the means give the line itself between them
    weights = 2 * bins.means + 1
    assert sum(weights[c] * s for c, s in table[4].items()) == 5.0
    one = bin_feature("f", count_values(np.array([2.0])), 4)
    assert load_induction("hat").fire(np.array([1.0, 2.0, 5.0]), one).bins.tolist() == [[0, NONE]] * 3


def test_a_table_keeps_its_order_costs_and_groups():
    table = rule_features([{"a": 1, "p": 0.5, "z": 3}, {}, {"p": 0.25, "z": 0}]).call_costs(["z"])
    pool = pool_of([[[{"p": 0.5}, {"p": 0.25}]]])
    bins = bins_of_pool(pool, ["p"], BinOptions(keep=["p"]))
    induced = induce_features(table, bins)
    assert induced.names == ("a", "p", "z", "p_0.25", "p_0.5")
    assert vectors(induced) == [{"a": 1, "p": 0.5, "z": 3, "p_0.5": 1}, {}, {"p": 0.25, "p_0.25": 1}]
    assert induced.costs == {"z"}
    with pytest.raises(LuthierError, match=r"found 'p_0\.25'\. hint: were they induced before\?"):
        induce_features(induced, bins)
    dropped = induce_features(
        table, dataclasses.replace(bins, features=(dataclasses.replace(bins.features[0], keep=False),))
    )
    assert dropped.names == ("a", "z", "p_0.25", "p_0.5")


def test_target_words_are_counted_where_no_column_has_them():
    rules = [
        ("[X] ||| a [X,1] ||| b [X,1] c", {"p": 1}),
        ("[X] ||| x ||| x", {"PassThrough": 1}),
        ("[S] ||| [S,1] [X,2] ||| [S,1] [X,2]", {"Glue": 1}),
        ("[X] ||| b ||| [a] b", {"p": 1}),
        ("[X] ||| b ||| ", {"p": 1}),
        ("something else", {"p": 2}),
    ]
    pool = pool_of([[rules]])
    bins = bins_of_pool(pool, [TARGET_WORDS])
    assert [(name, n) for name, n in zip(bins.names, bins.features[0].populations.tolist(), strict=True)] == [
        ("TargetWords_0", 1),
        ("TargetWords_2", 2),
    ]
    found = vectors(induce_pool(pool, bins).features)[0]
    assert (found["TargetWords_0"], found["TargetWords_2"], found["p"]) == (1, 2, 5)
    given_column = pool_of([[[("[X] ||| a ||| b", {TARGET_WORDS: 7})]]])
    assert bins_of_pool(given_column, [TARGET_WORDS]).names == ("TargetWords_7",)


def test_what_does_not_fit_is_said():
    pool = pool_of([[[{"p": 0.5}]]])
    bins = bins_of_pool(pool, ["p"])
    with pytest.raises(LuthierError, match="the bins are of another table: no feature is called 'p'"):
        induce_pool(pool_of([[[{"q": 1}]]]), bins)
    with pytest.raises(LuthierError, match="expected a pool that carries derivations"):
        induce_pool(dataclasses.replace(pool, derivations=None), bins)
    with pytest.raises(LuthierError, match="expected a pool that carries derivations"):
        bins_of_pool(dataclasses.replace(pool, derivations=None), ["p"])
    with pytest.raises(LuthierError, match="no feature is called 'q'"):
        bins_of_pool(pool, ["q"])
    with pytest.raises(LuthierError, match="among those to keep or to count, found 'q'"):
        bins_of_pool(pool, ["p"], BinOptions(keep=["q"]))
    with pytest.raises(LuthierError, match="from 1 to 65536 bins for a feature, found 0"):
        BinOptions(numbers={"p": 0})
    with pytest.raises(LuthierError, match="there is no 'steps' among the methods"):
        BinOptions(induction="steps")


def test_names_of_bins():
    pool = pool_of([[[{"A": v, "A_1": w} for v, w in ((1, 5), (2, 2), (2, 9), (3, 5))]]])
    bins = bins_of_pool(pool, ["A", "A_1"], BinOptions(bins=2, numbers={"A_1": 3}))
    assert bins.names == ("A_1~2", "A_2_3", "A_1_2", "A_1_5", "A_1_9")  # A_1 is the name of a feature
    near = bins_of_pool(pool_of([[[{"v": 1.00000001}, {"v": 1.00000002}, {"v": 5}]]]), ["v"])
    assert near.names == ("v_1.00000001", "v_1.00000002", "v_5")
    twice = [bins.features[1], dataclasses.replace(bins.features[1], feature="B")]
    with pytest.raises(LuthierError, match="found 'A_1_2' of 'A_1' and of 'B'"):
        Bins(tuple(twice))
    with pytest.raises(LuthierError, match="found those of 'A_1' twice"):
        Bins((bins.features[1],) * 2)


def test_a_constant_feature_has_one_bin_and_it_is_said():
    pool = pool_of([[[{"p": 0.5}, {"p": 0.5}]]])
    with pytest.warns(UserWarning, match="'p' is constant, 0.5: one bin, which counts rules"):
        bins = bins_of_pool(pool, ["p"])
    assert bins.names == ("p_0.5",)
