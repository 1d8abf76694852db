"""Weights: three formats that read back to the last bit, and names that must fit."""

from __future__ import annotations

import copy
import gzip
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.kbest.weight_templates import write_into_template
from luthier.kbest.weights import Weights, read_weights, write_weights

finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6) | st.sampled_from(
    ["tm_0", "tm_1", "tm_2", "tm", "x_0", "_0", "_1", "a=b", "a b", "#x", "[weight]", "{", "a=", "1", "\u2028x"]
)
tables = st.dictionaries(names, finite, min_size=1, max_size=6)


@pytest.fixture
def write(tmp_path):
    def write(text, name="weights"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


@settings(max_examples=100)
@given(tables, st.sampled_from(["text", "moses", "json"]))
def test_what_is_written_reads_back_and_what_cannot_be_is_refused(tmp_path_factory, weights, style):
    path = tmp_path_factory.mktemp("weights") / "w"
    try:
        write_weights(weights, path, style=style)
    except LuthierError:
        assert style != "json"
        assert not path.exists()
        return
    again = read_weights(path)
    assert dict(again) == weights
    assert all(np.float64(again[name]).tobytes() == np.float64(weights[name]).tobytes() for name in weights)


@pytest.mark.parametrize("style", ["text", "moses", "json"])
def test_ordinary_names_can_be_written_in_any_style(tmp_path, style):
    weights = {"LM0": 0.5, "TM0_0": 0.1, "TM0_1": -1e-30, "a=b": 3.0, "ü😀": 0.0}
    write_weights(weights, tmp_path / "w", style=style)
    assert dict(read_weights(tmp_path / "w")) == weights


def test_names_with_spaces_in_lines_and_json(tmp_path):
    for style in ("text", "json"):
        write_weights({"word penalty": 0.5}, tmp_path / "w", style=style)
        assert dict(read_weights(tmp_path / "w")) == {"word penalty": 0.5}
    with pytest.raises(LuthierError, match="'word penalty' cannot stand in a \\[weight\\] section"):
        write_weights({"word penalty": 0.5}, tmp_path / "w", style="moses")


def test_the_ending_says_the_style(tmp_path):
    for ending, start in (("json", "{"), ("ini", "[weight]"), ("txt", "tm_0 "), ("json.gz", "{")):
        path = tmp_path / f"w.{ending}"
        write_weights({"tm_0": 0.1, "tm_1": 0.2}, path)
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if ending.endswith("gz") else raw).decode()
        assert text.startswith(start)
        assert dict(read_weights(path)) == {"tm_0": 0.1, "tm_1": 0.2}


def test_lines(write):
    text = "# a comment\n\nlm 0.5\nword penalty\t-1e-3\n  tm_0   2\n a=b 3\nd= 4\nx=5\n"
    assert dict(read_weights(write(text))) == {
        "lm": 0.5, "word penalty": -1e-3, "tm_0": 2, "a=b": 3, "d": 4, "x": 5,
    }  # fmt: skip


def test_a_moses_section_with_several_values(write):
    ini = """
# moses.ini
[feature]
Distortion name=Distortion0
[weight]
# tuned
TranslationModel0= 0.2 0.1 -0.3
LM0= 0.5
 Distortion0=0.25

[decoder]
x= 7
"""
    assert dict(read_weights(write(ini))) == {
        "TranslationModel0_0": 0.2, "TranslationModel0_1": 0.1, "TranslationModel0_2": -0.3, "LM0": 0.5,
        "Distortion0": 0.25,
    }  # fmt: skip


def test_moses_values_are_gathered_under_their_label(tmp_path):
    weights = {"tm_1": 2.0, "lm": 1.0, "tm_0": 0.5, "x_0": 3.0, "y_1": 4.0}
    write_weights(weights, tmp_path / "w.ini")
    assert (tmp_path / "w.ini").read_text().splitlines() == [
        "[weight]", "tm= 0.5 2.0", "lm= 1.0", "x_0= 3.0", "y_1= 4.0",
    ]  # fmt: skip
    assert dict(read_weights(tmp_path / "w.ini")) == weights


def test_json(write):
    assert dict(read_weights(write('{"a": 1, "b c": -2.5e-3}'))) == {"a": 1, "b c": -0.0025}
    assert dict(read_weights(write('\n {"weights": {"a": 1}, "seed": 3}'))) == {"a": 1}
    assert dict(read_weights(write('{"weights": 2}'))) == {"weights": 2}


