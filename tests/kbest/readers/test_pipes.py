"""The family of ``|||`` lists: what each decoder prints, with its oddities, in fixtures of our own."""

from __future__ import annotations

import pytest
from collected import collect, small_blocks
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core import plugins
from luthier.core.errors import InputError
from luthier.kbest.building.lists import ReadOptions, choose_reader, read_pool
from luthier.kbest.reading.reader import PACKAGE
from oracles import moses_features

FAMILY = ("moses", "cdec", "joshua", "travatar", "marian")

MOSES = """\
0 ||| das ist klein ||| LexicalReordering0= -1.5 0 0 Distortion0= 0 LM0= -12.25 TM0= -1e-3 -0.7 ||| -4.5
0 ||| das |||klein| ist ||| LexicalReordering0= -2 0 -1 Distortion0= -2 LM0= -13 TM0= 0 +.5 ||| -4.75
1 |||  ||| LexicalReordering0= 0 0 0 Distortion0= 0 LM0= -3 TM0= 0 0 ||| -1
"""
MOSES_SPARSE = """\
0 ||| a ||| Distortion0= 0 LM0= -1 TM0= 1 2 pp_ein~a= 1 dlmb_<s>:=a= 2 WordPenalty0= -1 ||| -4
0 ||| b ||| Distortion0= 0 LM0= -2 TM0= 1 2 WordPenalty0= -1 ||| -4
0 ||| c ||| Distortion0= 0 LM0= -2 TM0= 1 2 pp_ein~c= 1 pp_x=y~z=3 WordPenalty0= -1 ||| -4
"""
MOSES_OLD = """\
0||| a small house ||| d: 0 -1.5 lm: -12.1 tm: -1 -2 -3 w: -3 ||| -9.5
0||| a house ||| d: 0 -2 lm: -11 tm: -1 -2 -4 w: -2 ||| -9.75
"""
MOSES_ALIGNED = """\
0 ||| a b ||| LM0= -1 ||| -4 ||| 0=0 1-2=1 ||| 0-0 1-1 2-1
0 ||| b ||| LM0= -2 ||| -5 |||  |||\x20
"""
CDEC = """\
0 ||| the transactions ||| Glue=8 LanguageModel=-39.2525 PassThrough=1 PhraseModel_0=2.18572 ||| -28.842
0 ||| transactions ||| LanguageModel=-40 PhraseModel_0=2 LanguageModel_OOV=1 ||| -29
"""
JOSHUA = """\
0 ||| a strategy ||| tm_pt_0=-9.702 tm_pt_1=-10.800 lm_0=-19.117 OOVPenalty=0.000 WordPenalty=-3.040 ||| -7.496
0 ||| strategy |0-1| a |2-2| ||| tm_pt_0=-9 tm_pt_1=-10 lm_0=-19 OOVPenalty=0 WordPenalty=-3 sparse_x=1 ||| -7.5
"""
JOSHUA_BARE = """\
0 ||| a strategy ||| -9.702 -10.800 -19.117 0.000 ||| -7.496
0 ||| strategy a ||| -9.5 -10.5 -19.5 1 ||| -7.5
"""
TRAVATAR = """\
0 ||| this is a test ||| -12.5 ||| Pegf=-1.5 lm=-20.25 ppen=3 word=4
0 ||| a test ||| -13 ||| Pegf=-2 lm=-21 unk=1
1 ||| ||| 0 |||
"""
MARIAN = """\
0 ||| it works ||| F0= -1.5 F1= -2.25 ||| -0.5
0 ||| it does work ||| F0= -2 F1= -2.5 ||| -0.75
"""
MARIAN_ONE = "0 ||| it works ||| F0=-1.5 ||| -0.5\n0 ||| works ||| F0=-2 ||| -0.75\n"
MARIAN_ALL = """\
0 ||| it works ||| 0-0 1-1 2-2 ||| WordScores= -0.25 -0.5 -0.75 ||| F0= -1.5 ||| -0.5
0 ||| works ||| 0-0 2-1 ||| WordScores= -1 -1 ||| F0= -2 ||| -1
1 |||  ||| 0-0 ||| WordScores= -0.125 ||| F0= -0.125 ||| -0.125
"""


