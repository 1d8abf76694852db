"""Numbers for texts against a dictionary, and tokens against `str.split`."""

from __future__ import annotations

import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize

SPACES = "".join(chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace())
# White space, and what only looks like it: neighbours in code, first bytes of white space alone.
NEAR = "a\u00c2\u0084\u0086\u200b\u180e\u2060\ufeff\u1681\u2027\u202a\u3001\u20ac😀\x00\x08\x0e\x1b\x7f"
quickly = settings(max_examples=60)


def spans(texts):
    bounds = np.cumsum([0, *(len(text) for text in texts)])
    return np.frombuffer(b"".join(texts), dtype=np.uint8), bounds[:-1], bounds[1:]


@quickly
@given(st.lists(st.lists(st.binary(max_size=9), max_size=12), max_size=4))
def test_numbers_are_those_of_a_dictionary(batches):
    interner, known = Interner(), {}
    for batch in batches:
        expected = [known.setdefault(text, len(known)) for text in batch]
        assert interner.intern_spans(*spans(batch)).tolist() == expected
    assert len(interner) == len(known)
    found = interner.texts()
    assert [found.data[a:b].tobytes() for a, b in zip(found.offsets, found.offsets[1:], strict=False)] == list(known)


def test_many_texts_of_many_lengths_while_the_table_grows():
    texts = [b"%d" % (i * i % 7919) + b"x" * (i % 97) for i in range(3000)]
    known = {}
    expected = [known.setdefault(text, len(known)) for text in texts]
    interner = Interner()
    half = len(texts) // 2
    assert interner.intern_spans(*spans(texts[:half])).tolist() == expected[:half]
    assert interner.intern_spans(*spans(texts[half:])).tolist() == expected[half:]


def test_one_text_longer_than_all_room():
    long = b"y" * 100_000
    interner = Interner()
    assert interner.intern_spans(*spans([b"a", long, b"", long, b"a", b""])).tolist() == [0, 1, 2, 1, 0, 2]
    assert len(interner.texts()[1]) == len(long)


def test_known_texts_keep_their_first_number():
    interner = Interner.of(Texts.from_strings(["b", "a", "b"]))
    assert len(interner) == 2
    assert interner.intern_texts(Texts.from_strings(["a", "b", "c"])).tolist() == [1, 0, 2]


def test_texts_taken_out_do_not_change_later():
    interner = Interner.of(Texts.from_strings(["a"]))
    before = interner.texts()
    interner.intern_texts(Texts.from_strings(["b"]))
    assert list(before) == ["a"]


@quickly
@given(st.lists(st.text(st.sampled_from(SPACES + NEAR) | st.characters(exclude_categories=["Cs"]), max_size=20)))
def test_tokens_are_those_of_str_split(strings):
    vocab, known = Interner(), {}
    tokens = tokenize(Texts.from_strings(strings), vocab)
    expected = [[known.setdefault(token, len(known)) for token in string.split()] for string in strings]
    assert [tokens[i].tolist() for i in range(len(tokens))] == expected
    assert list(vocab.texts()) == list(known)


def test_every_white_space_of_unicode_separates_and_nothing_else():
    points = [c for c in range(0x3100) if not 0xD800 <= c < 0xE000]
    strings = [f"a{chr(c)}b" for c in points]
    counts = tokenize(Texts.from_strings(strings), Interner()).lengths.tolist()
    assert counts == [len(string.split()) for string in strings]
    assert max(map(ord, SPACES)) < 0x3100


def test_tokens_of_a_stretch_of_a_column():
    texts = Texts.from_strings(["x y", "a b", "c"])
    stretch = Texts(texts.offsets[1:], texts.data)  # does not begin at byte 0
    vocab = Interner()
    assert tokenize(stretch, vocab).ids.tolist() == [0, 1, 2]
    assert list(vocab.texts()) == ["a", "b", "c"]
