"""Logs of fairseq: what belongs together, what is skipped, and every complaint."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
from collected import collect, small_blocks

from luthier.core.errors import InputError
from luthier.core.params import ParameterError
from luthier.kbest.readers.fairseq import Method

LOG = """\
2031-04-01 09:00:00 | INFO | fairseq_cli.generate | loading model(s) from best.pt
| [xx] dictionary: 120 types
S-7\tder Hund bellt
T-7\tthe dog barks
H-7\t-0.25\tthe dog bar@@ ks
D-7\t-0.25\tthe dog barks
P-7\t-0.2500 -0.5000 -0.2500 -0.1250
A-7\t0-0 1-1 2-2
H-7\t-1.5e0\ta hound bar@@ ks
D-7\t-1.5e0\ta hound barks
P-7\t-1.0000 -2.0000
I-7\t3
E-7_0\tthe the the
S-2\tja
T-2\tyes
W-2\t0.120\tseconds
C-2\tyes
H-2\t-2\t
D-2\t-2\t
P-2\t-2.0000
S-10\tein\u00a0Wort
T-10\ta word
H-10\t-0.125\ta\u00a0wo@@ rd
D-10\t-0.125\ta\u00a0word
P-10\t-0.1250 -0.1250
O-10\tnothing
2031-04-01 09:00:09 | INFO | fairseq_cli.generate | NOTE: hypothesis and token scores are output in base 2
Generate test with beam=5: BLEU4 = 0.00, 0.0/0.0/0.0/0.0 (BP=1.000, ratio=1.000)
"""


def without(marks):
    return "".join(line for line in LOG.splitlines(keepends=True) if line[:2] not in marks)


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return what a log gives."""

    def run(log, *, block_bytes=None, skip=False, **parameters):
        path = tmp_path / "log.txt"
        path.write_bytes(log if isinstance(log, bytes) else log.encode())
        small_blocks(monkeypatch, block_bytes)
        return collect(Method(**parameters), path, skip=skip)

    return run


def complaint(read, log, **parameters):
    with pytest.raises(InputError) as caught:
        read(log, **parameters)
    return str(caught.value).partition("log.txt:")[2], caught.value.kind


def test_a_whole_log(read):
    log = read(LOG)
    # -0.25 - 0.5 - 0.25 - 0.125 = -1.125 over 4 tokens, the end of sentence among them
    assert log.rows == [
        (5, "7", "the dog barks", {"score": -0.25, "p_sum": -1.125, "p_length": 4.0}),
        (9, "7", "a hound barks", {"score": -1.5, "p_sum": -3.0, "p_length": 2.0}),
        (18, "2", "", {"score": -2.0, "p_sum": -2.0, "p_length": 1.0}),
        (23, "10", "a\u00a0word", {"score": -0.125, "p_sum": -0.25, "p_length": 2.0}),
    ]
    assert log.sentences == [
        ("7", "der Hund bellt", ["the dog barks"]),
        ("2", "ja", ["yes"]),
        ("10", "ein\u00a0Wort", ["a word"]),
    ]


@pytest.mark.parametrize("block_bytes", [1, 7, 25, 40, 64, 100, 171, 333, 700])
def test_any_block_size_gives_the_same(read, block_bytes):
    whole = read(LOG)
    small = read(LOG, block_bytes=block_bytes)
    assert (small.rows, small.sentences) == (whole.rows, whole.sentences)
    assert small.blocks > whole.blocks


def test_the_lines_with_the_text_can_be_chosen(read):
    tokens = ["the dog bar@@ ks", "a hound bar@@ ks", "", "a\u00a0wo@@ rd"]
    assert read(LOG, text="H").texts() == tokens
    assert read(LOG, text="D").rows == read(LOG).rows
    with pytest.raises(ParameterError, match="'text' parameter of fairseq must be one of auto, H, D"):
        Method(text="T")


def test_logs_that_lack_a_kind_of_line(read):
    log = read(without({"D-", "P-", "S-", "T-"}))
    assert log.texts() == ["the dog bar@@ ks", "a hound bar@@ ks", "", "a\u00a0wo@@ rd"]
    assert log.features() == [{"score": v} for v in (-0.25, -1.5, -2.0, -0.125)]
    assert log.sentences == []
    assert [row["p_length"] for row in read(without({"D-"})).features()] == [4.0, 2.0, 1.0, 2.0]
    assert read(without({"T-"})).sentences[0] == ("7", "der Hund bellt", [])
    assert read(without({"S-"})).sentences[0] == ("7", None, ["the dog barks"])


def test_a_log_without_a_hypothesis_has_no_row(read):
    log = read("nothing here\nH-index 3\nT-shirt\n")
    assert (log.rows, log.sentences) == ([], [])


def test_a_tab_in_the_text_stays_there(read):
    assert read("H-0\t-1\ta\tb\n").texts() == ["a\tb"]


