"""Leaving one out is the same as extracting from a corpus without the pair."""

import numpy as np
import pytest
from small_corpora import diagonal_pairs, model_of, rules_of

from luthier.corpus.texts import Texts
from luthier.grammar.extraction.extract import extract
from luthier.grammar.extraction.leave_one_out import extract_held_out
from luthier.grammar.extraction.options import Limits


@pytest.mark.parametrize("samples", [3, 300])
def test_equals_a_corpus_without_the_pair(samples):
    sources, targets, links = diagonal_pairs(1, 25, words=5, longest=7)
    sources[7], targets[7] = sources[3], targets[7][: max(1, len(targets[7]))]  # the same source twice
    links[7] = [(i, j) for i, j in links[3] if j < len(targets[7])]
    limits = Limits(samples=samples)
    model = model_of(sources, targets, links)
    texts = [" ".join(sources[k]) for k in (3, 11)] + ["f0 f1 f9 f0"]
    grammar, found = extract_held_out(model, Texts.from_strings(texts), limits)
    assert found == 2
    assert grammar.n_sentences == 3
    for number, text in enumerate(texts):
        rest = [k for k in range(25) if " ".join(sources[k]) != text]
        less = model_of(*([column[k] for k in rest] for column in (sources, targets, links)))
        expected, ours = rules_of(extract(less, Texts.from_strings([text]), limits)), rules_of(grammar.sentence(number))
        assert ours.keys() == expected.keys()
        for key, (features, linked) in ours.items():
            assert features == pytest.approx(expected[key][0], abs=1e-12)
            assert linked == expected[key][1]


def test_each_sentence_has_a_root_of_its_own():
    sources, targets, links = diagonal_pairs(2, 20, words=4)
    model = model_of(sources, targets, links)
    grammar, _ = extract_held_out(model, Texts.from_strings(" ".join(s) for s in sources[:3]))
    assert len(grammar.trie.roots) == 3
    words = {word: k for k, word in enumerate(grammar.source_words)}
    for number in range(3):
        sides = set(grammar.sides_of(number).tolist())
        node = grammar.trie.child(int(grammar.trie.roots[number]), words[sources[number][0]] + 1)
        assert node < 0 or int(grammar.trie.sides[node]) in sides | {-1}
    assert np.array_equal(np.sort(grammar.sentence_sides), np.arange(grammar.n_sides))
