import numpy as np
import pytest
import sacrebleu
from against_sacrebleu import corpora, sentence_stats, sentence_values
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.params import ParameterError
from luthier.metrics.batch import Batch
from luthier.metrics.methods.chrf import Method as Chrf


@given(
    corpora(),
    st.fixed_dictionaries(
        {
            "char_order": st.integers(1, 7),
            "word_order": st.integers(0, 3),
            "beta": st.sampled_from([0, 1, 2, 3]),
            "whitespace": st.booleans(),
            "lowercase": st.booleans(),
            "eps_smoothing": st.booleans(),
        }
    ),
)
@settings(max_examples=100)
def test_equals_sacrebleu_on_corpora_and_sentences(corpus, parameters):
    hyps, streams = corpus
    theirs, ours = sacrebleu.CHRF(**parameters), Chrf(**parameters)
    stats = ours.stats(Batch.from_lines(hyps, streams))
    np.testing.assert_array_equal(stats, sentence_stats(theirs, hyps, streams))
    assert ours.score(stats.sum(0)) == pytest.approx(theirs.corpus_score(hyps, streams).score, abs=1e-9)
    np.testing.assert_allclose(ours.sentence_score(stats), sentence_values(theirs, hyps, streams), rtol=0, atol=1e-9)


def test_a_case_worked_by_hand():
    # Characters "abc" against "abd": 2 of 3, then "ab" of 2; words: 0 of 1 and no bigrams on either side.
    metric = Chrf(char_order=2, word_order=2, beta=1.0)
    stats = metric.stats(Batch.from_lines(["a bc"], [["ab d"]]))
    assert stats.tolist() == [[3, 3, 2, 2, 2, 1, 2, 2, 0, 1, 1, 0]]
    average = (2 / 3 + 1 / 2 + 0 + 0) / 4
    assert metric.score(stats)[0] == pytest.approx(100 * average)  # P = R = F


def test_blocks_do_not_show(monkeypatch):
    from luthier.metrics import ngrams
    from luthier.metrics.methods import chrf

    rng = np.random.default_rng(1)
    hyps, *streams = (["".join(rng.choice(list("ab "), 12)) for _ in range(20)] for _ in range(4))
    batch = Batch.from_lines(hyps, streams)
    whole = Chrf().stats(batch)
    monkeypatch.setattr(chrf, "pair_blocks", lambda batch: ngrams.pair_blocks(batch, most=7))
    np.testing.assert_array_equal(Chrf().stats(batch), whole)


def test_some_order_is_needed():
    with pytest.raises(ParameterError, match="at least 1"):
        Chrf(char_order=0)
