import numpy as np
import pytest
from against_sacrebleu import corpora
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts, Tokens
from luthier.metrics import batch as batch_module
from luthier.metrics.batch import Batch, Numbered


def words_of(tokens, vocab):
    known = list(vocab)
    return [[known[k] for k in tokens[row]] for row in range(len(tokens))]


@given(corpora(), st.booleans())
@settings(max_examples=40)
def test_tokens_are_those_of_str_split(corpus, lowercase):
    batch = Batch.from_lines(*corpus)
    numbered = batch.numbered(lowercase=lowercase)
    for texts, tokens in ((batch.hyps, numbered.hyps), (batch.refs, numbered.refs)):
        expected = [(text.lower() if lowercase else text).split() for text in texts]
        assert words_of(tokens, numbered.vocab) == expected


@given(corpora(), st.booleans(), st.sampled_from(["drop", "keep", "single"]))
@settings(max_examples=40)
def test_characters(corpus, lowercase, whitespace):
    batch = Batch.from_lines(*corpus)
    shape = {"drop": lambda t: "".join(t.split()), "keep": str, "single": lambda t: " ".join(t.split())}
    for texts, points in zip((batch.hyps, batch.refs), batch.characters(whitespace, lowercase=lowercase), strict=True):
        expected = [shape[whitespace](text.lower() if lowercase else text) for text in texts]
        assert ["".join(map(chr, points[row])) for row in range(len(points))] == expected


def test_every_white_space_of_python_is_white_space():
    spaces = "".join(c for c in map(chr, range(0x110000)) if c.isspace())
    others = "\u200b\u180e\u2060\ufeff\x00\x1b!\u0084\u2027\u2060"
    batch = Batch.from_lines(["x".join(spaces) + others], [[""]])
    expected = "".join(batch.hyps[0].split())
    assert "".join(map(chr, batch.characters()[0][0])) == expected


def test_blocks_do_not_show(monkeypatch):
    lines = [f"w{i % 7} w{i % 3}" for i in range(20)]
    whole = Batch.from_lines(lines, [lines[::-1]]).tokens()
    monkeypatch.setattr(batch_module, "BLOCK_ROWS", 3)
    blocks = Batch.from_lines(lines, [lines[::-1]]).tokens()
    for one, other in zip(whole, blocks, strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.offsets, other.offsets)


def test_given_tokens_are_used():
    hyps, refs = Tokens(np.array([0, 2]), np.array([1, 0])), Tokens(np.array([0, 1]), np.array([1]))
    vocab = Texts.from_strings(["A", "b"])
    batch = Batch.of(
        texts=Texts.from_strings(["b A"]), offsets=[0, 1],
        references=Texts.from_strings(["b"]), reference_offsets=[0, 1], tokens=Numbered(hyps, refs, vocab),
    )  # fmt: skip
    assert batch.tokens()[0] is hyps
    assert list(batch.numbered(lowercase=True).vocab) == ["a", "b"]
    assert batch.rewritten(str.upper).tokens()[0].ids.tolist() == [0, 1]  # references come first


def test_what_was_made_is_kept():
    batch = Batch.from_lines(["a"], [["b"]])
    assert batch.tokens()[0] is batch.tokens()[0]
    assert batch.characters()[0] is batch.characters()[0]
    assert batch.tokens("13a")[0] is not batch.tokens()[0]


def test_rewriting_sees_each_distinct_text_once():
    seen = []
    batch = Batch.from_lines(["a", "b", "a"], [["b", "b", "c"]])
    rewritten = batch.rewritten(lambda text: seen.append(text) or text * 2)
    assert sorted(seen) == ["a", "b", "c"]
    assert list(rewritten.hyps) == ["aa", "bb", "aa"]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Batch.from_lines(["a", "b"], [["a"]]), "expected 2 lines in reference stream 0, found 1"),
        (lambda: Batch.of(texts=Texts.from_strings(["a"]), offsets=[1, 1]), "must start at 0"),
        (lambda: Batch.of(texts=Texts.from_strings(["a"]), offsets=[0, 2]), "expected 2 hypotheses, found 1"),
        (lambda: Batch.from_lines(["a"], []).tokens(), "at least one reference .* none for sentence 0"),
        (lambda: Batch.from_lines(["a"], [["a"]]).tokens("mecab"), "no tokenizer 'mecab'. known: none, 13a"),
    ],
)
def test_complains(make, message):
    with pytest.raises(LuthierError, match=message):
        make()


def test_an_empty_batch_has_empty_everything():
    batch = Batch.from_lines([], [[]])
    assert len(batch.tokens()[0]) == len(batch.characters(lowercase=True)[0]) == 0
