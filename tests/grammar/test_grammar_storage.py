"""Grammar files and model folders: the same again, at once, and refused when damaged."""

import dataclasses

import numpy as np
import pytest
from small_corpora import diagonal_pairs, model_of, rules_of

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.array_file import open_arrays, save_arrays
from luthier.corpus.texts import Texts
from luthier.grammar.extraction.extract import extract
from luthier.grammar.model import FILE, open_model, read_model, save_model
from luthier.grammar.model import KIND as MODEL
from luthier.grammar.reading import read_grammar
from luthier.grammar.storage import KIND, is_grammar_file, open_grammar, save_grammar


@pytest.fixture(scope="module")
def pairs():
    return diagonal_pairs(1, 30, words=6)


@pytest.fixture(scope="module")
def grammar(pairs):
    return extract(model_of(*pairs), Texts.from_strings(" ".join(s) for s in pairs[0][:4]))


def test_a_grammar_is_the_same_again(tmp_path, grammar):
    path = tmp_path / "rules.grammar"
    save_grammar(grammar, path)
    again = open_grammar(path)
    for field in dataclasses.fields(grammar):
        one, other = getattr(grammar, field.name), getattr(again, field.name)
        if isinstance(one, np.ndarray):
            assert np.array_equal(one, other)
        elif field.name == "trie":
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        else:
            assert one == other
    assert is_grammar_file(path)
    assert rules_of(read_grammar(path)) == rules_of(grammar)
    before = path.read_bytes()
    save_grammar(again, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == before


def test_a_model_is_the_same_again(tmp_path, pairs, grammar):
    model = model_of(*pairs)
    save_model(model, tmp_path / "folder")
    again = extract(open_model(tmp_path / "folder"), Texts.from_strings(" ".join(s) for s in pairs[0][:4]))
    assert rules_of(again) == rules_of(grammar)


DAMAGE = [
    ("side_symbols", lambda a: a.__setitem__(0, 10_000)),
    ("side_symbols", lambda a: a.__setitem__(0, -3)),
    ("target_symbols", lambda a: a.__setitem__(slice(None), -1)),
    ("rule_offsets", lambda a: a.__setitem__(1, -5)),
    ("target_offsets", lambda a: a.__setitem__(-1, a[-1] + 1)),
    ("feature_ids", lambda a: a.__setitem__(0, 99)),
    ("feature_values", lambda a: a.__setitem__(0, np.nan)),
    ("links", lambda a: a.__setitem__(0, 200)),
    ("sentence_sides", lambda a: a.__setitem__(0, -1)),
    ("trie_keys", lambda a: a.__setitem__(slice(None), 5)),
    ("trie_keys", lambda a: a.__setitem__(np.flatnonzero(a >= 0)[0], -1)),
    ("trie_nodes", lambda a: a.__setitem__(slice(None), 1 << 30)),
    ("trie_sides", lambda a: a.__setitem__(slice(None), -1)),
    ("trie_sides", lambda a: a.__setitem__(slice(None), a[::-1].copy())),
    ("trie_roots", lambda a: a.__setitem__(0, 1 << 20)),
    ("source_words_offsets", lambda a: a.__setitem__(1, 1 << 40)),
    ("source_words_data", lambda a: a.__setitem__(slice(None), 255)),
]


@pytest.mark.parametrize(("column", "damage"), DAMAGE, ids=[f"{c}{k}" for k, (c, _) in enumerate(DAMAGE)])
def test_numbers_out_of_range_are_found(tmp_path, grammar, column, damage):
    path = tmp_path / "rules.grammar"
    save_grammar(grammar, path)
    arrays, about = open_arrays(path, KIND)
    changed = arrays[column].copy()
    damage(changed)
    save_arrays(path, KIND, arrays | {column: changed}, about)
    with pytest.raises(InputError, match="expected a whole grammar file"):
        open_grammar(path)


def test_a_column_that_is_missing_or_of_another_kind(tmp_path, grammar):
    path = tmp_path / "rules.grammar"
    save_grammar(grammar, path)
    arrays, about = open_arrays(path, KIND)
    save_arrays(path, KIND, {k: v for k, v in arrays.items() if k != "links"}, about)
    with pytest.raises(InputError, match="no column 'links'"):
        open_grammar(path)
    save_arrays(path, KIND, arrays | {"feature_ids": arrays["feature_ids"].astype(np.int64)}, about)
    with pytest.raises(InputError, match="no column 'feature_ids'"):
        open_grammar(path)


MODEL_DAMAGE = [
    ("words", lambda a: a.__setitem__(0, 10_000)),
    ("words", lambda a: a.__setitem__(-1, 1)),
    ("places", lambda a: a.__setitem__(0, -1)),
    ("sentence", lambda a: a.__setitem__(0, 1)),
    ("source_start", lambda a: a.__setitem__(1, 0)),
    ("target_start", lambda a: a.__setitem__(1, 1 << 40)),
    ("target", lambda a: a.__setitem__(0, -7)),
    ("source_high", lambda a: a.__setitem__(slice(None), 99)),
    ("target_low", lambda a: a.__setitem__(slice(None), -2)),
    ("link_target", lambda a: a.__setitem__(0, 99)),
    ("lexicon_targets", lambda a: a.__setitem__(0, 10_000)),
    ("lexicon_offsets", lambda a: a.__setitem__(1, -1)),
]


@pytest.mark.parametrize(("column", "damage"), MODEL_DAMAGE, ids=[f"{c}{k}" for k, (c, _) in enumerate(MODEL_DAMAGE)])
def test_a_damaged_model_is_refused(tmp_path, pairs, column, damage):
    save_model(model_of(*pairs), tmp_path)
    arrays, about = open_arrays(tmp_path / FILE, MODEL)
    changed = arrays[column].copy()
    damage(changed)
    save_arrays(tmp_path / FILE, MODEL, arrays | {column: changed}, about)
    with pytest.raises(InputError):
        open_model(tmp_path)


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(InputError, match="expected a folder with a model"):
        open_model(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(LuthierError, match="cannot write here"):
        save_model(model_of([["a"]], [["b"]], [[(0, 0)]]), tmp_path / "file")


@pytest.mark.parametrize("word", ["|||", "[X,1]", "[NP,12]", "[X][X]"])
def test_words_that_look_like_symbols_are_refused(word):
    with pytest.raises(InputError, match="cannot be taken for the signs of a grammar"):
        read_model(["a b", f"a {word}"], ["c", "d"], "nowhere")
