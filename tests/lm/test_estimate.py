"""Estimation: worked by hand, against exact fractions, and whether probabilities sum to one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_kneser_ney import PlainKneserNey

from luthier.core.errors import InputError, LuthierError
from luthier.core.progress import speaking
from luthier.lm.estimate import EstimateOptions, estimate_lm
from luthier.lm.model import LanguageModel, append, new_states


def numbers_of(arpa):
    """Return {n-gram: (p, back-off weight)} of a model."""
    return {
        tuple(arpa.text_of(level, row).split()): (10.0 ** float(level.probs[row]), 10.0 ** float(level.backoffs[row]))
        for level in arpa.levels
        for row in range(len(level.probs))
    }


def notices_of(function):
    """Return what a function says while it runs."""
    said = []
    from contextlib import nullcontext

    with speaking(lambda label, total: nullcontext(lambda amount: None), said.append):
        function()
    return [message for message in said if "compiling" not in message]


def test_a_text_worked_by_hand_with_the_fallback():
    # <s> a b </s>, <s> a </s>. Bigrams: <s> a twice, a b, b </s> and a </s> once: n_3 = 0, so D = 0.5, 1, 1.5.
    # Words before a: <s>; before b: a; before </s>: a and b. So a = 1, 1, 2, again n_3 = 0.
    # Unigrams: sum 4, γ = (0.5 + 0.5 + 1)/4 = 0.5, V = 4 (a, b, </s>, <unk>): each gets 0.5/4 from below.
    found = numbers_of(estimate_lm(["a b", "a"], EstimateOptions(order=2)).model)
    expected = {
        ("<unk>",): (0.125, 1.0),
        ("a",): (0.5 / 4 + 0.125, 0.5),  # followed by b and </s>, once each: γ = (0.5 + 0.5)/2
        ("b",): (0.5 / 4 + 0.125, 0.5),  # followed by </s> once: γ = 0.5/1
        ("</s>",): (1.0 / 4 + 0.125, 1.0),
        ("<s>", "a"): (1.0 / 2 + 0.5 * 0.25, 1.0),  # twice of two: γ = 1/2
        ("a", "b"): (0.5 / 2 + 0.5 * 0.25, 1.0),
        ("a", "</s>"): (0.5 / 2 + 0.5 * 0.375, 1.0),
        ("b", "</s>"): (0.5 / 1 + 0.5 * 0.375, 1.0),
    }
    begin = found.pop(("<s>",))
    assert begin == pytest.approx((0.0, 0.5), abs=1e-7)
    assert found.keys() == expected.keys()
    for gram, numbers in expected.items():
        assert found[gram] == pytest.approx(numbers, rel=1e-6), gram


def test_discounts_worked_by_hand():
    # One line, order 1: a, b and </s> once, c twice, d three times: n = 3, 1, 1, 0, so Y = 3/5,
    # D_1 = 1 − 2·0.6·1/3 = 0.6, D_2 = 2 − 3·0.6·1/1 = 0.2, D_3 = 3 − 0 = 3.
    made = estimate_lm(["a b c c d d d"], EstimateOptions(order=1))
    assert made.discounts[0].estimated
    assert made.discounts[0].values == pytest.approx((0.6, 0.2, 3.0))
    below = (3 * 0.6 + 0.2 + 3.0) / 8 / 6  # γ/V: <unk>, </s>, a, b, c, d
    expected = {"<unk>": below, "</s>": 0.4 / 8 + below, "a": 0.4 / 8 + below, "b": 0.4 / 8 + below}
    expected |= {"c": 1.8 / 8 + below, "d": below}
    found = {gram[0]: p for gram, (p, _) in numbers_of(made.model).items() if gram != ("<s>",)}
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_fallback_is_told_and_only_where_it_is_used():
    assert notices_of(lambda: estimate_lm(["a b c c d d d"], EstimateOptions(order=1))) == []
    said = notices_of(lambda: estimate_lm(["a b c c d d d"], EstimateOptions(order=2)))
    assert len(said) == 1
    assert "too few n-grams to estimate discounts of order 1, 2: 0.5, 1 and 1.5" in said[0]


@given(
    sentences=st.lists(st.lists(st.sampled_from("abcde"), max_size=7), min_size=1, max_size=8).filter(any),
    order=st.integers(1, 4),
    prune=st.sampled_from([(0,), (0, 1), (0, 0, 1), (0, 1, 2), (0, 0, 0, 1)]),
)
@settings(max_examples=40)
def test_every_number_is_that_of_exact_fractions(sentences, order, prune):
    options = EstimateOptions(order=order, prune=prune[:order])
    twin = PlainKneserNey(sentences, order, options.thresholds)
    made = estimate_lm([" ".join(words) for words in sentences], options)
    found = numbers_of(made.model)
    assert made.model.order == max(n for n, grams in twin.kept.items() if grams)
    assert [not own.estimated for own in made.discounts] == [twin.fell_back[n] for n in range(1, made.model.order + 1)]
    del found["<s>",]
    assert set(found) - {("<unk>",)} == set.union(*twin.kept.values())
    for gram, (p, backoff) in found.items():
        assert p == pytest.approx(float(twin.prob(gram)), rel=2e-6), gram
        if len(gram) < order:
            assert backoff == pytest.approx(float(twin.gamma(gram)), rel=2e-6), gram


@given(
    sentences=st.lists(st.lists(st.sampled_from("aaabbcde"), min_size=1, max_size=7), min_size=1, max_size=12),
    order=st.integers(1, 5),
    prune=st.sampled_from([(0,), (0, 0, 1), (0, 2)]),
    context=st.lists(st.sampled_from("abcdez"), max_size=5),
)
@settings(max_examples=60)
def test_probabilities_sum_to_one_in_every_context(sentences, order, prune, context):
    texts = [" ".join(words) for words in sentences]
    model = LanguageModel.from_arpa(estimate_lm(texts, EstimateOptions(order=order, prune=prune[:order])).model)
    places = {word: i for i, word in enumerate(model.words)}
    before = new_states(1, model.order)
    for word in context:
        append(model, before, 0, places.get(word, 0))
    total = sum(10.0 ** append(model, before.copy(), 0, i) for word, i in places.items() if word != "<s>")
    assert total == pytest.approx(1.0, abs=2e-6)


def test_a_discount_of_nothing_leaves_a_weight_that_can_be_written():
    # Each line has two bigrams of its own: n = 2, 2, 4, 0, so Y = 1/3 and D_2 = 2 − 3·(1/3)·4/2 = 0.
    # b is followed by </s> alone, twice: γ(b) = D_2/2 = 0, and p(</s>|b) = (2 − 0)/2 = 1.
    made = estimate_lm(["a", "b", "b", *["c"] * 3, *["d"] * 3], EstimateOptions(order=2))
    assert made.discounts[1].values == pytest.approx((1 / 3, 0.0, 3.0))
    unigrams, bigrams = made.model.levels
    row = [made.model.text_of(unigrams, row) for row in range(len(unigrams.ids))].index("b")
    assert unigrams.backoffs[row] == -99.0
    row = [made.model.text_of(bigrams, row) for row in range(len(bigrams.ids))].index("b </s>")
    assert bigrams.probs[row] == 0.0


def test_one_word_and_one_sentence_are_enough():
    said = notices_of(lambda: estimate_lm(["word"], EstimateOptions(order=5)))
    assert said[0] == "no n-grams of more than 3 words are left: the model is of order 3"
    model = LanguageModel.from_arpa(estimate_lm(["word"], EstimateOptions(order=5)).model)
    assert model.counts == (4, 2, 1)
    scores = model.score(["word", "", "other"])
    assert np.isfinite(scores.probs).all()
    assert scores.totals[0] > scores.totals[2]


def test_an_empty_line_is_a_sentence_without_words():
    found = numbers_of(estimate_lm(["a", "", "a"], EstimateOptions(order=2)).model)
    assert ("<s>", "</s>") in found


@pytest.mark.parametrize("texts", [[], [""], ["", "  "]])
def test_no_words_at_all_are_refused(texts):
    with pytest.raises(InputError, match="expected at least one word, found"):
        estimate_lm(texts)


def test_marks_in_the_text_are_refused_with_their_line_or_dropped():
    texts = ["a b", "c <unk> d", "</s>"]
    with pytest.raises(InputError, match=r"t\.txt:2: expected words only, found '<unk>'"):
        estimate_lm(texts, path="t.txt")
    skipping = EstimateOptions(order=3, skip_symbols=True)
    assert numbers_of(estimate_lm(texts, skipping).model) == numbers_of(
        estimate_lm(["a b", "c d", ""], EstimateOptions(order=3)).model
    )


@pytest.mark.parametrize("order", [0, 12, -1])
def test_an_order_out_of_range_is_refused(order):
    with pytest.raises(LuthierError, match=r"'order' parameter of EstimateOptions must be an int in \[1, 10\]"):
        EstimateOptions(order=order)


@pytest.mark.parametrize("prune", [(1,), (0, 2, 1), (0, -1), (0, 0, 0, 0), ()])
def test_thresholds_that_cannot_be_are_refused(prune):
    with pytest.raises(LuthierError, match="expected at most 3 thresholds to prune by"):
        EstimateOptions(order=3, prune=prune)


def test_repeated_text_and_order_of_lines_do_not_change_what_they_should_not():
    lines = ["a b c", "b c a", "c a b b", "a"]
    one = numbers_of(estimate_lm(lines, EstimateOptions(order=3)).model)
    other = numbers_of(estimate_lm(lines[::-1], EstimateOptions(order=3)).model)
    assert one.keys() == other.keys()
    assert all(math.isclose(one[g][0], other[g][0], rel_tol=1e-6) for g in one)
