"""Grammars as text: each format, what it refuses and in which words, and the way there and back."""

import gzip
import math

import numpy as np
import pytest
from small_corpora import diagonal_pairs, model_of, rules_of

from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.corpus.texts import Texts
from luthier.grammar.extraction.extract import extract
from luthier.grammar.reading import read_grammar
from luthier.grammar.writing import write_folder, write_grammar

CDEC = """\
[X] ||| das [X,1] ist ||| the [X,1] is ||| A=1.5 Sparse_das_the=1 B=-0 ||| 0-0 2-2
[X] ||| [X,1] und [X,2] ||| [X,2] and [X,1] ||| A=2 ||| 1-1
[X] ||| das [X,1] ist ||| it is [1] ||| B=1e-05 |||
[X] ||| weg ||| ||| A=0.25
[X] ||| [X,2] [X,1] da ||| there [X,1] [X,2] ||| A=3 |||
"""


def written(tmp_path, text, name="grammar.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_cdec_with_sparse_features(tmp_path):
    grammar = read_grammar(written(tmp_path, CDEC))
    assert rules_of(grammar) == {
        (("das", -1, "ist"), ("the", -1, "is")): ({"A": 1.5, "Sparse_das_the": 1.0, "B": 0.0}, ((0, 0), (2, 2))),
        (("das", -1, "ist"), ("it", "is", -1)): ({"B": 1e-5}, ()),
        ((-1, "und", -2), (-2, "and", -1)): ({"A": 2.0}, ((1, 1),)),
        (("weg",), ()): ({"A": 0.25}, ()),
        ((-1, -2, "da"), ("there", -2, -1)): ({"A": 3.0}, ()),  # gaps are numbered by the source side
    }
    assert grammar.n_sides == 4
    assert grammar.gap_counts.tolist() == [1, 2, 0, 2]
    assert grammar.feature("A").tolist() == [1.5, 0.0, 2.0, 0.25, 3.0]


def test_joshua_by_number_with_the_sign_turned(tmp_path):
    text = "[X] ||| a [X,1] ||| b [X,1] ||| 0.5 2 Name=3 ||| 0-0\n[X] ||| a ||| c ||| 1 0\n"
    rules = rules_of(read_grammar(written(tmp_path, text)))
    assert rules[("a", -1), ("b", -1)] == ({"tm_pt_0": -0.5, "tm_pt_1": -2.0, "Name": 3.0}, ((0, 0),))
    assert rules[("a",), ("c",)][0] == {"tm_pt_0": -1.0, "tm_pt_1": 0.0}


def test_moses_tables(tmp_path):
    text = (
        "a [X][X] b [X][X] [X] ||| [X][X] c [X][X] [X] ||| 0.5 0 1 ||| 1-2 3-0 0-1 ||| 1 2 1 ||| |||\n"
        "a [X] ||| c [X] ||| 1 0.1 1 ||| 0-0 ||| 1 1 1\n"
    )
    rules = rules_of(read_grammar(written(tmp_path, text)))
    features, links = rules[("a", -1, "b", -2), (-2, "c", -1)]
    assert features == pytest.approx(
        {"TranslationModel0_0": math.log(0.5), "TranslationModel0_1": -100.0, "TranslationModel0_2": 0.0}
    )
    assert links == ((1, 2), (3, 0), (0, 1))
    assert rules[("a",), ("c",)][1] == ((0, 0),)


def test_a_bracketed_number_is_a_word_beside_written_gaps(tmp_path):
    text = "[X] ||| a [X,1] [1] ||| b [1] [X,1] ||| A=1 |||\n[X] ||| c ||| [1] ||| A=1 |||\n"
    assert set(rules_of(read_grammar(written(tmp_path, text)))) == {
        (("a", -1, "[1]"), ("b", "[1]", -1)), (("c",), ("[1]",)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[X] ||| a", "expected a rule of at least 3 fields separated by |||, found 2"),
        ("[NP] ||| a ||| b ||| A=1 |||", "expected a rule with the label [X], found '[NP]'"),
        ("[X] ||| a [NP,1] ||| b [NP,1] ||| A=1 |||", "expected gaps [X,1] and [X,2], found '[NP,1]'"),
        ("[X] ||| a [X,1] ||| b ||| A=1 |||", "expected the same gaps on both sides, each once"),
        ("[X] ||| a ||| b [X,1] ||| A=1 |||", "expected the same gaps on both sides, each once"),
        ("[X] ||| a [X,1] [X,1] ||| [X,1] [X,1] ||| A=1 |||", "expected the same gaps on both sides, each once"),
        ("[X] ||| a [X,1] b [X,2] c [X,3] ||| [X,1] [X,2] [X,3] ||| A=1 |||", "expected at most two gaps"),
        ("[X] ||| [X,1] ||| [X,1] b ||| A=1 |||", "expected a source side with more than a gap"),
        ("[X] ||| ||| b ||| A=1 |||", "expected a source side, found"),
        ("[X] ||| a ||| b ||| A=x |||", "expected features name=value with finite numbers, found 'A=x'"),
        ("[X] ||| a ||| b ||| A=nan |||", "expected features name=value with finite numbers, found 'A=nan'"),
        ("[X] ||| a ||| b ||| =1 |||", "expected features name=value with finite numbers, found '=1'"),
        ("[X] ||| a ||| b ||| A=1 ||| 0", "expected links such as 0-0 1-2, of symbols from 0 to 255, found '0'"),
        ("[X] ||| a ||| b ||| A=1 ||| 0-1", "expected links between symbols of the rule, found '0-1'"),
        ("[X] ||| a ||| b ||| A=1 ||| 0-99999999999999999999", "expected links such as"),
        ("", "expected a rule of at least 3 fields"),
    ],
)
def test_a_broken_line_is_told_with_its_number(tmp_path, line, words):
    path = written(tmp_path, CDEC + line + "\n")
    with pytest.raises(InputError) as error:
        read_grammar(path)
    assert words in str(error.value)
    assert str(error.value).startswith(f"{path}:6: ")


def test_other_faults(tmp_path):
    with pytest.raises(InputError, match="UTF-8"):
        read_grammar(written(tmp_path, CDEC.encode() + b"[X] ||| \xff ||| b ||| A=1 |||\n"))
    with pytest.raises(InputError, match="empty file"):
        read_grammar(written(tmp_path, ""))
    with pytest.raises(InputError, match="one of the formats cdec, joshua, moses"):
        read_grammar(written(tmp_path, "no grammar at all\n"))
    with pytest.raises(InputError, match="Windows line end"):
        read_grammar(written(tmp_path, CDEC.replace("\n", "\r\n")))
    with pytest.raises(InputError, match="damaged or cut off"):
        read_grammar(written(tmp_path, gzip.compress(CDEC.encode() * 50)[:-20], "grammar.gz"))
    with pytest.raises(InputError, match="probabilities, found -1"):
        read_grammar(written(tmp_path, "a [X] ||| c [X] ||| -1 ||| 0-0\n"))
    with pytest.raises(InputError, match="sides that end in the label"):
        read_grammar(written(tmp_path, "a [X] ||| c [X] ||| 1 ||| 0-0\na ||| c [X] ||| 1 ||| 0-0\n"))


def test_glue_rules_are_left_out_with_a_warning(tmp_path):
    path = written(tmp_path, CDEC + "[S] ||| [S,1] [X,2] ||| [S,1] [X,2] ||| Glue=1 |||\n")
    with pytest.warns(LuthierWarning, match="1 rules with the label S were left out"):
        assert read_grammar(path).n_rules == 5


def test_what_is_written_is_read_again(tmp_path):
    pairs = diagonal_pairs(1, 30, words=6)
    model = model_of(*pairs)
    grammar = extract(model, Texts.from_strings(" ".join(s) for s in pairs[0][:4]), features=["all"])
    path, again = tmp_path / "grammar.gz", tmp_path / "again.txt"
    write_grammar(grammar, path)
    read = read_grammar(path)
    assert rules_of(read).keys() == rules_of(grammar).keys()
    for key, (features, links) in rules_of(read).items():
        expected, linked = rules_of(grammar)[key]
        assert features == pytest.approx(expected, rel=1e-11)
        assert links == linked
    write_grammar(read, again)
    assert sorted(again.read_bytes().splitlines()) == sorted(gzip.decompress(path.read_bytes()).splitlines())


def test_text_of_rules_is_kept_to_the_byte(tmp_path):
    text = CDEC.replace("[1]", "[X,1]").replace("A=0.25", "A=0.25 |||").replace("||| |||", "|||  |||")
    text = text.replace("weg ||| |||", "weg ||| |||").replace("weg |||  |||", "weg ||| |||")
    lines = [line for line in text.splitlines() if "[X,2] [X,1]" not in line]
    path = written(tmp_path, "\n".join(lines) + "\n")
    write_grammar(read_grammar(path), tmp_path / "again.txt")
    assert sorted((tmp_path / "again.txt").read_text().splitlines()) == sorted(lines)


def test_a_folder_has_the_grammar_of_each_sentence(tmp_path):
    pairs = diagonal_pairs(2, 30, words=6)
    grammar = extract(model_of(*pairs), Texts.from_strings([" ".join(pairs[0][0]), "unknown", " ".join(pairs[0][1])]))
    assert write_folder(grammar, tmp_path / "grammars", threads=2) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["grammars"]
    for number in (0, 2):
        found = rules_of(read_grammar(tmp_path / "grammars" / f"grammar.{number}.gz"))
        assert found.keys() == rules_of(grammar.sentence(number)).keys()
    assert gzip.decompress((tmp_path / "grammars" / "grammar.1.gz").read_bytes()) == b""
    with pytest.raises(LuthierError, match="it is there already"):
        write_folder(grammar, tmp_path / "grammars")


def test_a_folder_that_fails_leaves_nothing(tmp_path, monkeypatch):
    pairs = diagonal_pairs(2, 10)
    grammar = extract(model_of(*pairs), Texts.from_strings([" ".join(pairs[0][0])] * 3))
    monkeypatch.setattr("luthier.grammar.writing._write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_folder(grammar, tmp_path / "grammars")
    assert not list(tmp_path.iterdir())


def test_lookups_in_the_trie(tmp_path):
    grammar = read_grammar(written(tmp_path, CDEC))
    words = {word: k for k, word in enumerate(grammar.source_words)}
    node = 0
    for symbol in (words["das"] + 1, 0, words["ist"] + 1):
        node = grammar.trie.child(node, symbol)
    side = int(grammar.trie.sides[node])
    rows = range(int(grammar.rule_offsets[side]), int(grammar.rule_offsets[side + 1]))
    assert {grammar.rule(row).target for row in rows} == {"the [X,1] is", "it is [X,1]"}
    assert grammar.trie.child(0, words["ist"] + 1) == -1
    assert int(grammar.trie.sides[0]) == -1
    assert np.count_nonzero(grammar.trie.sides >= 0) == grammar.n_sides


def test_a_table_of_phrases_is_told_apart(tmp_path):
    with pytest.raises(InputError, match="of Moses' tables only hierarchical ones are read"):
        read_grammar(written(tmp_path, "das haus ||| the house ||| 0.5 0.4 1e-3 0.2 ||| 0-0 1-1 ||| 10 10 5\n"))
