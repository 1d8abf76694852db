"""A forest is checked when it is made: kernels index by it."""

import dataclasses

import numpy as np
import pytest
from small_forests import derivations, edges_of, forest, rule_table

from luthier.core.errors import LuthierError
from luthier.decoding.forests.hypergraph import Hypergraph


def test_pruning_keeps_every_derivation_and_nothing_else():
    rng = np.random.default_rng(0)
    for _ in range(20):
        graph, rules = forest(rng), rule_table(rng)
        graph.check_rules(rules)
        small = graph.pruned()
        _, kept = graph.reachable
        all_of_it = derivations(graph)
        assert [edges_of(d) for d in all_of_it] == [kept[edges_of(d)].tolist() for d in derivations(small)]
        assert set(kept.tolist()) == {e for d in all_of_it for e in edges_of(d)}


def test_the_score_of_an_edge_is_that_of_its_rule_and_of_its_state():
    rng = np.random.default_rng(1)
    graph, rules = forest(rng), rule_table(rng)
    weights = np.array([0.5, -2.0, 3.0])
    scores = graph.edge_scores(rules.rule_scores(weights), weights[2:])
    rows = np.hstack([rules.features.dense[graph.rules], graph.state_features])
    np.testing.assert_allclose(scores, rows @ weights, rtol=1e-12)


def test_a_sentence_without_translation_has_a_forest_without_nodes():
    empty = np.zeros((0, 2), np.int32)
    graph = Hypergraph(np.zeros(1, np.int64), empty, np.zeros(0), np.zeros((0, 1)), np.zeros(0), empty)
    assert graph.pruned().n_nodes == graph.n_edges == 0


SMALL = Hypergraph(
    np.array([0, 1, 2, 3]), np.array([[-1, -1], [-1, -1], [0, 1]]), np.array([0, 1, 7]), np.zeros((3, 1)),
    np.array([0, 0, 2]), np.array([[0, 1], [1, 2], [0, 2]]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tails": np.array([[-1, -1], [-1, -1], [0, 2]])}, "edge 2 of a forest is none"),  # itself
        ({"tails": np.array([[1, -1], [-1, -1], [0, 1]])}, "edge 0 of a forest is none"),  # a later one
        ({"tails": np.array([[-1, -1], [-1, -1], [-2, 1]])}, "edge 2 of a forest is none"),
        ({"tails": np.array([[-1, -1], [-1, -1], [-1, 1]])}, "edge 2 of a forest is none"),  # gap 2 without gap 1
        ({"tails": np.array([[-1, -1], [-1, -1], [1, 0]])}, "edge 2 of a forest is none"),  # not in order
        ({"tails": np.array([[-1, -1], [-1, -1], [0, 0]])}, "edge 2 of a forest is none"),  # one word twice
        ({"rules": np.array([0, -1, 7])}, "edge 1 of a forest is none"),
        ({"spans": np.array([[0, 1], [1, 3], [0, 2]])}, "edge 2 of a forest is none"),
        ({"spans": np.array([[0, 1], [1, 1], [0, 2]])}, "a known label and a span of words"),
        ({"labels": np.array([0, 3, 2])}, "a known label and a span of words"),
        ({"labels": np.array([0, 2])}, "a label and a span for each node"),
        ({"edge_offsets": np.array([0, 2, 2, 3])}, "found a node without"),
        ({"edge_offsets": np.array([0, 2, 1, 3])}, "never descend"),
        ({"edge_offsets": np.array([0, 1, 2, 4])}, "expected offsets from 0 to 3"),
        ({"state_features": np.array([[0.0], [np.nan], [0.0]])}, "expected finite features of edges"),
        ({"state_features": np.zeros((2, 1))}, "found other shapes"),
    ],
)
def test_what_is_no_forest_is_refused(change, message):
    with pytest.raises(LuthierError, match=message):
        dataclasses.replace(SMALL, **change)


def test_the_rules_of_a_forest_must_fit_it():
    table = rule_table(np.random.default_rng(0))
    SMALL.check_rules(table)
    for rules in ([0, 1, 11], [0, 1, 4], [4, 1, 7]):
        with pytest.raises(LuthierError, match="has a rule that is not in its table, or has other gaps"):
            dataclasses.replace(SMALL, rules=np.array(rules)).check_rules(table)
    with pytest.raises(LuthierError, match="expected 1 features of each edge of a forest, found 2"):
        dataclasses.replace(SMALL, state_features=np.zeros((3, 2))).check_rules(table)


@pytest.mark.parametrize(
    ("symbols", "message"),
    [([3], "found others in 0"), ([-3], "in 0"), ([-1, -1], "in 0"), ([-2], "in 0"), ([-1, -2, -2], "in 0")],
)
def test_a_rule_has_words_and_each_gap_once(symbols, message):
    table = rule_table(np.random.default_rng(0))
    with pytest.raises(LuthierError, match=message):
        dataclasses.replace(
            table, target_offsets=np.array([0, len(symbols)]), target_symbols=np.array(symbols),
            features=table.features.take([0]), texts=table.texts.take([0]),
        )  # fmt: skip
