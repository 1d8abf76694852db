"""The union of forests: exactly the derivations of all searches, in their order, with the features they had."""

import numpy as np
import pytest
from small_forests import derivations, edges_of, forest, rule_table

from luthier.core.errors import LuthierError
from luthier.decoding.forests.files import Forests, open_forests, save_forests
from luthier.decoding.forests.lines import ForestLines
from luthier.decoding.forests.union import union

EMPTY = [np.zeros(1, np.int64), np.zeros((0, 2), np.int32), np.zeros(0, np.int32), np.zeros((0, 1))]
EMPTY += [np.zeros(0, np.uint8), np.zeros((0, 2), np.int32)]


def read_off(graph, rules):
    """Return (words, features) of every derivation, in order, by plain Python."""
    found = []
    for derivation in derivations(graph) if graph.n_nodes else []:
        words = text_of(graph, rules, derivation)
        rows = [[*rules.features.dense[graph.rules[e]], *graph.state_features[e]] for e in edges_of(derivation)]
        found.append((words, tuple(np.sum(rows, axis=0).tolist())))
    return found


def text_of(graph, rules, derivation):
    edge, *parts = derivation
    rule, words = graph.rules[edge], []
    for symbol in rules.target_symbols[rules.target_offsets[rule] : rules.target_offsets[rule + 1]].tolist():
        words += [rules.words[symbol]] if symbol >= 0 else text_of(graph, rules, parts[-symbol - 1])
    return words


def searches(seed, tmp_path, n=3):
    """Return forests of two sentences from several searches, as they come back from disk with tables of their own."""
    rng = np.random.default_rng(seed)
    rules = rule_table(rng)
    found = []
    for number in range(n):
        graphs = [forest(rng, nodes=4 + seed % 5) for _ in range(2)]
        save_forests(graphs, rules, np.full(3, float(number)), tmp_path / str(number))
        found.append(open_forests(tmp_path / str(number)))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_it_has_what_each_search_has_seen_and_nothing_else(seed, tmp_path):
    parts = searches(seed, tmp_path)
    both = union(parts)
    for i, graph in enumerate(both.forests):
        expected = [row for part in parts for row in read_off(part.forests[i], part.rules)]
        assert read_off(graph, both.rules) == expected
    assert both.weights.tolist() == [2.0, 2.0, 2.0]
    assert len(set(both.rules.words)) == len(both.rules.words)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_along_a_line_is_the_best_of_all_searches(seed, tmp_path):
    parts = searches(seed, tmp_path)
    both = union(parts)
    lines, rng = ForestLines(both.forests, both.rules), np.random.default_rng(seed)
    for _ in range(5):
        weights = rng.normal(size=3)
        rows = lines.select(weights[None])[0]
        sentences, texts = lines.texts(0)
        for i, row in enumerate(rows):
            scored = [(np.dot(x, weights), words) for p in parts for words, x in read_off(p.forests[i], p.rules)]
            best = max(score for score, _ in scored)
            near = [" ".join(words) for score, words in scored if score >= best - 1e-12]
            assert sentences[row] == i
            assert texts[int(row)] in near


def test_a_sentence_that_one_search_could_not_translate_has_what_the_others_found(tmp_path):
    one, two, _ = searches(3, tmp_path)
    none = type(one.forests[0])(*EMPTY)
    both = union(
        [Forests((none, none), one.rules, one.weights), Forests((none, two.forests[1]), two.rules, two.weights)]
    )
    assert both.forests[0].n_nodes == 0
    assert read_off(both.forests[1], both.rules) == read_off(two.forests[1], two.rules)


def test_what_is_not_of_the_same_sentences_is_refused(tmp_path):
    one, two, _ = searches(4, tmp_path)
    with pytest.raises(LuthierError, match="one search or more, found none"):
        union([])
    with pytest.raises(LuthierError, match="same sentences"):
        union([one, Forests(two.forests[:1], two.rules, two.weights)])
    longer = forest(np.random.default_rng(0), words=5)
    with pytest.raises(LuthierError, match="another length"):
        union([one, Forests((longer, longer), rule_table(np.random.default_rng(0)), two.weights)])
