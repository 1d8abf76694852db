import numpy as np
import pytest
from against_sacrebleu import corpora
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.corpus.texts import Texts
from luthier.metrics.batch import Batch
from luthier.metrics.methods.wer import Method as Wer
from oracles import edit_distance, fewest_edits


def lists(words, *, max_words, max_refs=3):
    """Draw sentences as (hypotheses, references), some of the hypotheses repeated."""
    text = st.lists(st.sampled_from(words), max_size=max_words).map(" ".join)
    hyps = st.lists(text, max_size=4).flatmap(lambda own: st.lists(st.sampled_from([*own, ""]), max_size=6))
    return st.lists(st.tuples(hyps, st.lists(text, min_size=1, max_size=max_refs)), min_size=1, max_size=3)


def batch_of(sentences):
    return Batch.of(
        texts=Texts.from_strings(hyp for hyps, _ in sentences for hyp in hyps),
        offsets=np.cumsum([0, *(len(hyps) for hyps, _ in sentences)]),
        references=Texts.from_strings(ref for _, refs in sentences for ref in refs),
        reference_offsets=np.cumsum([0, *(len(refs) for _, refs in sentences)]),
    )


def expected(sentences, distance=edit_distance):
    rows = [
        fewest_edits(distance, hyp.split(), [ref.split() for ref in refs]) for hyps, refs in sentences for hyp in hyps
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


@given(lists(["a", "b", "c", "d"], max_words=9))
def test_equals_the_plain_table(sentences):
    np.testing.assert_array_equal(Wer().stats(batch_of(sentences)), expected(sentences))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_references_of_any_number_of_blocks(seed):
    """Lengths around multiples of 64, words that repeat, hypotheses near their reference and far from it."""
    rng = np.random.default_rng(seed)
    sentences = []
    for length in (63, 64, 65, 127, 128, 129, 200):
        ref = rng.integers(0, rng.choice([2, 20, 300]), length)
        near = ref[rng.random(length) < 0.9]
        far = rng.integers(0, 5, rng.integers(0, 150))
        sentences.append(([" ".join(map(str, words)) for words in (near, far)], [" ".join(map(str, ref))]))
    np.testing.assert_array_equal(Wer().stats(batch_of(sentences)), expected(sentences))


@given(corpora())
@settings(max_examples=30)
def test_words_are_those_of_str_split(corpus):
    hyps, streams = corpus
    sentences = [([hyp.lower()], [stream[i].lower() for stream in streams]) for i, hyp in enumerate(hyps)]
    stats = Wer(lowercase=True).stats(Batch.from_lines(hyps, streams))
    np.testing.assert_array_equal(stats, expected(sentences))


def test_a_case_worked_by_hand():
    # "b" is missing, "x" represents "d", and "e" is one too many: 3 edits, 4 words.
    stats = Wer().stats(Batch.from_lines(["a c x e"], [["a b c d"]]))
    assert stats.tolist() == [[3, 4]]
    assert Wer().score(stats[0]) == 75.0


def test_of_equally_near_references_the_longest_counts():
    stats = Wer().stats(Batch.from_lines(["a b"], [["a"], ["a b c"], ["a x"], ["p q r s t"]]))
    assert stats.tolist() == [[1, 3]]


def test_rates_without_reference_words():
    score = Wer().score
    assert score(np.array([[0, 0], [3, 0], [3, 2]])).tolist() == [0.0, 100.0, 150.0]


def test_case_and_tokens_are_options():
    batch = Batch.from_lines(["Yes, sir"], [["yes , sir"]])
    assert Wer().stats(batch).tolist() == [[2, 3]]
    assert Wer(lowercase=True).stats(batch).tolist() == [[2, 3]]
    assert Wer(tokenizer="13a").stats(batch).tolist() == [[1, 3]]
    assert Wer(tokenizer="13a", lowercase=True).stats(batch).tolist() == [[0, 3]]


def test_lower_is_better():
    assert Wer().higher_is_better is False
    assert Wer().stat_names == ("edits", "ref_len")
    assert Wer().score(np.array([1, 4])) == pytest.approx(25.0)
