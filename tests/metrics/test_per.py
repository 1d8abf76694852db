import numpy as np
from against_sacrebleu import corpora
from hypothesis import given, settings

from luthier.metrics.batch import Batch
from luthier.metrics.methods.per import Method as Per
from luthier.metrics.methods.wer import Method as Wer
from oracles import bag_distance, edit_distance, fewest_edits


@given(corpora())
def test_equals_bags_of_words(corpus):
    hyps, streams = corpus
    stats = Per().stats(Batch.from_lines(hyps, streams))
    for i, (hyp, row) in enumerate(zip(hyps, stats.tolist(), strict=True)):
        refs = [stream[i].split() for stream in streams]
        assert row == list(fewest_edits(bag_distance, hyp.split(), refs))


@given(corpora())
@settings(max_examples=30)
def test_is_never_above_word_edits_and_blind_to_order(corpus):
    hyps, streams = corpus
    stats = Per().stats(Batch.from_lines(hyps, streams))
    assert np.all(stats[:, 0] <= Wer().stats(Batch.from_lines(hyps, streams))[:, 0])
    turned = [" ".join(reversed(hyp.split())) for hyp in hyps]
    np.testing.assert_array_equal(Per().stats(Batch.from_lines(turned, streams)), stats)


def test_a_case_worked_by_hand():
    # Both hold one "a" and "b"; the second "a" has no partner: max(3, 4) − 2 = 2 edits. In order it is 3.
    hyp, ref = "b a a", "a b c d"
    stats = Per().stats(Batch.from_lines([hyp], [[ref]]))
    assert stats.tolist() == [[2, 4]]
    assert Per().score(stats[0]) == 50.0
    assert edit_distance(hyp.split(), ref.split()) == 3
