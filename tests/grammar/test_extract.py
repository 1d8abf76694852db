"""Extraction against its slow twin, against Chiang's definition, and what must not change it."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_extraction import SlowExtractor, project, reflect
from small_corpora import diagonal_pairs, model_of, random_pairs, rules_of

from luthier.corpus.texts import Texts
from luthier.grammar.extraction.extract import extract
from luthier.grammar.extraction.options import KINDS, Limits

DEFAULTS = {"span": 15, "symbols": 5, "gaps": 2, "gap": 1, "samples": 300, "tight": True}


def limits_of(span, symbols, gaps, gap, samples, tight):
    return Limits(max_span=span, max_symbols=symbols, max_gaps=gaps, min_gap=gap, samples=samples, tight=tight)


def extracted(pairs, sentences, **changed):
    limits = limits_of(**DEFAULTS | changed)
    model = model_of(*pairs, depth=limits.max_symbols)
    return extract(model, Texts.from_strings(" ".join(s) for s in sentences), limits)


def assert_same(grammar, slow, patterns):
    expected = slow.rules(patterns)
    found = rules_of(grammar)
    assert found.keys() == expected.features.keys()
    for key, (features, links) in found.items():
        assert features == pytest.approx(expected.features[key], abs=1e-12)
        assert links == expected.links[key]


def check_against_twin(pairs, sentences, **changed):
    grammar = extracted(pairs, sentences, **changed)
    slow = SlowExtractor(*pairs, **DEFAULTS | changed)
    patterns = set().union(*(slow.patterns(s) for s in sentences))
    assert_same(grammar, slow, patterns)
    return grammar, slow


def test_a_case_worked_by_hand():
    # das haus ist klein   0-0 1-1 2-2 3-3   the house is small
    # das ist ein haus     0-0 1-1 2-2 3-3   this is a house
    pairs = (
        [["das", "haus", "ist", "klein"], ["das", "ist", "ein", "haus"]],
        [["the", "house", "is", "small"], ["this", "is", "a", "house"]],
        [[(k, k) for k in range(4)]] * 2,
    )
    rules = rules_of(extracted(pairs, [["das", "haus"]], symbols=2))
    assert set(rules) == {
        (("das",), ("the",)), (("das",), ("this",)), (("haus",), ("house",)),
        (("das", "haus"), ("the", "house")),
        (("das", -1), ("the", -1)), (("das", -1), ("this", -1)),
        ((-1, "haus"), (-1, "house")), (("haus", -1), ("house", -1)),
    }  # fmt: skip
    features, links = rules[("das",), ("the",)]
    # c(f) = 2, c(f,e) = 1; das is linked with the and this once each, the with das alone
    assert features == pytest.approx(
        {
            "EgivenFCoherent": np.log10(2), "SampleCountF": np.log10(3), "CountEF": np.log10(2),
            "MaxLexFgivenE": 0.0, "MaxLexEgivenF": np.log10(2), "IsSingletonF": 0.0, "IsSingletonFE": 1.0,
        }
    )  # fmt: skip
    assert links == ((0, 0),)
    # X haus occurs at the end of the second sentence only as far as the gap reaches: das | das ist ein both work,
    # but the shortest gap is the one word before
    assert rules[(-1, "haus"), (-1, "house")][0]["EgivenFCoherent"] == 0.0


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.booleans())
def test_equals_the_slow_twin(seed, tight):
    rng = random.Random(seed)
    pairs = random_pairs(rng, rng.randint(1, 6), words=rng.randint(1, 4), density=rng.choice((0.5, 0.9, 1.3)))
    sentences = [rng.choice(pairs[0]) for _ in range(2)] + [["f0", "unknown", "f1", "f0"], []]
    check_against_twin(pairs, sentences, tight=tight)


@settings(max_examples=12)
@given(st.integers(0, 2**32))
def test_equals_the_slow_twin_under_other_limits(seed):
    rng = random.Random(seed)
    pairs = random_pairs(rng, 4, words=3)
    changed = {
        "span": rng.randint(1, 8), "symbols": rng.randint(1, 6), "gaps": rng.randint(0, 2), "gap": rng.randint(1, 3),
        "samples": rng.randint(1, 5), "tight": rng.random() < 0.7,
    }  # fmt: skip
    check_against_twin(pairs, [rng.choice(pairs[0])], **changed)


def test_samples_are_spread_evenly_over_the_corpus():
    pairs = ([["a", "b"]] * 10, [[f"t{k}", "u"] for k in range(10)], [[(0, 0), (1, 1)]] * 10)
    grammar = extracted(pairs, [["a"]], samples=4, symbols=1)
    # 10 / 4 = 2.5: ranks 0, 2.5, 5, 7.5, rounded up at the half
    assert {rule.target for rule in grammar.rules()} == {"t0", "t3", "t5", "t8"}
    assert grammar.feature("SampleCountF") == pytest.approx(np.log10(5))


def chiang_rules(source, target, links, *, span, symbols):
    """Return all rules of one pair by the definition: initial phrases, and phrases cut out of phrases."""
    linked = {i for i, _ in links}
    spans = {}
    for a, b in itertools.combinations(range(len(source) + 1), 2):
        there = project(links, a, b)
        if there is None or b - a > span or there[1] - there[0] > span:
            continue
        back = reflect(links, *there)
        if a <= back[0] and back[1] <= b and a in linked and b - 1 in linked:  # tight on both sides
            spans[a, b] = there
    rules = set()
    for whole, there in spans.items():
        inside = [s for s in spans if whole[0] <= s[0] and s[1] <= whole[1] and s != whole]
        choices = [(), *((s,) for s in inside), *itertools.combinations(sorted(inside), 2)]
        for gaps in choices:
            if len(gaps) == 2 and gaps[0][1] >= gaps[1][0]:  # overlapping or adjacent
                continue
            left, i = [], whole[0]
            while i < whole[1]:
                gap = next((k for k, g in enumerate(gaps) if g[0] == i), None)
                left.append(-1 - gap if gap is not None else source[i])
                i = gaps[gap][1] if gap is not None else i + 1
            right, j = [], there[0]
            while j < there[1]:
                gap = next((k for k, g in enumerate(gaps) if spans[g][0] == j), None)
                right.append(-1 - gap if gap is not None else target[j])
                j = spans[gaps[gap]][1] if gap is not None else j + 1
            words = [i for i in range(*whole) if not any(a <= i < b for a, b in gaps)]
            if linked.intersection(words) and len(left) <= symbols:
                rules.add((tuple(left), tuple(right)))
    return rules


def swapped_pairs(rng, n):
    """Return pairs whose links are a permutation of neighbours, with some missing and some astray: many phrases."""
    found = []
    for _ in range(n):
        length = rng.randint(2, 7)
        order = list(range(length))
        for _ in range(rng.randint(0, 3)):
            k = rng.randrange(length - 1)
            order[k], order[k + 1] = order[k + 1], order[k]
        links = {(i, order[i]) for i in range(length) if rng.random() < 0.85}
        links |= {(rng.randrange(length), rng.randrange(length)) for _ in range(rng.choice((0, 0, 1, 2)))}
        words = [rng.randrange(9) for _ in range(length)]
        found.append(([f"f{w}" for w in words], [f"e{rng.randrange(9)}" for _ in words], sorted(links)))
    return tuple(map(list, zip(*found, strict=True)))


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.booleans(), st.integers(2, 15))
@example(0, False, 5)  # gaps forced at both ends
@example(31290615, False, 4)
def test_the_rules_are_chiangs(seed, crossing, span):
    rng = random.Random(seed)
    pairs = random_pairs(rng, 2, words=3, longest=6) if crossing else swapped_pairs(rng, 2)
    ours = set(rules_of(extracted(pairs, pairs[0], span=span)))
    theirs = set().union(*(chiang_rules(*pair, span=span, symbols=5) for pair in zip(*pairs, strict=True)))
    assert ours == theirs


def test_a_gap_at_an_end_counts_once_however_long_it_could_be():
    # a b c, linked one by one: X c / X z can be had with b or with a b in the gap; the shortest is counted
    pairs = ([["a", "b", "c"]], [["x", "y", "z"]], [[(0, 0), (1, 1), (2, 2)]])
    ours = rules_of(extracted(pairs, [["c"]]))
    assert {key[0] for key in ours} == {("c",), (-1, "c")}
    assert ours[(-1, "c"), (-1, "z")][0]["CountEF"] == pytest.approx(np.log10(2))


def test_the_order_of_pairs_changes_only_sampled_patterns():
    sources, targets, links = diagonal_pairs(1, 40, words=6)
    order = list(range(40))
    random.Random(2).shuffle(order)
    mixed = tuple([column[k] for k in order] for column in (sources, targets, links))
    sentences = sources[:6]
    one, other = (extracted(pairs, sentences, samples=10) for pairs in ((sources, targets, links), mixed))
    sampled = {r.source for r in one.rules() if r.features["SampleCountF"] > np.log10(1 + 10) - 1e-9}
    assert sampled
    assert {r.source for r in one.rules()} - sampled
    plain = [
        {key: value for key, value in rules_of(g).items() if value[0]["SampleCountF"] < np.log10(1 + 10) - 1e-9}
        for g in (one, other)
    ]
    assert plain[0].keys() == plain[1].keys()
    for key, (features, linked) in plain[0].items():
        assert features == pytest.approx(plain[1][key][0], abs=1e-12)
        assert linked == plain[1][key][1]


def test_links_far_from_a_phrase_do_not_change_its_counts():
    words = [f"w{k}" for k in range(12)]
    near = [(k, k) for k in range(4)]
    plain = ([words], [words], [[*near, (8, 8)]])
    more = ([words], [words], [[*near, (8, 8), (9, 9), (10, 11), (11, 10)]])
    one, other = (rules_of(extracted(pairs, [words[:4]], span=5)) for pairs in (plain, more))
    counts = [{k: (v[0]["CountEF"], v[0]["SampleCountF"]) for k, v in rules.items()} for rules in (one, other)]
    assert counts[0] == counts[1]
    assert counts[0]


@pytest.mark.compiled  # NumPy's silence about overflow ends at the thread
def test_threads_and_repetition_give_the_same_arrays():
    pairs = diagonal_pairs(3, 60)
    model = model_of(*pairs)
    texts = Texts.from_strings(" ".join(s) for s in pairs[0])
    grammars = [extract(model, texts, threads=threads) for threads in (1, 2, 2)]
    for name in ("side_symbols", "target_symbols", "feature_values", "links", "sentence_sides"):
        assert all(np.array_equal(getattr(grammars[0], name), getattr(g, name)) for g in grammars[1:])


def test_each_sentence_has_the_rules_of_its_own_patterns():
    pairs = diagonal_pairs(4, 30, words=8)
    sentences = pairs[0][:5]
    grammar = extracted(pairs, sentences)
    assert grammar.n_sentences == 5
    for number, sentence in enumerate(sentences):
        alone = rules_of(extracted(pairs, [sentence]))
        assert rules_of(grammar.sentence(number)) == alone


def test_raw_and_counted_features_agree_with_the_logarithms():
    pairs = diagonal_pairs(5, 30, words=5)
    model = model_of(*pairs)
    grammar = extract(model, Texts.from_strings([" ".join(pairs[0][0])]), features=["all"])
    assert grammar.feature_names == KINDS["all"]
    for name in ("EgivenFCoherent", "MaxLexEgivenF", "MaxLexFgivenE"):
        assert grammar.feature(f"P_{name}") == pytest.approx(10.0 ** -grammar.feature(name))
    assert np.log10(1 + grammar.feature("C_F")) == pytest.approx(grammar.feature("SampleCountF"))
    assert grammar.feature("C_FE") / grammar.feature("C_F") == pytest.approx(grammar.feature("P_EgivenFCoherent"))
    only = extract(model, Texts.from_strings([" ".join(pairs[0][0])]), features=["raw", "counts"])
    assert only.feature_names == (*KINDS["raw"], *KINDS["counts"])
    assert np.array_equal(only.feature("C_FE"), grammar.feature("C_FE"))


def test_text_without_known_words_has_no_rules():
    pairs = diagonal_pairs(6, 5)
    grammar = extracted(pairs, [["who", "knows"], []])
    assert grammar.n_rules == 0
    assert grammar.n_sentences == 2
    assert grammar.sentence(0).n_rules == 0


def test_pairs_left_out_train_nothing():
    sources, targets, links = diagonal_pairs(7, 10, longest=6)
    longer = ([*sources, ["f0"] * 9, []], [*targets, ["e0"] * 9, ["e1"]], [*links, [(k, k) for k in range(9)], []])
    limits = Limits()
    texts = Texts.from_strings(" ".join(s) for s in sources)
    one = extract(model_of(sources, targets, links), texts, limits)
    other = extract(model_of(*longer, max_words=8), texts, limits)
    assert rules_of(one) == rules_of(other)
