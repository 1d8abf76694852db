"""Hypotheses with a table of scores: both forms, line pairing across blocks, and every complaint."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from collected import collect, small_blocks

from luthier.core.errors import InputError
from luthier.core.params import ParameterError
from luthier.kbest.readers.tsv import Method

TEXT = "eins zwei\n\n drei\tvier \nfünf\nsechs\nsieben acht neun\n"
SCORES = "lm\tlength\n-1.5\t2\n-2\t0\n-3e0\t2\n-4\t1\n-5.25\t1\n-6\t3\n"
ONE = (
    "lm\tid\thyp\tref\tsrc\tqe\n"
    "-1\ta\tone two\tone\teins\t0.5\n"
    "-2\ta\t\tone\teins\t0.25\n"
    "-3\tb c\tthree\tdrei\tthree!\t0\n"
    '-4\tb c\t"four"\t\tthree!\t1e-3\n'
)


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return what a list gives, from one file or two."""

    def run(text, scores=None, *, block_bytes=None, skip=False, **parameters):
        paths = tmp_path / "list.txt", tmp_path / "scores.tsv"
        for path, content in zip(paths, (text, scores), strict=True):
            if content is not None:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if scores is not None:
            parameters["scores"] = str(paths[1])
        small_blocks(monkeypatch, block_bytes)
        return collect(Method(**parameters), paths[0], skip=skip)

    return run


def complaint(read, tmp_path, *files, **parameters):
    with pytest.raises(InputError) as caught:
        read(*files, **parameters)
    return str(caught.value).replace(f"{tmp_path}/", ""), caught.value.kind


def test_a_text_file_and_its_scores(read):
    found = read(TEXT, SCORES, per_sentence=3)
    assert found.texts() == ["eins zwei", "", " drei\tvier ", "fünf", "sechs", "sieben acht neun"]
    assert found.ids() == ["0", "0", "0", "1", "1", "1"]
    assert [row[0] for row in found.rows] == [1, 2, 3, 4, 5, 6]
    assert found.features()[4] == {"lm": -5.25, "length": 1.0}
    assert found.sentences == []


@pytest.mark.parametrize("column", ["id", "sentence"])
def test_ids_from_a_column(read, column):
    scores = f"x\t{column}\n1\ts-1\n2\ts-1\n3\t07\n"
    found = read("a\nb\nc\n", scores)
    assert found.ids() == ["s-1", "s-1", "07"]
    assert found.features() == [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]


def test_one_table_with_everything(read):
    found = read(ONE)
    assert found.rows == [
        (2, "a", "one two", {"lm": -1.0, "qe": 0.5}),
        (3, "a", "", {"lm": -2.0, "qe": 0.25}),
        (4, "b c", "three", {"lm": -3.0, "qe": 0.0}),
        (5, "b c", '"four"', {"lm": -4.0, "qe": 0.001}),
    ]
    assert found.sentences == [("a", "eins", ["one"]), ("b c", "three!", ["drei"])]


@pytest.mark.parametrize("column", ["hyp", "text", "hypothesis"])
def test_one_table_counted_by_the_sentence(read, column):
    found = read(f"{column}\tx\na\t1\nb\t2\nc\t3\nd\t4\n", per_sentence=2)
    assert found.ids() == ["0", "0", "1", "1"]
    assert found.texts() == ["a", "b", "c", "d"]


def test_the_last_line_needs_no_line_feed_and_files_may_be_packed(read):
    assert read(gzip.compress(TEXT.encode()), gzip.compress(SCORES.rstrip().encode()), per_sentence=2).rows == (
        read(TEXT, SCORES, per_sentence=2).rows
    )


@pytest.mark.parametrize("block_bytes", [1, 2, 5, 8, 13, 21, 34])
def test_any_block_size_gives_the_same(read, block_bytes):
    two = read(TEXT, SCORES, per_sentence=3)
    one = read(ONE)
    small = read(TEXT, SCORES, per_sentence=3, block_bytes=block_bytes)
    assert small.rows == two.rows
    assert small.blocks > two.blocks
    small = read(ONE, block_bytes=block_bytes)
    assert small.rows == one.rows
    assert {said for said in map(str, small.sentences) if "[]" not in said} == set(map(str, one.sentences))


