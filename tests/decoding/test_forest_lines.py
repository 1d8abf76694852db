"""Lines through forests against all their derivations, by fractions where numbers are whole."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from small_forests import derivations, edges_of, forest, rule_table, words_of

from luthier.core.errors import LuthierError
from luthier.decoding.forests.lines import ForestLines
from luthier.geometry.lines.envelope import envelopes_of_lines


def strings_of(lines):
    sentences, tokens = lines.strings(0)
    return [(int(s), tokens[i].tolist()) for i, s in enumerate(sentences)]


def heights(graph, rules, weights, derivation):
    """Return the exact score of a derivation."""
    total = Fraction(0)
    for e in edges_of(derivation):
        row = [*rules.features.dense[graph.rules[e]].tolist(), *graph.state_features[e].tolist()]
        total += sum(Fraction(x) * Fraction(w) for x, w in zip(row, weights.tolist(), strict=True))
    return total


def exact_envelope(lines):
    """Return the lines (intercept, slope) that are highest on an interval, the first of equals, and their starts."""
    at, kept, starts = None, [], []
    best = min(range(len(lines)), key=lambda i: (lines[i][1], -lines[i][0], i))
    while True:
        kept.append(best)
        starts.append(at)
        meets = {}
        for i, (a, b) in enumerate(lines):
            if b > lines[best][1]:
                meets[i] = (lines[best][0] - a) / (b - lines[best][1])
        if not meets:
            return kept, starts
        at = min(meets.values())
        steepest = [i for i, t in meets.items() if t == at]
        best = min(steepest, key=lambda i: (-lines[i][1], -lines[i][0], i))


@pytest.mark.parametrize("seed", range(40))
def test_whole_numbers_give_the_exact_envelope_with_ties_as_in_lists(seed):
    rng = np.random.default_rng(seed)
    rules = rule_table(rng)
    graphs = [forest(rng, nodes=4 + seed % 6) for _ in range(2)]
    start, directions = rng.integers(-2, 3, size=3).astype(float), rng.integers(-2, 3, size=(3, 3)).astype(float)
    found = ForestLines(graphs, rules)
    for envelope, direction in zip(found.envelopes(start, directions), directions, strict=True):
        known = strings_of(found)
        at = 0
        for s, graph in enumerate(graphs):
            everything = derivations(graph)
            pairs = [(heights(graph, rules, start, d), heights(graph, rules, direction, d)) for d in everything]
            kept, starts = exact_envelope(pairs)
            rows = [envelope.first[s], *envelope.after[at : at + len(kept) - 1]]
            assert [known[row] for row in rows] == [(s, words_of(graph, everything[k])) for k in kept]
            assert envelope.before[at : at + len(kept) - 1].tolist() == rows[:-1]
            assert envelope.breakpoints[at : at + len(kept) - 1].tolist() == [float(t) for t in starts[1:]]
            bends = [float(pairs[j][1] - pairs[i][1]) for i, j in itertools.pairwise(kept)]
            assert envelope.bends[at : at + len(kept) - 1].tolist() == bends
            at += len(kept) - 1
        assert at == len(envelope.breakpoints)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("seed", range(4))
def test_real_numbers_give_what_a_line_search_on_all_derivations_gives(seed, scale):
    rng = np.random.default_rng(seed)
    rules, graph = rule_table(rng, whole=False, scale=scale), forest(rng, nodes=10, whole=False, scale=scale)
    start, directions = rng.normal(size=3), rng.normal(size=(3, 3))
    rows = np.hstack([rules.features.dense[graph.rules], graph.state_features])
    everything = derivations(graph)
    totals = np.array([rows[edges_of(d)].sum(axis=0) for d in everything])
    found = ForestLines([graph], rules)
    offsets = np.array([0, len(everything)])
    expected = envelopes_of_lines(offsets, totals @ start, directions @ totals.T)
    for envelope, other in zip(found.envelopes(start, directions), expected, strict=True):
        known = strings_of(found)
        np.testing.assert_allclose(envelope.breakpoints, other.breakpoints, rtol=1e-9, atol=1e-9)
        assert [known[r][1] for r in envelope.after] == [words_of(graph, everything[r]) for r in other.after]


def test_the_best_string_is_that_of_the_best_derivation_and_numbers_stay():
    rng = np.random.default_rng(3)
    rules, graphs = rule_table(rng), [forest(rng, nodes=9) for _ in range(3)]
    found = ForestLines(graphs, rules)
    weights = rng.integers(-2, 3, size=(4, 3)).astype(float)
    chosen = found.select(weights)
    again = found.select(weights[::-1])[::-1]
    assert chosen.tolist() == again.tolist()
    known = strings_of(found)
    assert found.n_strings == len(known) == len({(s, tuple(w)) for s, w in known})
    for w, row in zip(weights, chosen, strict=True):
        for s, graph in enumerate(graphs):
            best = max(derivations(graph), key=lambda d: heights(graph, rules, w, d))
            assert known[row[s]] == (s, words_of(graph, best))
    sentences, texts = found.texts(1)
    assert [(int(s), t) for s, t in zip(sentences, texts, strict=True)] == [
        (s, " ".join("abc"[w] for w in words)) for s, words in known[1:]
    ]


def test_what_cannot_be_searched_is_refused():
    rng = np.random.default_rng(0)
    rules, graph = rule_table(rng), forest(rng)
    with pytest.raises(LuthierError, match="expected scores below 1e\\+300, found larger ones"):
        ForestLines([graph], rules).envelopes(np.full(3, 1e307), np.ones((1, 3)))