@pytest.mark.parametrize(
    "text, message, line",
    [
        ("lm 0.5\nlm 0.6\n", "each name once, found 'lm' again", 2),
        ("lm nan\n", "a finite number for 'lm', found 'nan'", 1),
        ("a 1\nlm -inf\n", "a finite number for 'lm', found '-inf'", 2),
        ("lm 1_000\n", "a finite number for 'lm', found '1_000'", 1),
        ("lm x\n", "a finite number for 'lm', found 'x'", 1),
        ("lm 1e999\n", "a finite number", 1),
        ("lonely\n", "'name value', found 'lonely'", 1),
        ("=3\n", "'name value', found '=3'", 1),
        ("# nothing\n", "at least one weight", None),
        ("", "at least one line", None),
        ("[weight]\n", "at least one weight", None),
        ("[weight]\nLM0 0.5\n", "'Name= value …', found 'LM0 0.5'", 2),
        ("[weight]\nLM0=\n", "'Name= value …'", 2),
        ("[weight]\nLM0= 1 y\n", "a finite number for 'LM0_1', found 'y'", 2),
        ("[weight]\nLM0= 1\nLM0= 2\n", "'LM0' again", 3),
        ("{}", "at least one weight", None),
        ('{"a": 1, "a": 2}', "'a' twice", None),
        ('{"a": NaN}', "a finite number for 'a'", None),
        ('{"a": 1' + "0" * 400 + "}", "a finite number for 'a'", None),
        ('{"a": "1"}', "a finite number for 'a'", None),
        ('{"a": true}', "a finite number for 'a'", None),
        ('{"a": null}', "a finite number for 'a'", None),
        ('{"a": 1,\n]', "a JSON object of names and numbers", 2),
        (b"caf\xe9 1\n", "UTF-8", 1),
    ],
)
def test_faults_have_their_place(write, text, message, line):
    path = write(text)
    with pytest.raises(InputError) as caught:
        read_weights(path)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_weight_for_an_unknown_feature_is_an_error_with_a_suggestion():
    with pytest.raises(LuthierError, match=r"w.txt: no feature is called 'LM0'. hint: did you mean 'LM00'"):
        Weights({"LM0": 1.0}).vector(["LM00", "TM1"], source="w.txt")


def test_a_weight_without_a_feature_counts_0_with_a_warning():
    # a real moses.ini has an UnknownWordPenalty0 that lists do not carry
    weights = Weights({"LM0": 1.0, "UnknownWordPenalty0": 1.0, "TM0": 2.0, "TM1": 3.0})
    told = r"w.ini: 1 of 4 weights are of features that the lists lack and count 0: 'UnknownWordPenalty0'$"
    with pytest.warns(LuthierWarning, match=told):
        vector = weights.vector(["TM0", "TM1", "LM0"], source="w.ini")
    assert vector.tolist() == [2, 3, 1]
    with pytest.raises(LuthierError, match=r"w.ini: no feature is called 'UnknownWordPenalty0'"):
        weights.vector(["TM0", "TM1", "LM0"], source="w.ini", strict=True)


def test_sparse_weights_fit_lists_that_have_few_of_them():
    weights = Weights({f"s{i}": 1.0 for i in range(1000)})
    names = [f"s{i}" for i in range(990, 1090)]  # ten of a hundred are known
    with pytest.warns(LuthierWarning) as told:
        assert weights.vector(names).sum() == 10
    assert [str(one.message).split(":")[1] for one in told] == [
        " 990 of 1000 weights are of features that the lists lack and count 0",
        " 90 of 100 features have no weight and count 0",
    ]
    with pytest.raises(LuthierError, match="no feature is called"):
        weights.vector([f"s{i}" for i in range(991, 1091)])  # nine of a hundred are not enough


def test_a_feature_without_a_weight_counts_0_with_a_warning():
    with pytest.warns(LuthierWarning, match=r"the weights: 2 of 3 features have no weight and count 0: 'b', 'c'"):
        vector = Weights({"a": 2.0}).vector(["b", "a", "c"])
    assert vector.tolist() == [0, 2, 0]


def test_vectors_are_in_the_order_of_the_features():
    weights = Weights.from_vector(["a", "b", "c"], np.array([1, 2, 3]))
    assert weights.vector(["c", "a", "b"]).tolist() == [3, 1, 2]
    with pytest.raises(ValueError, match="zip"):
        Weights.from_vector(["a"], np.array([1, 2]))
    with pytest.raises(LuthierError, match="the weight of 'a' must be a finite number, found nan"):
        Weights({"a": float("nan")})


def test_many_names_are_handled_in_good_time():
    names = [f"name {i}" for i in range(30_000)]  # quadratic work would take minutes
    assert Weights(dict.fromkeys(names, 1.0)).vector(names).sum() == len(names)


def test_weights_are_a_mapping_that_cannot_be_changed_but_sent():
    table = {"a": 1.0}
    weights = Weights(table)
    table["a"] = 2.0
    assert dict(weights) == {"a": 1.0}
    with pytest.raises(TypeError):
        weights.values_by_name["a"] = 3.0
    for again in (pickle.loads(pickle.dumps(weights)), copy.deepcopy(weights)):
        assert again == weights


