"""Counting: every n-gram of a text, its beginning and its end, against dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Tokens
from luthier.lm import estimate as counting
from luthier.lm.estimate import count_ngrams


def tokens_of(sentences):
    ids = np.array([word for words in sentences for word in words], dtype=np.int32)
    return Tokens(offsets_from_counts([len(words) for words in sentences]), ids)


@given(seed=st.integers(0, 2**32 - 1), n_words=st.integers(4, 30), order=st.integers(1, 6))
@settings(max_examples=40)
def test_every_ngram_is_counted_with_its_beginning_and_end(seed, n_words, order):
    """Few words and up to 300 places: groups are large enough for either way of sorting."""
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(3, n_words, rng.integers(0, 40)).tolist() for _ in range(int(rng.integers(1, 15)))]
    expected = [Counter() for _ in range(order + 1)]
    for words in sentences:
        line = [1, *words, 2]
        for n in range(1, order + 1):
            expected[n].update(tuple(line[i : i + n]) for i in range(len(line) - n + 1))
    below = [()]
    for n, level in enumerate(count_ngrams(tokens_of(sentences), order, n_words), 1):
        grams = [(*below[p], int(w)) for p, w in zip(level.prefix.tolist(), level.last, strict=True)]
        counts = dict(zip(grams, level.raw.tolist(), strict=True))
        if n == 1:
            counts = {gram: count for gram, count in counts.items() if count}
            assert grams == [(word,) for word in range(n_words)]
        assert counts == expected[n]
        assert grams == sorted(grams)
        assert [below[s] for s in level.suffix.tolist()] == [gram[1:] for gram in grams]
        assert level.begins.tolist() == [gram[0] == 1 for gram in grams]
        below = grams


def test_a_text_of_too_many_words_is_refused(monkeypatch):
    monkeypatch.setattr(counting, "MOST_WORDS", 10)
    with pytest.raises(LuthierError, match=r"expected less than 2\^31 words, found 12"):
        list(count_ngrams(tokens_of([[3] * 10]), 2, 4))
