"""States: pieces of a sentence, scored apart and joined in any order, are worth the sum of its words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.corpus.texts import Texts
from luthier.lm.arpa import END
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import LanguageModel, append, begin, join, key, new_states
from plain_models import arpa_text, random_model, random_words, sentence_score, word_score


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Return a function that opens the random model of a seed and an order, in dictionary and in table."""
    folder = tmp_path_factory.mktemp("models")
    known = {}

    def open_one(seed, order):
        if (seed, order) not in known:
            rng = np.random.default_rng((seed, order))
            plain = random_model(rng, order, int(rng.integers(4, 8)), broken=seed % 3 == 1, odd=seed % 2 == 1)
            path = folder / f"{seed}-{order}.arpa"
            path.write_text(arpa_text(plain))
            known[seed, order] = plain, LanguageModel.from_arpa(read_arpa(path))
        return known[seed, order]

    return open_one


class Pieces:
    """Builds a tree over words by splitting at random; each part is scored alone, then joined."""

    def __init__(self, model, rng, n):
        self.model, self.rng = model, rng
        self.states, self.free = new_states(40 * n + 8, model.order), 0

    def build(self, ids):
        """Return (row, score) of the state of a stretch of words."""
        row = self.free
        self.free += 1
        total, at = 0.0, 0
        while at < len(ids):
            if len(ids) == 1 or self.rng.random() < 0.3:
                total += append(self.model, self.states, row, ids[at])
                at += 1
            else:
                length = min(int(self.rng.integers(1, len(ids) - at + 1)), len(ids) - 1)
                other, score = self.build(ids[at : at + length])
                total += score + join(self.model, self.states, row, self.states, other)
                at += length
        return row, total


def finished(model, states, row):
    """Return the score that a whole sentence gains by its beginning and end."""
    whole = new_states(1, model.order)
    begin(model, whole, 0)
    gain = join(model, whole, 0, states, row)
    return gain + append(model, whole, 0, END)


@pytest.mark.parametrize("order", range(1, 7))
@given(seed=st.integers(0, 23), cut=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_any_way_of_cutting_a_sentence_gives_the_sum_of_its_words(opened, order, seed, cut):
    plain, model = opened(seed, order)
    rng = np.random.default_rng(cut)
    words = random_words(rng, 7, int(rng.integers(0, 12)))
    ids = model.word_ids(Texts.from_strings(words)).tolist()
    pieces = Pieces(model, rng, len(ids) + 1)
    row, total = pieces.build(ids)
    assert total + finished(model, pieces.states, row) == pytest.approx(sum(sentence_score(plain, words)), abs=1e-5)


@pytest.mark.parametrize("order", range(1, 7))
def test_equal_states_score_alike_whatever_stands_around_them(opened, order):
    """Strings by the key of their state, however it was made: in one group, no context may tell two of them apart."""
    merged = 0
    for seed in range(6):
        plain, model = opened(seed, order)
        rng = np.random.default_rng(seed)
        groups = {}
        for _ in range(150):
            words = random_words(rng, 7, int(rng.integers(1, 6)))
            pieces = Pieces(model, rng, len(words))
            row, total = pieces.build(model.word_ids(Texts.from_strings(words)).tolist())
            groups.setdefault(key(pieces.states, row), set()).add((tuple(words), total))
        for group in groups.values():
            merged += len(group) - 1
            before, after = random_words(rng, 7, 5), random_words(rng, 7, 3)
            rests = {round(sum(sentence_score(plain, [*before, *words, *after])) - total, 6) for words, total in group}
            assert len(rests) == 1
    assert merged > (100 if order < 4 else 20)


def test_a_key_tells_left_right_and_mark(opened):
    _, model = opened(0, 3)
    rows = new_states(3, 3)
    append(model, rows, 1, 3)
    begin(model, rows, 2)
    assert len({key(rows, row) for row in range(3)}) == 3


def test_a_piece_alone_is_scored_without_what_stands_before_it(opened):
    plain, model = opened(2, 4)
    states = new_states(1, 4)
    words = ["a", "b", "a", "c"]
    for i, word in enumerate(words):
        score = append(model, states, 0, model.word_ids(Texts.from_strings([word]))[0])
        assert score == pytest.approx(word_score(plain, words[:i], word), abs=1e-6)


def test_what_is_no_state_of_the_model_is_refused(opened):
    _, model = opened(0, 3)
    states = new_states(2, 3)
    with pytest.raises(ValueError, match="expected states of 10 int32 columns"):
        append(model, new_states(2, 4), 0, 3)
    with pytest.raises(IndexError, match="expected a row from 0 to 1, found 2"):
        append(model, states, 2, 3)
    with pytest.raises(IndexError, match="expected a word from 0 to"):
        append(model, states, 0, len(model.words))
    with pytest.raises(ValueError, match="joined with itself"):
        join(model, states, 0, states, 0)
    states[0, 0] = 77
    with pytest.raises(ValueError, match="expected a state that begin, append and join have made"):
        append(model, states, 0, 3)