def test_weights_are_brought_to_a_size():
    weights = Weights({"am": 4.0, "lm": -2.0, "wp": 0.0}, {"wp": "words"})
    assert dict(weights.normalized("l1")) == {"am": 4 / 6, "lm": -2 / 6, "wp": 0}
    assert dict(weights.normalized("am")) == {"am": 1, "lm": -0.5, "wp": 0}
    assert weights.normalized("am").derived == weights.derived
    assert sum(v * v for v in weights.normalized("l2").values()) == pytest.approx(1)
    with pytest.warns(LuthierWarning, match="negative and becomes -1"):
        assert dict(weights.normalized("lm")) == {"am": 2, "lm": -1, "wp": 0}
    for how, complaint in (("wp", "that is 0"), ("ml", "no feature is called 'ml'")):
        with pytest.raises(LuthierError, match=complaint):
            weights.normalized(how)
    with pytest.raises(LuthierError, match="that is 0"):
        Weights({"a": 0.0}).normalized("l2")
    with pytest.raises(LuthierError, match="too small or too large beside"):
        Weights({"a": 1e-300, "b": 1e300}).normalized("a")
    big = Weights({"a": 1e308, "b": 1e308}).normalized("l1")
    assert dict(big) == {"a": 0.5, "b": 0.5}


INI = """\
# Moses
[feature]
KENLM name=LM0 path=lm.bin
[weight]
LM0= 0.5
TM0= 0.2 0.2 0.1
UnknownWordPenalty0= 1
[weight-file]
old.sparse
[threads]
4
"""


def test_a_whole_moses_configuration_is_rewritten(tmp_path, write):
    template = write(INI, "moses.ini")
    weights = Weights({"LM0": 1.5, "TM0_0": 0.25, "TM0_2": -1.0})
    assert write_into_template(weights, str(template), str(template)) == [str(template)]
    expected = INI.replace("LM0= 0.5", "LM0= 1.5").replace("TM0= 0.2 0.2 0.1", "TM0= 0.25 0.2 -1.0")
    assert template.read_text() == expected
    out = str(tmp_path / "tuned.ini")
    sparse = Weights({**weights, "pp_a~b": 0.125, "lp": 2.0}, {"lp": "LM0/words"})
    with pytest.warns(LuthierWarning, match="there is no file 'old.sparse', which .weight-file. names"):
        assert write_into_template(sparse, str(template), out) == [out, f"{out}.sparse"]
    text = (tmp_path / "tuned.ini").read_text()
    assert text.startswith("# add lp=LM0/words\n# Moses\n")
    assert "old.sparse" not in text
    assert text.endswith(f"[threads]\n4\n\n[weight-file]\n{out}.sparse\n")
    assert (tmp_path / "tuned.ini.sparse").read_text() == "pp_a~b 0.125\nlp 2.0\n"
    assert read_weights(tmp_path / "tuned.ini")["LM0"] == 1.5


def test_a_joshua_configuration_has_weights_among_its_settings(write):
    config = "lm = kenlm 5 false\npop-limit = 100\n# x\nmark-oovs = true\nlm_0 1.0\n  tm_pt_0\t-2e-1 \n"
    assert dict(read_weights(write(config))) == {"lm_0": 1.0, "tm_pt_0": -0.2}
    assert dict(read_weights(write("lm = 0.5\ntm= 2\nx=3\n"))) == {"lm": 0.5, "tm": 2.0, "x": 3.0}
    with pytest.raises(InputError, match="expected a finite number for 'lm', found 'x'"):
        read_weights(write("lm = x\n"))


def test_sparse_weights_of_a_moses_configuration_are_read_and_kept(tmp_path, write):
    template = write(INI, "moses.ini")
    write("pp_a~b 3\npp_old~x -0.5\n", "old.sparse")
    found = read_weights(template)
    assert list(found) == ["LM0", "TM0_0", "TM0_1", "TM0_2", "UnknownWordPenalty0", "pp_a~b", "pp_old~x"]
    assert (found["pp_a~b"], found["pp_old~x"], found["LM0"]) == (3, -0.5, 0.5)
    out = str(tmp_path / "tuned.ini")
    write_into_template(Weights({"LM0": 2.0, "pp_a~b": 0.125}), str(template), out)
    assert (tmp_path / "tuned.ini.sparse").read_text() == "pp_a~b 0.125\npp_old~x -0.5\n"
    assert dict(read_weights(out)) == {**found, "LM0": 2.0, "pp_a~b": 0.125}
    write("LM0 3\n", "old.sparse")
    with pytest.raises(InputError, match="expected each name once, found 'LM0' again"):
        read_weights(template)
    write("pp_a~b x\n", "old.sparse")
    with pytest.raises(InputError, match=r"old.sparse:1: expected a finite number for 'pp_a~b', found 'x'"):
        read_weights(template)


def test_lines_of_other_configurations_get_new_values(tmp_path, write):
    config = "lm = kenlm 5 false\n\n# weights\nlm_0 1.0\n  tm_pt_0\t-2e-1 \nmark-oovs = true\n"
    out = str(tmp_path / "out")
    write_into_template(Weights({"lm_0": 0.5, "tm_pt_0": 3.0, "x": 1.0}), str(write(config)), out)
    assert (tmp_path / "out").read_text() == (
        "lm = kenlm 5 false\n\n# weights\nlm_0 0.5\n  tm_pt_0\t3.0 \nmark-oovs = true\nx 1.0\n"
    )
    with pytest.raises(LuthierError, match="found neither"):
        write_into_template(Weights({"y": 0.5}), str(write(config)), out)
