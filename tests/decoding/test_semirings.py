"""Every value of a forest is that of an enumeration of its derivations."""

import numpy as np
import pytest
from semirings import Best, Count, Envelope, KBest
from small_forests import derivations, edges_of, forest, rule_table

from luthier.core.errors import LuthierError
from luthier.decoding.forests.expectation import Expectation, Semiring, value_of
from luthier.decoding.forests.hypergraph import Hypergraph
from luthier.decoding.forests.lines import ForestLines
from luthier.decoding.lazy_kbest import k_best

SEEDS = pytest.mark.parametrize("seed", range(12))


def small(seed):
    rng = np.random.default_rng(seed)
    graph = forest(rng, nodes=4 + seed % 7)
    return rng, graph, [edges_of(d) for d in derivations(graph)]


@SEEDS
def test_best_and_k_best_and_count(seed):
    rng, graph, everything = small(seed)
    scores = rng.integers(-3, 4, size=graph.n_edges).astype(float)
    totals = sorted(((scores[edges].sum(), tuple(edges)) for edges in everything), key=lambda d: -d[0])
    assert value_of(graph, Count()) == len(everything)
    assert value_of(graph, Best(scores)) == totals[0]
    found = value_of(graph, KBest(scores, 6))
    assert [score for score, _ in found] == [score for score, _ in totals[:6]]
    assert len(set(found)) == len(found)
    assert set(found) <= set(totals)
    lazy = k_best(graph, scores, rule_table(rng), 6)
    assert lazy.scores.tolist() == [score for score, _ in found]


@SEEDS
def test_the_envelope_is_what_the_kernel_of_line_searches_finds(seed):
    rng, graph, everything = small(seed)
    rules = rule_table(rng)
    start, direction = rng.integers(-2, 3, size=(2, 3)).astype(float)
    a, b = (graph.edge_scores(rules.rule_scores(w), w[2:]) for w in (start, direction))
    lines = value_of(graph, Envelope(a, b))
    (found,) = ForestLines([graph], rules).envelopes(start, direction[None])
    assert found.breakpoints.tolist() == [line.start for line in lines[1:]]
    for line, stop in zip(lines, [*(line.start for line in lines[1:]), np.inf], strict=True):
        t = np.clip((max(line.start, -1e3) + min(stop, 1e3)) / 2, -1e3, 1e3)
        assert list(line.edges) in everything
        assert line.intercept + t * line.slope >= max(a[e].sum() + t * b[e].sum() for e in everything) - 1e-9


@SEEDS
@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
def test_means_and_variances(seed, scale):
    rng, graph, everything = small(seed)
    scores, numbers = scale * rng.normal(size=graph.n_edges), rng.normal(size=(graph.n_edges, 2))
    totals = np.array([scores[edges].sum() for edges in everything])
    sums = np.array([numbers[edges].sum(axis=0) for edges in everything])
    chances = np.exp(totals - totals.max())
    chances /= chances.sum()
    mean = chances @ sums
    semiring = Expectation(scores, numbers)
    for found in (value_of(graph, semiring), Semiring.inside(semiring, graph)[-1]):
        assert found.log_sum == pytest.approx(totals.max() + np.log(np.exp(totals - totals.max()).sum()), abs=1e-9)
        np.testing.assert_allclose(found.mean, mean, atol=1e-9)
        np.testing.assert_allclose(found.variance, chances @ (sums - mean) ** 2, atol=1e-9)


def test_a_count_is_exact_beyond_any_machine_word():
    n = 200  # 3 ways in each of 200 words, joined from left to right
    leaves = np.full((3 * n, 2), -1)
    tails = np.array([[0 if i == 1 else n + i - 2, i] for i in range(1, n)])
    offsets = np.concatenate([np.arange(0, 3 * n + 1, 3), 3 * n + np.arange(1, n)])
    spans = np.array([[i, i + 1] for i in range(n)] + [[0, i + 1] for i in range(1, n)])
    graph = Hypergraph(
        offsets, np.vstack([leaves, tails]), np.zeros(4 * n - 1), np.zeros((4 * n - 1, 0)), np.zeros(2 * n - 1), spans
    )
    assert value_of(graph, Count()) == 3**n


def test_a_value_of_ones_own_takes_three_methods():
    class Longest(Semiring[int]):
        def edge(self, e):
            return 1

        def times(self, first, second):
            return first + second

        def plus(self, first, second):
            return max(first, second)

    _, graph, everything = small(5)
    assert value_of(graph, Longest()) == max(map(len, everything))


def test_a_forest_without_derivation_has_no_value():
    empty = np.zeros((0, 2), np.int32)
    graph = Hypergraph(np.zeros(1, np.int64), empty, np.zeros(0), np.zeros((0, 1)), np.zeros(0), empty)
    with pytest.raises(LuthierError, match="expected a forest with a derivation, found one without"):
        value_of(graph, Count())
