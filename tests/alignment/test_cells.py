"""The text as numbers: pairs left out, cells and types against dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from small_texts import PAIRS, sentence_pairs, ways

from luthier.alignment.bitext import read_bitext
from luthier.alignment.cells import number_cells
from luthier.core.errors import InputError
from luthier.corpus.texts import Texts


@settings(max_examples=50)
@given(PAIRS)
def test_every_cell_has_the_type_of_its_words(pairs):
    (forward, backward), bitext = ways(pairs)
    types = {}  # number → (source word, target word)
    for direction in (forward, backward):
        for (source, target), (numbers, _) in zip(pairs, sentence_pairs(direction), strict=True):
            given_words, predicted = (source, target) if direction is forward else (target, source)
            for i, g in enumerate(given_words):
                for j, p in enumerate(predicted):
                    words = (g, p) if direction is forward else (p, g)
                    assert types.setdefault(numbers[i, j], words) == words
    assert len(set(types.values())) == len(types) == len(forward.given_of_type)
    assert sorted(types) == list(range(len(types)))
    for number, (source, target) in types.items():
        assert bitext.source_words[forward.given_of_type[number]] == source
        assert bitext.target_words[backward.given_of_type[number]] == target


def test_types_are_found_in_another_table():
    known = read_bitext(["a b", "c"], ["x y", "y"])
    kept = number_cells(known)
    new = read_bitext(
        ["c d", "a", "b b"], ["y x", "z x", "y"], known=(known.source_words, known.target_words)
    )  # fmt: skip
    cells = number_cells(new)
    found = cells.find_in(kept.type_offsets, kept.type_targets)
    expected = {("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "y")}
    sources = np.repeat(np.arange(cells.n_sources), np.diff(cells.type_offsets))
    kept_sources = np.repeat(np.arange(kept.n_sources), np.diff(kept.type_offsets))
    for f, e, at in zip(sources, cells.type_targets, found, strict=True):
        words = new.source_words[f], new.target_words[e]
        assert (at >= 0) == (words in expected)
        if at >= 0:
            assert (kept_sources[at], kept.type_targets[at]) == (f, e)
    assert (found >= 0).sum() == 3  # c-y, a-x, b-y


def test_pairs_left_out_are_counted_and_keep_their_place(tmp_path):
    (tmp_path / "s").write_text("a b\n\na\n" + "w " * 500 + "\n  \na\n")
    (tmp_path / "t").write_text("x\nx\nx y\nx\n" + "w " * 500 + "\nx\n")
    bitext = read_bitext(tmp_path / "s", tmp_path / "t")
    assert bitext.kept.tolist() == [0, 2, 5]
    assert (len(bitext), bitext.empty, bitext.long) == (6, 2, 1)
    assert read_bitext(tmp_path / "s", tmp_path / "t", max_words=500).kept.tolist() == [0, 2, 3, 5]


def test_known_words_keep_their_numbers():
    words = Texts.from_strings(["p", "q"]), Texts.from_strings(["r"])
    bitext = read_bitext(["n q p"], ["s r"], known=words)
    assert bitext.source.ids.tolist() == [2, 1, 0]
    assert list(bitext.source_words) == ["p", "q", "n"]
    assert bitext.target.ids.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (b"a\nb\n", b"x\n", r"/s:2: expected as many lines as .*/t has, 1, found 2\. hint: line k"),
        (b"a\n", b"x\ny\nz\n", r"/t:2: expected as many lines as .*/s has, 1, found 3\."),
        (b"\na\n", b"x\n\n", r"/s: expected at least one pair with 1 to 100 words on each side, found none in 2"),
        (b"a\n\xe4\n", b"x\ny\n", r"/s:2: expected UTF-8 text, found the bytes"),
        (b"", b"x\n", r"/s: expected at least one line, found an empty file"),
    ],
)
def test_complaints(tmp_path, source, target, words):
    (tmp_path / "s").write_bytes(source)
    (tmp_path / "t").write_bytes(target)
    with pytest.raises(InputError, match=words):
        read_bitext(tmp_path / "s", tmp_path / "t")