@pytest.mark.parametrize(
    ("log", "message", "kind"),
    [
        ("H-3\t-1\n", r"1: expected 3 fields separated by tabs (H-3, score, text), found 2 in 'H-3\t-1'. "
         "hint: did a program turn the tabs into spaces, or take them from the end of the line?", "fields"),
        ("x\nH-3 -1 a b\n", "2: expected 3 fields separated by tabs (H-3, score, text), found 1 in "
         "'H-3 -1 a b'. hint: did", "fields"),
        ("S-3\nH-3\t-1\ta\n", "1: expected 2 fields separated by tabs (S-3, text), found 1 in 'S-3'.",
         "fields"),
        ("H-3\t-1\ta\nP-3\n", "2: expected 2 fields separated by tabs (P-3, token scores), found 1",
         "fields"),
        ("H-3\tgood\ta\n", "1: expected a number, found 'good'. hint: H- and D- lines are: id, score, text; "
         "P- lines: id, scores with spaces between them", "number"),
        ("H-3\t-inf\ta\n", "1: expected a finite number, found '-inf'. hint: a scorer failed",
         "not-finite"),
        ("H-3\t-1\ta\nP-3\t-1 -x -y\n", "2: expected a number, found '-x'.", "number"),
        ("H-3\t-1\ta\nP-3\t-1 nan\n", "2: expected a finite number, found 'nan'.", "not-finite"),
        ("D-3\t-1\ta\n", "1: expected the line H-3 of the same hypothesis before D-3, found another "
         "line or none. hint: give the log as fairseq wrote it: H, D and P of a hypothesis follow each other",
         "loose"),
        ("H-3\t-1\ta\nD-4\t-1\ta\n",
         "2: expected the line H-4 of the same hypothesis before D-4, found", "loose"),
        ("H-3\t-1\ta\nD-3\t-1\ta\nD-3\t-1\ta\n",
         "3: expected the line H-3 of the same hypothesis before D-3, found", "loose"),
        ("H-3\t-1\ta\nP-3\t-1\nD-3\t-1\ta\n",
         "3: expected the line H-3 of the same hypothesis before D-3, found", "loose"),
        ("S-3\ta\nP-3\t-1\n",
         "2: expected the line H-3 of the same hypothesis before P-3, found", "loose"),
        ("H-3\t-1\ta\nD-3\t-1\ta\nH-3\t-2\tb\n", "3: expected the line D-3 behind the H- line, as the first "
         "hypothesis has, found none. hint: choose the lines with the text as H or D", "incomplete"),
        ("H-3\t-1\ta\nH-3\t-2\tb\nD-3\t-2\tb\n", "2: expected no line D-3, as the first hypothesis has none, "
         "found one.", "incomplete"),
        ("H-3\t-1\ta\nP-3\t-1\nH-3\t-2\tb\n", "3: expected the line P-3 behind the H- line, as the first "
         "hypothesis has, found none. hint: was the log cut off there, or put together from two?",
         "incomplete"),
        ("H-3\t-1\ta\nH-3\t-2\tb\nP-3\t-1\n", "2: expected no line P-3", "incomplete"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("block_bytes", [None, 1, 18])
def test_complaints(read, log, message, kind, block_bytes):
    found, found_kind = complaint(read, log, block_bytes=block_bytes)
    assert found.startswith(message)
    assert found_kind == kind


def test_d_lines_asked_for_and_missing(read):
    message, kind = complaint(read, "H-3\t-1\ta\n", text="D")
    assert message.startswith("1: expected the line D-3 behind the H- line, found none.")
    assert kind == "incomplete"


@pytest.mark.parametrize("block_bytes", [None, 1, 30, 70])
def test_faulty_hypotheses_are_left_out_with_all_their_lines(read, block_bytes):
    text = (
        b"H-0\t-1\ta\nD-0\t-1\tA\nP-0\t-1\n"
        b"H-0\tx\tb\nD-0\t-1\tB\nP-0\t-1\n"
        b"H-1\t-1\tc\nD-1\nP-1\t-1\n"
        b"H-2\t-1\td\nD-2\t-1\tD\nP-2\t-1 y\n"
        b"H-3\t-1\te\nD-3\t-1\t\xff\nP-3\t-1\n"
        b"S-4\nT-4\tf\n"
        b"H-4\t-1\tf\nD-4\t-1\tF\nP-4\t-1\n"
        b"H-5\t-1\tf\nD-5\t-1\tF\n"
    )
    log = read(text, skip=True, block_bytes=block_bytes)
    assert [row[1:3] for row in log.rows] == [("0", "A"), ("4", "F")]
    assert [(ident, references) for ident, _, references in log.sentences] == [("4", ["f"])]
    # of sentence 3, the D- line is not UTF-8 and the H- line thereby incomplete
    assert log.faults.counts == {"number": 2, "fields": 2, "utf-8": 1, "incomplete": 2}


@pytest.mark.parametrize(
    ("head", "sure"),
    [
        (LOG.encode(), 95),
        (b"INFO\nH-0\t-1.0\ta\n", 95),
        (b"H-0 -1.0 a\n", 0),
        (b"xH-0\t-1.0\ta\n", 0),
        (b"0 ||| a ||| x=1 ||| 1\n", 0),
        (b"", 0),
    ],
)
def test_recognizes(head, sure):
    assert Method.recognizes(head) == sure


def added(scores):
    """Add numbers from left to right, each sum rounded: `sum` rounds otherwise from Python 3.12 on."""
    return functools.reduce(operator.add, scores)


def test_many_random_logs_against_a_plain_reading(read):
    rng = np.random.default_rng(5)
    for _ in range(5):
        lines, expected = [], []
        for sentence in rng.permutation(6):
            lines += [f"S-{sentence}\ts {sentence}", f"T-{sentence}\tt {sentence}"]
            for _ in range(rng.integers(0, 4)):
                scores = rng.normal(size=rng.integers(1, 5)).round(4).tolist()
                text = "w" * rng.integers(0, 9)
                lines += ["| noise"] * rng.integers(0, 2)
                expected.append((len(lines) + 1, str(sentence), text, added(scores), len(scores)))
                lines += [f"H-{sentence}\t{scores[0]}\tx", f"D-{sentence}\t{scores[0]}\t{text}"]
                lines += [f"P-{sentence}\t{' '.join(map(str, scores))}"]
        log = read("\n".join(lines) + "\n", block_bytes=int(rng.integers(1, 120)))
        assert [(*row[:3], row[3]["p_sum"], row[3]["p_length"]) for row in log.rows] == expected
        assert len(log.sentences) == 6
