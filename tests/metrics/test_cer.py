import numpy as np
import pytest
from against_sacrebleu import corpora
from hypothesis import given
from hypothesis import strategies as st

from luthier.metrics.batch import Batch
from luthier.metrics.methods.cer import Method as Cer
from oracles import edit_distance, fewest_edits


def expected(hyps, streams, prepare):
    return [
        list(fewest_edits(edit_distance, prepare(hyp), [prepare(stream[i]) for stream in streams]))
        for i, hyp in enumerate(hyps)
    ]


@given(corpora(), st.booleans(), st.booleans())
def test_equals_the_plain_table_over_code_points(corpus, spaces, lowercase):
    def prepare(text):
        text = text.lower() if lowercase else text  # before words are joined: some letters ask for their end
        return (" " if spaces else "").join(text.split())

    stats = Cer(spaces=spaces, lowercase=lowercase).stats(Batch.from_lines(*corpus))
    assert stats.tolist() == expected(*corpus, prepare)


def test_texts_longer_than_a_machine_word():
    rng = np.random.default_rng(0)
    refs = ["".join(rng.choice(list("abcd "), length)) for length in (64, 70, 130, 300)]
    hyps = ["".join(c for c in ref if rng.random() < 0.9) for ref in refs]
    stats = Cer().stats(Batch.from_lines(hyps, [refs]))
    assert stats.tolist() == expected(hyps, [refs], lambda text: " ".join(text.split()))


def test_a_case_worked_by_hand():
    # "kitten" → "sitting": k → s, e → i, and a g; the two spaces in the hypothesis count as one.
    batch = Batch.from_lines(["a  kitten "], [["a sitting"]])
    stats = Cer().stats(batch)
    assert stats.tolist() == [[3, 9]]
    assert Cer().score(stats[0]) == pytest.approx(100 / 3)
    assert Cer(spaces=False).stats(batch).tolist() == [[3, 8]]


def test_a_missing_space_is_an_error_where_spaces_count():
    batch = Batch.from_lines(["ab"], [["a b"]])
    assert Cer().stats(batch).tolist() == [[1, 3]]
    assert Cer(spaces=False).stats(batch).tolist() == [[0, 2]]