def read(tmp_path, text, name, **options):
    path = tmp_path / "list"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return collect(plugins.load(PACKAGE, name)(), path, **options)


@pytest.mark.parametrize(
    "text, name",
    [
        (MOSES, "moses"), (MOSES_SPARSE, "moses"), (MOSES_OLD, "moses"), (MOSES_ALIGNED, "moses"), (CDEC, "cdec"),
        (JOSHUA, "joshua"), (JOSHUA_BARE, "joshua"), (TRAVATAR, "travatar"), (MARIAN, "marian"),
        (MARIAN_ONE, "marian"), (MARIAN_ALL, "marian"),
    ],
)  # fmt: skip
def test_each_is_recognized(text, name):
    found, _ = choose_reader(text.encode(), "list", ReadOptions())
    assert found == name
    found, _ = choose_reader(b"\xef\xbb\xbf" + text.encode(), "list", ReadOptions())  # to complain of the mark
    assert found == name


def test_moses_labels_and_positions(tmp_path):
    found = read(tmp_path, MOSES, "moses")
    assert found.ids() == ["0", "0", "1"]
    assert found.texts() == ["das ist klein", "das |||klein| ist", ""]
    assert found.features()[0] == {
        "LexicalReordering0[0]": -1.5, "LexicalReordering0[1]": 0, "LexicalReordering0[2]": 0, "Distortion0[0]": 0,
        "LM0[0]": -12.25, "TM0[0]": -0.001, "TM0[1]": -0.7,
    }  # fmt: skip
    assert found.features()[1]["TM0[1]"] == 0.5


def test_moses_sparse_features_stand_where_they_are_not_0(tmp_path):
    (tmp_path / "list").write_text(MOSES_SPARSE)
    pool = read_pool(tmp_path / "list")
    assert pool.features.names == (
        "Distortion0", "LM0", "TM0_0", "TM0_1", "pp_ein~a", "dlmb_<s>:=a", "WordPenalty0", "pp_ein~c", "pp_x=y~z",
    )  # fmt: skip
    assert pool.features.column("pp_ein~a").tolist() == [1, 0, 0]
    assert pool.features.column("dlmb_<s>:=a").tolist() == [2, 0, 0]
    assert pool.features.column("pp_x=y~z").tolist() == [0, 0, 3]
    assert pool.features.column("WordPenalty0").tolist() == [-1, -1, -1]
    assert pool.columns["score"].tolist() == [-4, -4, -4]


def test_moses_dense_features_stand_on_every_line(tmp_path):
    for line, label in [
        ("0 ||| x ||| LM0= -1 TM0= 1 ||| 0\n", "2 values of 'TM0=', as on the first line, found 1"),
        ("0 ||| x ||| TM0= 1 2 ||| 0\n", "1 values of 'LM0=', as on the first line, found 0"),
        ("0 ||| x ||| LM0= -1 TM0= 1 2 New0= 3 ||| 0\n", "0 values of 'New0=', as on the first line, found 1"),
        ("0 ||| x ||| LM0= -1 TM0= 1 2 a_b= 3 4 ||| 0\n", "0 values of 'a_b=', as on the first line, found 2"),
    ]:
        with pytest.raises(InputError, match=label) as caught:
            read(tmp_path, "0 ||| a ||| LM0= -1 TM0= 1 2 ||| 0\n" + line, "moses")
        assert (caught.value.line, caught.value.kind) == (2, "value-count")