@pytest.mark.parametrize("block_bytes", [1, 50, 333, 4096])
def test_files_of_unlike_widths_stay_in_step(read, block_bytes):
    rng = np.random.default_rng(3)
    words = ["w" * int(n) for n in rng.integers(0, 60, 400)]
    values = rng.normal(size=400)
    scores = "v\n" + "".join(f"{value!r}\n" for value in values.tolist())
    found = read("\n".join(words) + "\n", scores, per_sentence=4, block_bytes=block_bytes)
    assert found.texts() == words
    assert [row["v"] for row in found.features()] == values.tolist()
    assert found.ids() == [str(i // 4) for i in range(400)]


TWO_FILE_COMPLAINTS = [
    (
        "a\nb\n",
        "x\n1\n",
        "expected as many lines of text as rows of scores, found 2 lines in list.txt and 1 rows, "
        "without the header, in scores.tsv. hint: each line of the text has its row in the TSV, "
        "below a header",
        "length",
    ),
    (
        "a\n",
        "x\n1\n2\n3\n",
        "expected as many lines of text as rows of scores, found 1 lines in list.txt and 3 rows",
        "length",
    ),
    (
        "a\n",
        "x\n",
        "expected as many lines of text as rows of scores, found 1 lines in list.txt and 0 rows",
        "length",
    ),
    (
        "a\nb\nc\n",
        "x\n1\n2\n3\n",
        "list.txt: expected a multiple of 2 hypotheses (per_sentence), found 3, which leaves 1 "
        "for the last sentence. hint: if sentences differ in their number of hypotheses, give the"
        " TSV an id column",
        "length",
    ),
    (
        "a\nb\n",
        "x\ty\n1\t2\n1\n",
        "scores.tsv:3: expected 2 fields separated by tabs, as in the header, found 1 in '1'.",
        "fields",
    ),
    (
        "a\nb\n",
        "x\ty\n1\t2\t\n1\t2\n",
        "scores.tsv:2: expected 2 fields separated by tabs, as in the header, found 3",
        "fields",
    ),
    (
        "a\nb\n",
        "x\ty\n1\t2\n\n",
        "scores.tsv:3: expected 2 fields separated by tabs, as in the header, found an empty line.",
        "fields",
    ),
    (
        "a\nb\n",
        "x\ty\tx\n1\t2\t3\n",
        "scores.tsv:1: expected column names that differ, found 'x' 2 times.",
        "header",
    ),
    (
        "a\nb\n",
        "x\t\ty\n1\t2\t3\n",
        "scores.tsv:1: expected a name for each column, found none for column 2 of 3. hint: the "
        "first line of the TSV names its columns",
        "header",
    ),
    (
        "a\nb\n",
        "id\tsentence\n1\t2\n",
        "scores.tsv:1: expected one column for the id, found 'id' and 'sentence'. hint: rename one",
        "header",
    ),
    (
        "a\nb\n",
        "x\thyp\n1\ta\n1\tb\n",
        "scores.tsv:1: expected scores alone, as the text has a file of its own, found the column"
        " 'hyp'. hint: read this TSV as the list, without 'scores'; or rename the column",
        "header",
    ),
    (
        "a\nb\n",
        "x\n1\none\n",
        "scores.tsv:3: expected a number, found 'one'. hint: columns other than id, hyp, ref and "
        "source hold numbers; `ignore` NAME passes over one that does not",
        "number",
    ),
    (
        "a\nb\n",
        "x\ty\n1\t2\n\tz\n",
        "scores.tsv:3: expected a number, found 'z'.",
        "number",
    ),
    (
        "a\nb\n",
        "x\n1\nnan\n",
        "scores.tsv:3: expected a finite number, found 'nan'. hint: a scorer failed there",
        "not-finite",
    ),
    (
        "",
        "x\n1\n",
        "list.txt: expected at least one line, found an empty file.",
        "empty",
    ),
    (
        "a\n",
        "",
        "scores.tsv: expected at least one line, found an empty file.",
        "empty",
    ),
    (
        "a\n",
        b"\xff\n1\n",
        "scores.tsv:1: expected UTF-8 text",
        "utf-8",
    ),
]


@pytest.mark.parametrize(("text", "scores", "message", "kind"), TWO_FILE_COMPLAINTS)
@pytest.mark.parametrize("block_bytes", [None, 1])
def test_complaints_about_two_files(read, tmp_path, text, scores, message, kind, block_bytes):
    found, found_kind = complaint(read, tmp_path, text, scores, per_sentence=2, block_bytes=block_bytes)
    assert found.startswith(message)
    assert found_kind == kind


@pytest.mark.parametrize(
    ("table", "message", "kind"),
    [
        (
            "id\tx\n0\t1\n",
            "list.txt:1: expected a column 'hyp', 'text' or 'hypothesis', found the columns 'id, x'. "
            "hint: a text file without columns needs a TSV of scores beside it, given as 'scores'",
            "header",
        ),
        (
            "hyp\tx\na\t1\n",
            "list.txt:1: expected a column 'id' or 'sentence', found the columns 'hyp, x'. hint: say "
            "how many lines each sentence has with 'per_sentence'",
            "header",
        ),
        (
            "hyp\tid\n",
            "list.txt: expected rows below the header, found the header alone.",
            "empty",
        ),
        (
            "hyp\tid\ttext\na\t1\tb\n",
            "list.txt:1: expected one column for the text, found 'hyp' and 'text'.",
            "header",
        ),
        (
            "hyp\tid\tx\na\t1\t2\nb\t1\tinf\n",
            "list.txt:3: expected a finite number, found 'inf'.",
            "not-finite",
        ),
        (
            "hyp\tid\tref\na\t1\tr\nb\t1\ts\n",
            "list.txt:3: expected the references that the sentence has above, found another.",
            "sentence-data",
        ),
        (
            "hyp\tid\tsource\na\t1\tr\nb\t1\ts\n",
            "list.txt:3: expected the source that the sentence has above",
            "sentence-data",
        ),
    ],
)
def test_complaints_about_one_table(read, tmp_path, table, message, kind):
    found, found_kind = complaint(read, tmp_path, table)
    assert found.startswith(message)
    assert found_kind == kind


@pytest.mark.parametrize("block_bytes", [None, 1, 6, 17])
def test_bad_lines_of_either_file_take_their_partner_along(read, block_bytes):
    text = b"a\n\xff\nc\nd\ne\nf\ng\n"
    scores = b"x\ty\n1\t1\n2\t2\n3\t\xff\n4\n5\tz\n6\tinf\n7\t7\n"
    found = read(text, scores, per_sentence=7, skip=True, block_bytes=block_bytes)
    assert [row[:3] for row in found.rows] == [(1, "0", "a"), (7, "0", "g")]
    assert found.features() == [{"x": 1.0, "y": 1.0}, {"x": 7.0, "y": 7.0}]
    assert found.faults.counts == {"utf-8": 2, "fields": 1, "number": 1, "not-finite": 1}


def test_the_pairs_before_the_end_of_the_shorter_file_can_be_kept(read):
    found = read("a\nb\nc\n", "x\n1\n2\n", per_sentence=2, skip=True)
    assert found.texts() == ["a", "b"]
    assert found.faults.counts == {"length": 2}


@pytest.mark.parametrize("block_bytes", [None, 1, 9])
def test_the_first_fault_in_the_file_speaks_first(read, tmp_path, block_bytes):
    text = b"a\nb\nc\nd\n\xff\n"
    scores = b"x\n1\n2\nthree\n4\n5\n"
    assert complaint(read, tmp_path, text, scores, per_sentence=1, block_bytes=block_bytes)[1] == "number"


def test_parameters():
    with pytest.raises(ParameterError, match=r"'per_sentence' parameter of tsv must be an int in \[0, inf\)"):
        Method(per_sentence=-1)


@pytest.mark.parametrize(
    ("head", "sure"),
    [
        (ONE.encode(), 80),
        (b"\xef\xbb\xbfhyp\tx\r\n", 80),
        (b"x\thypothesis\n", 80),
        (b"text\na\n", 0),
        (b"lm\tlength\n1\t2\n", 0),
        (b"hyp x\n", 0),
        (b"H-0\t1\thyp text\n", 0),
        (b"", 0),
    ],
)
def test_recognizes(head, sure):
    assert Method.recognizes(head) == sure
