"""Nested JSON: lists inside objects, in every form that programs dump them."""

from __future__ import annotations

import json

import pytest

from luthier.core.errors import InputError
from luthier.kbest.building.lists import ReadOptions, read_pool

PLAIN = {"id": "a", "ref": "x y", "sequences": ["x y", "x"], "sequences_scores": [-0.5, -1], "scores": [1, 2]}


def read(tmp_path, *values, text=None, **options):
    path = tmp_path / "dump.json"
    path.write_text("".join(json.dumps(value) + "\n" for value in values) if text is None else text)
    pool = read_pool(path, options=ReadOptions(**options))
    names = pool.features.names
    rows = [(pool.texts[m], dict(zip(names, row, strict=True))) for m, row in enumerate(pool.features.dense.tolist())]
    return list(pool.sentence_ids), rows, pool


def test_texts_with_arrays_beside_them(tmp_path):
    ids, rows, pool = read(tmp_path, PLAIN, {**PLAIN, "id": 7, "ref": ["p", "q"], "source": "s"})
    assert ids == ["a", "7"]
    assert rows[:2] == [
        ("x y", {"sequences_scores": -0.5, "score": 1.0}),
        ("x", {"sequences_scores": -1.0, "score": 2.0}),
    ]
    assert (pool.references.of(0), pool.references.of(1)) == (["x y"], ["p", "q"])
    assert list(pool.sources) == ["", "s"]


def test_objects_of_hypotheses(tmp_path):
    nbest = [{"text": "x", "lm": -1, "features": {"am": 2.5}}, {"hyp": "y", "lm": -2, "scores": {"am": 3}, "ok": True}]
    ids, rows, pool = read(tmp_path, {"nbest": nbest}, {"n_best": nbest}, columns=["lm"])
    assert ids == ["0", "1"]
    assert rows[1] == ("y", {"am": 3.0})
    assert pool.columns["lm"].tolist() == [-1, -2, -1, -2]


def test_beams_of_pyctcdecode(tmp_path):
    beams = [["hello", None, [["hello", [1, 2]]], -4.5, -6.0], ["hullo", None, [], -4.7, -7]]
    ids, rows, _ = read(tmp_path, {"u1": beams, "u2": beams[:1]})
    assert ids == ["u1", "u2"]
    assert rows[0] == ("hello", {"logit_score": -4.5, "lm_score": -6.0})
    assert rows[2] == rows[0]


def test_segments_of_whisper(tmp_path):
    segments = [
        {"avg_logprob": -0.25, "tokens": [1, 2, 3], "no_speech_prob": 0.1, "compression_ratio": 1.5},
        {"avg_logprob": -0.5, "tokens": [4], "no_speech_prob": 0.25, "compression_ratio": 1.0},
    ]
    _, rows, _ = read(tmp_path, {"id": 1, "hypotheses": [{"text": "a b", "language": "en", "segments": segments}]})
    expected = {"tokens": 4.0, "logprob": -0.25 * 4 - 0.5 * 2, "no_speech_prob": 0.25, "compression_ratio": 1.5}
    assert rows == [("a b", expected)]


def test_a_whole_file_may_be_one_value(tmp_path):
    expected = read(tmp_path, PLAIN, {**PLAIN, "id": "b"})[:2]
    for value in ([PLAIN, {**PLAIN, "id": "b"}], {"a": PLAIN, "b": PLAIN}):
        for indent in (None, 2):
            assert read(tmp_path, text=json.dumps(value, indent=indent))[:2] == expected
    records = [{"id": 3, "hyp": "x", "lm": 1.5}, {"id": 3, "hyp": "y", "lm": 2}, {"id": 4, "hyp": "z", "lm": 0}]
    ids, rows, _ = read(tmp_path, text=json.dumps(records))
    assert (ids, rows[1]) == (["3", "4"], ("y", {"lm": 2.0}))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"nbest": "x"}, 'an array as "nbest"'),
        ({"nbest": [3]}, 'texts, objects, beams or tokens in "nbest", found the number 3'),
        ({"nbest": [{"lm": 1}]}, "a text in each hypothesis"),
        ({"nbest": [{"text": "x", "lm": float("nan")}]}, 'a finite number as "lm", found nan'),
        ({"nbest": [{"text": "x", "features": {"lm": "1"}}]}, 'a number as "lm", found the string'),
        ({**PLAIN, "scores": [1]}, r'as many numbers in "scores" as hypotheses \(2\), found 1'),
        ({**PLAIN, "id": [1]}, 'a string or an integer as "id"'),
        ({**PLAIN, "sequences": ["\ud800", "x"]}, "half a surrogate pair"),
        ({"x": 1}, 'a list of hypotheses as nbest, n_best, beams or the like, found only "x"'),
        (3, "an object for each sentence"),
    ],
)
def test_complaints(tmp_path, value, complaint):
    with pytest.raises(InputError, match=complaint):
        read(tmp_path, PLAIN, value, format="nested")
    assert read(tmp_path, PLAIN, value, {**PLAIN, "id": "b"}, format="nested", skip_bad=True)[0] == ["a", "b"]


def test_broken_json(tmp_path):
    with pytest.raises(InputError, match=r"dump.json:2: expected JSON"):
        read(tmp_path, text=json.dumps(PLAIN) + "\n{oops\n", format="nested")
    with pytest.raises(InputError, match="expected JSON"):
        read(tmp_path, text='[{"nbest": [\n"x"\n}]')


def test_two_lists_of_one_sentence_are_not_joined(tmp_path):
    path = tmp_path / "twice.jsonl"
    path.write_text('{"id": "a", "nbest": [{"text": "x", "s": 1}]}\n{"id": "a", "nbest": [{"text": "y", "s": 2}]}\n')
    with pytest.raises(
        InputError, match=r"twice.jsonl:2: expected one object for each sentence, found another one of 'a'"
    ):
        read_pool(path)