def test_a_label_with_an_underscore_and_several_values_is_dense(tmp_path):
    (tmp_path / "list").write_text("0 ||| a ||| my_tm= 1 2 ||| 0\n0 ||| b ||| my_tm= 3 4 ||| 0\n")
    pool = read_pool(tmp_path / "list")
    assert pool.features.names == ("my_tm_0", "my_tm_1")
    assert pool.features.dense.tolist() == [[1, 2], [3, 4]]


def test_old_moses_labels_without_a_space_before_the_first_bars(tmp_path):
    found = read(tmp_path, MOSES_OLD, "moses")
    assert found.texts() == ["a small house", "a house"]
    assert found.features()[0] == {
        "d[0]": 0, "d[1]": -1.5, "lm[0]": -12.1, "tm[0]": -1, "tm[1]": -2, "tm[2]": -3, "w[0]": -3,
    }  # fmt: skip


def test_moses_alignments_are_passed_over(tmp_path):
    found = read(tmp_path, MOSES_ALIGNED, "moses")
    assert [(text, features) for _, _, text, features in found.rows] == [("a b", {"LM0[0]": -1}), ("b", {"LM0[0]": -2})]


def test_bars_and_equal_signs_inside_words_and_tabs_between_them(tmp_path):
    line = "7\t|||\ta||| |||b |||| x ||| a=b=1\tc==2  |||=3 d=e= 4 5  \t|||\t6\n"
    found = read(tmp_path, line, "moses")
    assert found.rows == [
        (1, "7", "a||| |||b |||| x", {"a=b": 1, "c=": 2, "|||": 3, "d=e[0]": 4, "d=e[1]": 5}),
    ]


def test_empty_hypotheses_however_written(tmp_path):
    text = "".join(f"{i} |||{gap}||| lm=1 ||| 2\n" for i, gap in enumerate([" ", "  ", "\t", " \t "]))
    assert read(tmp_path, text, "moses").texts() == ["", "", "", ""]


def test_cdec(tmp_path):
    (tmp_path / "list").write_text(CDEC)
    pool = read_pool(tmp_path / "list")
    assert pool.features.names == ("Glue", "LanguageModel", "PassThrough", "PhraseModel_0", "LanguageModel_OOV")
    assert pool.features.dense.tolist() == [[8, -39.2525, 1, 2.18572, 0], [0, -40, 0, 2, 1]]
    assert pool.columns["score"].tolist() == [-28.842, -29]


def test_joshua_with_names_and_without(tmp_path):
    found = read(tmp_path, JOSHUA, "joshua")
    assert found.texts()[1] == "strategy |0-1| a |2-2|"
    assert found.features()[0] == {
        "tm_pt_0": -9.702, "tm_pt_1": -10.8, "lm_0": -19.117, "OOVPenalty": 0, "WordPenalty": -3.04,
    }  # fmt: skip
    (tmp_path / "list").write_text(JOSHUA_BARE)
    pool = read_pool(tmp_path / "list")
    assert pool.features.names == ("f_0", "f_1", "f_2", "f_3")
    assert pool.features.dense[1].tolist() == [-9.5, -10.5, -19.5, 1]


def test_travatar_has_its_score_before_the_features(tmp_path):
    (tmp_path / "list").write_text(TRAVATAR)
    pool = read_pool(tmp_path / "list")
    assert pool.features.names == ("Pegf", "lm", "ppen", "word", "unk")
    assert pool.features.dense.tolist() == [[-1.5, -20.25, 3, 4, 0], [-2, -21, 0, 0, 1], [0, 0, 0, 0, 0]]
    assert pool.columns["score"].tolist() == [-12.5, -13, 0]
    assert list(pool.texts) == ["this is a test", "a test", ""]


