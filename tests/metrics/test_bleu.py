import math

import numpy as np
import pytest
import sacrebleu
from against_sacrebleu import corpora, sentence_stats, sentence_values
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.metrics.batch import Batch
from luthier.metrics.methods.bleu import Method as Bleu


@st.composite
def settings_of_both(draw):
    """Draw the same settings for us and for sacrebleu."""
    smoothing = draw(st.sampled_from(["none", "floor", "add-k", "exp"]))
    value = draw(st.sampled_from([None, 0.5, 2.0])) if smoothing in ("floor", "add-k") else None
    order = draw(st.integers(1, 5))
    effective, lowercase = draw(st.booleans()), draw(st.booleans())
    tokenizer = draw(st.sampled_from(["none", "13a", "intl", "zh", "char"]))
    ours = Bleu(
        order=order,
        smoothing=smoothing,
        smoothing_value=value,
        effective_order=effective,
        sentence_smoothing=smoothing,
        tokenizer=tokenizer,
        lowercase=lowercase,
    )
    theirs = {
        "max_ngram_order": order,
        "smooth_method": smoothing,
        "smooth_value": value,
        "tokenize": tokenizer,
        "lowercase": lowercase,
        "force": True,
    }
    return ours, theirs


@given(corpora(), settings_of_both())
@settings(max_examples=100)
def test_equals_sacrebleu_on_corpora_and_sentences(corpus, both):
    hyps, streams = corpus
    ours, theirs = both
    corpus_metric = sacrebleu.BLEU(**theirs, effective_order=ours.effective_order)
    stats = ours.stats(Batch.from_lines(hyps, streams))
    np.testing.assert_array_equal(stats, sentence_stats(corpus_metric, hyps, streams))
    assert ours.score(stats.sum(0)) == pytest.approx(corpus_metric.corpus_score(hyps, streams).score, abs=1e-9)
    values = sentence_values(sacrebleu.BLEU(**theirs, effective_order=True), hyps, streams)
    np.testing.assert_allclose(ours.sentence_score(stats), values, rtol=0, atol=1e-9)


def test_a_case_worked_by_hand():
    # c = 5; "the" is clipped to 2; matches: the the cat sat = 4 of 5, "the cat", "cat sat" = 2 of 4,
    # "the cat sat" = 1 of 3, none of 2. Closest of the lengths 4 and 6 is the shorter one, 4: BP = 1.
    batch = Batch.from_lines(["the the the cat sat"], [["the cat sat down"], ["a the b the c d"]])
    metric = Bleu(smoothing="none", order=3)
    stats = metric.stats(batch)
    assert dict(zip(metric.stat_names, stats[0].tolist(), strict=True)) == {
        "hyp_len": 5, "ref_len": 4, "matches_1": 4, "matches_2": 2, "matches_3": 1,
        "totals_1": 5, "totals_2": 4, "totals_3": 3,
    }  # fmt: skip
    assert metric.score(stats)[0] == pytest.approx(100 * (4 / 5 * 2 / 4 * 1 / 3) ** (1 / 3))


@pytest.mark.parametrize(
    "how, expected",
    [("closest", [3, 3, 7]), ("shortest", [3, 3, 3]), ("mean", [5.0, 5.0, 5.0])],
)
def test_reference_lengths(how, expected):
    refs = [["a " * 7] * 3, ["a " * 5] * 3, ["a " * 3] * 3]
    hyps = ["a " * 4, "", "a " * 9]  # 4 is as far from 5 as from 3: the shorter one counts
    stats = Bleu(reference_length=how).stats(Batch.from_lines(hyps, refs))
    assert stats[:, 1].tolist() == expected
    assert stats.dtype == (np.float64 if how == "mean" else np.int64)


def test_plus_one_leaves_out_orders_that_a_short_sentence_cannot_have():
    metric = Bleu()
    stats = metric.stats(Batch.from_lines(["a x", "a", "", "x y"], [["a b", "a", "a", "a b"]]))
    # Lin and Och would score the orders 3 and 4 of "a x" 1: half of its words, none of its bigrams.
    assert metric.sentence_score(stats) == pytest.approx([100 * math.sqrt(1 / 2 * 1 / 2), 100, 0, 0])


def test_plus_one_is_add_k_where_sentences_are_long_enough():
    batch = Batch.from_lines(["a b c d e", "d c b a"], [["a b c x y", "a b c d"]])
    stats = Bleu().stats(batch)
    np.testing.assert_allclose(Bleu().sentence_score(stats), Bleu(smoothing="add-k").score(stats))


def test_many_hypotheses_of_a_sentence_equal_one_each():
    rng = np.random.default_rng(5)
    refs = [" ".join(rng.choice(list("abcd"), 8)) for _ in range(6)]
    hyps = [" ".join(rng.choice(list("abcde"), rng.integers(0, 12))) for _ in range(60)]
    alone = Batch.from_lines(hyps, [[refs[i // 20 * 2 + k] for i in range(60)] for k in range(2)])
    from luthier.corpus.texts import Texts

    lists = Batch.of(
        texts=Texts.from_strings(hyps), offsets=[0, 20, 40, 60],
        references=Texts.from_strings(refs), reference_offsets=[0, 2, 4, 6],
    )  # fmt: skip
    np.testing.assert_array_equal(Bleu().stats(lists), Bleu().stats(alone))


def test_a_long_repetitive_text_equals_sacrebleu():
    rng = np.random.default_rng(6)
    hyps = [" ".join(rng.choice(["x", "y"], 500)), "x " * 300]
    streams = [[" ".join(rng.choice(["x", "y"], 400)), "x " * 200] for _ in range(4)]
    theirs = sacrebleu.BLEU(tokenize="none", force=True)
    stats = Bleu().stats(Batch.from_lines(hyps, streams))
    np.testing.assert_array_equal(stats, sentence_stats(theirs, hyps, streams))
