"""Queries: every word of a sentence against back-off done literally, on whole and on broken-off models."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import luthier
from luthier.corpus.texts import Texts, Tokens
from luthier.lm import tables as table_room
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import LanguageModel, perplexity, sentence_columns
from plain_models import arpa_text, random_model, random_words, sentence_score


def model_of(plain, folder):
    path = folder / "lm.arpa"
    path.write_text(arpa_text(plain))
    return LanguageModel.from_arpa(read_arpa(path))


@pytest.mark.parametrize("broken", [False, True], ids=["whole", "broken off"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_every_word_is_scored_as_the_formula_says(tmp_path_factory, seed, broken):
    rng = np.random.default_rng(seed)
    plain = random_model(rng, int(rng.integers(1, 7)), int(rng.integers(4, 8)), broken=broken, odd=bool(seed % 2))
    model = model_of(plain, tmp_path_factory.mktemp("one"))
    sentences = [random_words(rng, 7, int(rng.integers(0, 9))) for _ in range(5)]
    scores = model.score([" ".join(words) for words in sentences])
    expected = [score for words in sentences for score in sentence_score(plain, words)]
    assert scores.probs == pytest.approx(expected, abs=1e-5)
    assert scores.totals == pytest.approx([sum(sentence_score(plain, words)) for words in sentences], abs=1e-4)
    ends = scores.offsets[1:] - 1
    known = [(w,) in plain for words in sentences for w in words]
    assert np.delete(scores.unknown, ends).tolist() == [not one for one in known]
    assert not scores.unknown[ends].any()


def test_a_table_that_fills_up_is_made_larger(tmp_path, monkeypatch):
    """An n-gram of six words whose inner n-grams are all missing brings ten more with it."""
    words = [f"w{i}" for i in range(40)]
    plain = {(w,): (-1.0, -0.5) for w in ("<unk>", "<s>", "</s>", *words)}
    rng = np.random.default_rng(0)
    for _ in range(60):
        plain[tuple(rng.choice(words, 6).tolist())] = (-0.25, 0.0)
    plain["w0", "w1"], plain["w0", "w1", "w2"] = (-0.25, -1.0), (-0.5, -0.125)
    plain["w0", "w1", "w2", "w3"], plain["w0", "w1", "w2", "w3", "w4"] = (-0.5, 0.0), (-0.25, 0.0)
    monkeypatch.setattr(table_room, "FEWEST_SLOTS", 1)
    model = model_of(plain, tmp_path)
    slots = len(model.tables.records) - model.tables.n_words
    assert slots > 4 * (len(plain) - 43)
    sentences = [list(g) for g in plain if len(g) > 1]
    expected = [score for s in sentences for score in sentence_score(plain, s)]
    assert model.score([" ".join(s) for s in sentences]).probs == pytest.approx(expected, abs=1e-5)


def test_perplexities_worked_by_hand(tmp_path):
    # Every word −1, every end −1, unknown words −3, no back-offs: the line "a z" has −1 − 3 − 1.
    plain = {("<unk>",): (-3.0, 0.0), ("<s>",): (-99.0, 0.0), ("</s>",): (-1.0, 0.0), ("a",): (-1.0, 0.0)}
    scores = model_of(plain, tmp_path).score(["a z", "", "a"])
    found = perplexity(scores)
    assert (found.n_sentences, found.n_words, found.n_unknown, found.log10_prob) == (3, 3, 1, -8.0)
    assert found.with_unknown == pytest.approx(10 ** (8 / 6))
    assert found.without_unknown == pytest.approx(10.0)
    columns = sentence_columns(scores)
    assert columns["line"].tolist() == [1, 2, 3]
    assert columns["words"].tolist() == [2, 0, 1]
    assert columns["unknown"].tolist() == [1, 0, 0]
    assert columns["log10_prob"].tolist() == [-5.0, -1.0, -2.0]
    assert columns["perplexity"] == pytest.approx([10 ** (5 / 3), 10.0, 10.0])


def test_a_perplexity_beyond_any_number_is_none(tmp_path):
    plain = {("<unk>",): (-900.0, 0.0), ("<s>",): (-99.0, 0.0), ("</s>",): (-500.0, 0.0)}
    found = perplexity(model_of(plain, tmp_path).score(["z"]))
    assert (found.with_unknown, found.without_unknown) == (None, None)


def test_numbers_that_are_no_words_are_refused(tmp_path):
    model = model_of(random_model(np.random.default_rng(0), 2), tmp_path)
    with pytest.raises(IndexError, match="expected numbers of words from 0 to"):
        model.score_tokens(Tokens(np.array([0, 1]), np.array([len(model.words)], np.int32)))


def test_words_have_their_numbers(tmp_path):
    model = model_of(random_model(np.random.default_rng(0), 2), tmp_path)
    assert model.word_ids(Texts.from_strings(["<unk>", "<s>", "</s>", "a", "nowhere", ""])).tolist() == [
        0,
        1,
        2,
        3,
        0,
        0,
    ]


def test_the_package_offers_models_by_name():
    made = luthier.estimate_lm(["a b", "b a"], order=2)
    assert isinstance(luthier.LanguageModel.from_arpa(made.model).score(["a b"]).totals[0], float)


def test_the_page_runs_as_printed(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parent.parent.parent / "docs" / "language-model.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {}
    snippets = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(snippets) == 1
    for snippet in snippets:
        exec(snippet, names)
    assert capsys.readouterr().out.startswith("[-")
    assert names["model"].order == 3
