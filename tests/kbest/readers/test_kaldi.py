"""N-best lists of speech recognizers: ids, scores, silence, and every complaint."""

from __future__ import annotations

import pytest
from collected import collect, small_blocks

from luthier.core.errors import InputError
from luthier.core.params import ParameterError
from luthier.kbest.readers.kaldi import Method

NBEST = """\
spk1-rec-1 -12.5 3 so it goes
spk1-rec-2  -13.25  4.5\tso  it grows\u00a0\u0020
spk1-rec-3 1e2 5
spk2-rec-1 .5 +6. 7up and more
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return what a list gives."""

    def run(content, *, block_bytes=None, skip=False, **parameters):
        path = tmp_path / "nbest"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        small_blocks(monkeypatch, block_bytes)
        return collect(Method(**parameters), path, skip=skip)

    return run


def complaint(read, content, **parameters):
    with pytest.raises(InputError) as caught:
        read(content, **parameters)
    return str(caught.value).partition("nbest:")[2], caught.value.kind


def test_named_scores(read):
    found = read(NBEST, columns="am, lm")
    assert found.rows == [
        (1, "spk1-rec", "so it goes", {"am": -12.5, "lm": 3.0}),
        (2, "spk1-rec", "so  it grows\u00a0", {"am": -13.25, "lm": 4.5}),
        (3, "spk1-rec", "", {"am": 100.0, "lm": 5.0}),
        (4, "spk2-rec", "7up and more", {"am": 0.5, "lm": 6.0}),
    ]


def test_scores_are_counted_where_they_have_no_names(read):
    # "score[k]" is position k under one label: the pool calls it score_k, or score if it is alone
    assert read(NBEST).features()[0] == {"score[0]": -12.5, "score[1]": 3.0}
    found = read("u 1 a b\nu 2\nv 3 4 pieces\nv nan c\n", skip=True)
    assert found.rows == [
        (1, "u", "a b", {"score[0]": 1.0}),
        (2, "u", "", {"score[0]": 2.0}),
        (3, "v", "4 pieces", {"score[0]": 3.0}),
    ]
    assert found.faults.counts == {"not-finite": 1}


@pytest.mark.parametrize("block_bytes", [1, 9, 30, 45, 80])
@pytest.mark.parametrize("parameters", [{"columns": "am,lm"}, {"columns": "am,lm", "suffix": "strip"}])
def test_any_block_size_gives_the_same(read, block_bytes, parameters):
    whole = read(NBEST, **parameters)
    small = read(NBEST, block_bytes=block_bytes, **parameters)
    assert small.rows == whole.rows
    assert small.blocks > whole.blocks


@pytest.mark.parametrize(
    ("ids", "auto", "stripped"),
    [
        ("u-1 u-2 v-1", "u u v", "u u v"),
        ("u-1 u-10 u-2", "u u u", "u u u"),  # sorted as text
        ("u-1 u-1 u-2 u-2", None, "u u u u"),  # two hypotheses each: the numbers are part of the ids
        ("u-2 u-3", None, "u u"),
        ("u-1 v-2 v-3", None, "u v v"),
        ("u-1 u", None, "u u"),
        ("u1 u2", None, None),
        ("-1 -2", None, None),
        ("u- u-x", None, None),
        ("a-1-1 a-1-2 a-2-1", "a-1 a-1 a-2", "a-1 a-1 a-2"),
        ("u-0001 u-2", "u u", "u u"),
        ("u-1 u-99999999999999999999999", "u u", "u u"),
    ],
)
def test_numbers_behind_ids(read, ids, auto, stripped):
    content = "".join(f"{name} 1 x\n" for name in ids.split())
    assert read(content, suffix="keep").ids() == ids.split()
    assert read(content, suffix="strip").ids() == (stripped or ids).split()
    assert read(content).ids() == (auto or ids).split()


@pytest.mark.parametrize(
    ("content", "parameters", "message", "kind"),
    [
        (
            "u 1 a\n\n",
            {"columns": "am"},
            "2: expected an id and am separated by white space, found an empty line.",
            "fields",
        ),
        (
            "u 1 2\nu 1\n",
            {"columns": "am,lm"},
            "2: expected an id and am, lm separated by white space, found 2 words in 'u 1'.",
            "fields",
        ),
        (
            "u 1 a\n \n",
            {},
            "2: expected an id and scores separated by white space, found an empty line.",
            "fields",
        ),
        (
            "u 1 2\nu 1 b c\n",
            {"columns": "am,lm"},
            "2: expected a number, found 'b'. hint: the 2 words behind the id are scores; name them "
            "with 'columns' if there are fewer",
            "number",
        ),
        (
            "u inf a\n",
            {"columns": "am"},
            "1: expected a finite number, found 'inf'. hint: a scorer failed there",
            "not-finite",
        ),
        (
            "u 1 a\nu 2x b\n",
            {},
            "2: expected a number behind the id, found '2x'. hint: name the scores with 'columns', "
            "for example am,lm, to say how many there are",
            "number",
        ),
        (
            "u 1 a\nu\n",
            {},
            "2: expected a number behind the id, found the end of the line.",
            "number",
        ),
        (
            "u 1 2 a\nu 1 2 b\nu 1 2x c\nu 1 2 d\n",
            {},
            "3: expected 2 numbers behind the id, as on most lines, found 1 and then '2x'. hint: name the scores",
            "number",
        ),
        (
            b"u 1 2 \xff\n",
            {},
            "1: expected UTF-8 text",
            "utf-8",
        ),
    ],
)
def test_complaints(read, content, parameters, message, kind):
    found, found_kind = complaint(read, content, **parameters)
    assert found.startswith(message)
    assert found_kind == kind


@pytest.mark.parametrize("block_bytes", [None, 1, 12])
def test_bad_lines_can_be_left_out(read, block_bytes):
    content = b"\xff 1 a\nu 1 a\n\nu x b\nu\nu nan c\nu 2 d\n"
    found = read(content, columns="am", skip=True, block_bytes=block_bytes)
    assert [row[:3] for row in found.rows] == [(2, "u", "a"), (7, "u", "d")]
    assert found.faults.counts == {"utf-8": 1, "fields": 2, "number": 1, "not-finite": 1}


@pytest.mark.parametrize("columns", ["am,", "am,,lm", "am,am", ","])
def test_names_must_be_names(columns):
    with pytest.raises(ParameterError, match="'columns' parameter of kaldi must be different names between commas"):
        Method(columns=columns)


@pytest.mark.parametrize(
    ("head", "sure"),
    [
        (NBEST.replace("\t", " ").encode(), 40),
        (b"u -1.5e3 a\nv 2 b\ncut o", 40),
        (b"u 1", 40),
        (b"1 2 a\n3 4 b\n", 0),
        (b"1 2 a\nu 4 b\n", 40),
        (b"u\t1\ta\n", 0),
        (b"u 1 ||| a\n", 0),
        (b"0 ||| a b ||| x=1 ||| 2\n", 0),
        (b"u a 1\n", 0),
        (b"u\n", 0),
        (b"plain text is no list\n", 0),
        (b"\n", 0),
        (b"", 0),
    ],
)
def test_recognizes(head, sure):
    assert Method.recognizes(head) == sure