@pytest.mark.parametrize(
    "text, names, scores",
    [
        (MARIAN, {"F0": [-1.5, -2], "F1": [-2.25, -2.5]}, [-0.5, -0.75]),
        (MARIAN_ONE, {"F0": [-1.5, -2]}, [-0.5, -0.75]),
        (MARIAN_ALL, {"F0": [-1.5, -2, -0.125]}, [-0.5, -1, -0.125]),
    ],
)
def test_marian_alone_as_ensemble_and_with_all_it_can_print(tmp_path, text, names, scores):
    (tmp_path / "list").write_text(text)
    pool = read_pool(tmp_path / "list")
    assert {name: pool.features.column(name).tolist() for name in pool.features.names} == names
    assert pool.columns["score"].tolist() == scores
    assert pool.texts[0] == "it works"


@pytest.mark.parametrize("name", FAMILY)
def test_too_few_fields_say_what_was_expected(tmp_path, name):
    with pytest.raises(InputError) as caught:
        read(tmp_path, "0 ||| a\n", name)
    method = plugins.load(PACKAGE, name)
    assert f"at least {method.min_fields} fields separated by ' ||| ' ({method.layout}), found 2" in str(caught.value)
    assert caught.value.line == 1


@pytest.mark.parametrize("block_bytes", [1, 40, 100, None])
@pytest.mark.parametrize("text", [MOSES, MOSES_SPARSE, MOSES_OLD, MOSES_ALIGNED])
def test_blocks_do_not_show(tmp_path, monkeypatch, text, block_bytes):
    whole = read(tmp_path, text, "moses")
    small_blocks(monkeypatch, block_bytes)
    again = read(tmp_path, text, "moses")
    assert again.rows == whole.rows
    assert block_bytes is None or again.blocks > 1 or block_bytes == 100


NAMES = ("a", "b_c", "=", "x=y", "lm", ":", "|||", "é_")
VALUES = ("1", "-2.5", "+3e2", ".5", "0")
entry = st.one_of(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)).map("=".join),
    st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(VALUES), max_size=3)).map(
        lambda pair: f"{pair[0]}= " + " ".join(pair[1])
    ),
    st.tuples(st.sampled_from(NAMES[:5]), st.lists(st.sampled_from(VALUES), min_size=1, max_size=3)).map(
        lambda pair: f"{pair[0]}: " + " ".join(pair[1]) if "=" not in pair[0] else "q=1"
    ),
)


@settings(max_examples=80)
@given(st.lists(entry, min_size=1, max_size=5, unique_by=lambda text: text.split("=")[0].split(":")[0]), st.data())
def test_features_of_a_line_are_those_of_a_plain_reader(tmp_path_factory, entries, data):
    gap = data.draw(st.sampled_from([" ", "  ", "\t"]))
    field = gap.join(entries)
    expected = {
        name if position < 0 else f"{name}[{position}]": value
        for (name, position), value in moses_features(field).items()
    }
    found = read(tmp_path_factory.mktemp("lex"), f"0 ||| text ||| {field} ||| 1\n", "moses")
    assert found.features() == [expected]


def test_floats_are_rounded_correctly(tmp_path):
    numbers = ["0.1", "1e23", "8.5e-324", "9007199254740993", "123456789012345678901234567890e-20"]
    text = "".join(f"0 ||| h{i} ||| lm={number} ||| {number}\n" for i, number in enumerate(numbers))
    (tmp_path / "list").write_text(text)
    pool = read_pool(tmp_path / "list")
    expected = [float(number) for number in numbers]
    assert pool.features.column("lm").tolist() == expected
    assert pool.columns["score"].tolist() == expected


def test_several_faults_of_a_file_are_counted_and_the_rest_is_read(tmp_path):
    text = "0 ||| a ||| lm=1 ||| 1\nrubbish\n0 ||| b ||| lm=x ||| 1\n0 ||| c ||| lm=2 ||| 1\n0 ||| d ||| 3 ||| ?\n"
    found = read(tmp_path, text, "moses", skip=True)
    assert [(line, text) for line, _, text, _ in found.rows] == [(1, "a"), (4, "c")]
    # the last line has two faults: a value where the first line has names, and a total that is no number
    assert found.faults.counts["fields"] == 1
    assert found.faults.counts["number"] == 2
