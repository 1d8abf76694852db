"""Lazy K-best lists against all derivations of small forests."""

import numpy as np
import pytest
from small_forests import derivations, edges_of, forest, rule_table, words_of

from luthier.core.errors import LuthierError
from luthier.decoding.forests.hypergraph import Hypergraph
from luthier.decoding.lazy_kbest import k_best

WEIGHTS = np.array([1.0, -1.0, 2.0])


def small(seed, **shape):
    rng = np.random.default_rng(seed)
    rules = rule_table(rng, whole=seed % 3 > 0)
    graph = forest(rng, whole=seed % 3 > 0, **shape)
    return graph, rules, graph.edge_scores(rules.rule_scores(WEIGHTS), WEIGHTS[2:])


def parts(result):
    edges = [result.edges[a:b].tolist() for a, b in zip(result.offsets, result.offsets[1:], strict=False)]
    words = [result.words[a:b].tolist() for a, b in zip(result.word_offsets, result.word_offsets[1:], strict=False)]
    return edges, words


def score_of(scores, derivation):
    edge, *below = derivation
    total = scores[edge]
    for part in below:
        total += score_of(scores, part)
    return total


@pytest.mark.parametrize("seed", range(30))
def test_the_list_is_the_beginning_of_a_full_enumeration(seed):
    graph, rules, scores = small(seed, nodes=5 + seed % 6)
    everything = derivations(graph)
    expected = sorted((score_of(scores, d) for d in everything), reverse=True)
    by_edges = {tuple(edges_of(d)): d for d in everything}
    for k in (1, 7, 10**6):
        result = k_best(graph, scores, rules, k)
        edges, words = parts(result)
        assert result.scores.tolist() == expected[:k]
        assert len({tuple(e) for e in edges}) == len(edges) == min(k, len(everything))
        for row, (used, string) in enumerate(zip(edges, words, strict=True)):
            derivation = by_edges[tuple(used)]
            assert score_of(scores, derivation) == result.scores[row]
            assert string == words_of(graph, derivation)


@pytest.mark.parametrize("seed", range(30))
def test_the_unique_list_has_each_string_once_with_its_best_derivation(seed):
    graph, rules, scores = small(seed, nodes=5 + seed % 6)
    best = {}
    for d in derivations(graph):
        string = tuple(words_of(graph, d))
        best[string] = max(best.get(string, -np.inf), score_of(scores, d))
    for k in (1, 5, 10**6):
        result = k_best(graph, scores, rules, k, unique=True)
        edges, words = parts(result)
        assert result.scores.tolist() == sorted(best.values(), reverse=True)[:k]
        assert len({tuple(w) for w in words}) == len(words) == min(k, len(best))
        assert [best[tuple(w)] for w in words] == result.scores.tolist()
        by_edges = {tuple(edges_of(d)): words_of(graph, d) for d in derivations(graph)}
        assert [by_edges[tuple(e)] for e in edges] == words


def test_parents_hang_the_edges_together():
    graph, rules, scores = small(4, nodes=9)
    result = k_best(graph, scores, rules, 20)
    heads = np.repeat(np.arange(graph.n_nodes), np.diff(graph.edge_offsets))
    for a, b in zip(result.offsets, result.offsets[1:], strict=False):
        edges, parents = result.edges[a:b], result.parents[a:b]
        assert parents[0] == -1
        assert heads[edges[0]] == graph.n_nodes - 1
        for edge, parent in zip(edges[1:], parents[1:], strict=True):
            assert heads[edge] in graph.tails[edges[parent]]
        assert [np.sum(parents == i) for i in range(b - a)] == (graph.tails[edges] >= 0).sum(axis=1).tolist()


def test_equal_derivations_come_in_the_order_of_their_edges():
    graph, rules, _ = small(0, nodes=1, edges=1)
    tails, spans = np.full((4, 2), -1), np.array([[0, 1]])
    graph = Hypergraph(np.array([0, 4]), tails, np.array([0, 1, 0, 1]), np.zeros((4, 1)), np.zeros(1), spans)
    assert k_best(graph, np.zeros(4), rules, 9).edges.tolist() == [0, 1, 2, 3]
    assert k_best(graph, np.zeros(4), rules, 9, unique=True).edges.tolist() == [0, 1]


@pytest.mark.compiled  # long in plain Python; `make test-bounds` checks its indices
def test_a_long_chain_needs_no_deep_calls():
    n, rules = 20000, rule_table(np.random.default_rng(0))
    tails = np.full((2 * n, 2), -1)
    tails[2:, 0] = np.repeat(np.arange(n - 1), 2)
    numbers = np.where(tails[:, 0] < 0, 0, 4)
    numbers[-1] = 5
    graph = Hypergraph(
        np.arange(0, 2 * n + 1, 2), tails, numbers, np.zeros((2 * n, 1)), np.zeros(n), np.tile([0, 1], (n, 1))
    )
    result = k_best(graph, np.arange(2.0 * n), rules, 3)
    assert result.scores.tolist() == [n * n, n * n - 1, n * n - 1]
    assert k_best(graph, np.arange(2.0 * n), rules, 5, unique=True).words.tolist() == [0, 0, 0]


def test_what_cannot_be_searched_is_refused():
    graph, rules, scores = small(0)
    with pytest.raises(LuthierError, match="expected to find 1 derivation or more, found 0"):
        k_best(graph, scores, rules, 0)
    for bad in (scores[:-1], np.where(np.arange(len(scores)) == 1, np.nan, scores)):
        with pytest.raises(LuthierError, match="expected a finite score for each of"):
            k_best(graph, bad, rules, 1)


def test_a_forest_without_nodes_has_no_derivation():
    empty = np.zeros((0, 2), np.int32)
    graph = Hypergraph(np.zeros(1, np.int64), empty, np.zeros(0), np.zeros((0, 1)), np.zeros(0), empty)
    assert len(k_best(graph, np.zeros(0), rule_table(np.random.default_rng(0)), 5)) == 0
