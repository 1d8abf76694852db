"""Sockeye's JSON output and its oddities."""

import itertools
import json

import pytest

from luthier.kbest.readers.sockeye import Method
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Source


@pytest.fixture
def read(tmp_path):
    """Reads lines (objects, or bytes as they stand) and returns the only block and its source."""

    def read_lines(*lines):
        path = tmp_path / "out.json"
        texts = [line if isinstance(line, bytes) else json.dumps(line, sort_keys=True).encode() for line in lines]
        path.write_bytes(b"".join(text + b"\n" for text in texts))
        source = Source(str(path), LineErrors(), NameTable(), NameTable())
        (block,) = Method().blocks(source)
        return block, source

    return read_lines


def numbers(block, source):
    """Return the features of each row by their final names."""
    names, mapping = source.names.resolve("out.json")
    bounds = block.row_starts.tolist()
    return [
        {names[mapping[n]]: v for n, v in zip(block.names[a:b], block.values[a:b].tolist(), strict=True)}
        for a, b in itertools.pairwise(bounds)
    ]


def test_sockeye_2_writes_scores_as_numbers(read):
    block, source = read(
        {
            "sentence_id": 1,
            "translation": "a b",
            "score": 0.3,
            "translations": ["a b", "ä"],
            "scores": [0.3, 0.5],
        },
        {
            "sentence_id": 2,
            "translation": "c",
            "score": 1,
            "translations": ["c", "d", ""],
            "scores": [1, 2, 3],
        },
    )
    assert list(block.ids) == ["0", "0", "1", "1", "1"]
    assert list(block.texts) == ["a b", "ä", "c", "d", ""]
    assert block.lines.tolist() == [1, 1, 2, 2, 2]
    assert numbers(block, source) == [{"score": v} for v in (0.3, 0.5, 1.0, 2.0, 3.0)]
    assert block.sentences is None


def test_sockeye_3_writes_scores_as_lists(read):
    block, source = read({"sentence_id": 1, "translations": ["a", "b"], "scores": [[0.3], [0.5]]})
    assert numbers(block, source) == [{"score": 0.3}, {"score": 0.5}]


def test_target_factors_have_scores_of_their_own(read):
    block, source = read(
        {"sentence_id": 1, "translations": ["a", "b"], "scores": [[0.3, 0.1], [0.5, 0.2]]},
        {"sentence_id": 2, "translation": "c", "score": 0.7, "factor1": "x", "factor1_score": 0.4},
    )
    assert numbers(block, source) == [
        {"score_0": 0.3, "score_1": 0.1}, {"score_0": 0.5, "score_1": 0.2}, {"score_0": 0.7, "score_1": 0.4},
    ]  # fmt: skip


def test_a_list_of_one_has_no_translations(read):
    block, source = read(
        {"sentence_id": 1, "translation": "only", "score": 0.25},
        {"sentence_id": 2, "translations": ["a", "b"], "scores": [1, 2]},
    )
    assert list(block.texts) == ["only", "a", "b"]
    assert numbers(block, source) == [{"score": 0.25}, {"score": 1.0}, {"score": 2.0}]


def test_ids_may_be_texts_or_missing(read):
    block, _ = read(
        {"translation": "a", "score": 1}, {"sentence_id": "doc-3", "translation": "b", "score": 1},
        {"sentence_id": None, "translation": "c", "score": 1},
    )  # fmt: skip
    assert list(block.ids) == ["0", "doc-3", "2"]


def test_what_came_through_from_the_input(read):
    block, _ = read(
        {
            "sentence_id": 1,
            "translation": "a",
            "score": 1,
            "text": "quelle",
            "refs": ["r", "s"],
            "doc": {"n": 1},
        },
        {"sentence_id": 2, "translation": "b", "score": 1},
        {"sentence_id": 3, "translation": "c", "score": 1, "ref": "t", "text": 5},
    )
    assert list(block.sentences.ids) == ["0", "2"]
    assert list(block.sentences.sources) == ["quelle", ""]
    assert list(block.sentences.references) == ["r", "s", "t"]
    assert block.sentences.reference_offsets.tolist() == [0, 2, 3]


BAD = [
    (b'{"score": -Infinity, "sentence_id": 2, "translation": ""}', "not-finite", "blank source lines"),
    ({"translations": ["a", "b"], "scores": [1, float("nan")]}, "not-finite", "nan"),
    (b'{"translation": "a", "score": 1' + b"0" * 400 + b"}", "not-finite", "inf"),
    ({"translations": ["a", "b"], "scores": [1]}, "fields", "as many scores as translations (2), found 1"),
    ({"translations": ["a", "b"]}, "fields", 'an array as "scores"'),
    ({"hyp": "a"}, "fields", 'only "hyp"'),
    ({}, "fields", "an empty object"),
    ({"translations": "a", "scores": [1]}, "type", "the string 'a'"),
    ({"translations": ["a", 3], "scores": [1, 2]}, "type", "the number 3 in it"),
    ({"translations": ["a", "b"], "scores": {"a": 1}}, "type", "an object"),
    ({"sentence_id": 1.5, "translation": "a", "score": 1}, "type", "the number 1.5"),
    ({"translation": "a", "score": "1"}, "number", "the string '1'"),
    ({"translation": "a", "score": True}, "number", "true"),
    ({"translations": ["a", "b"], "scores": [[1], [[2]]]}, "number", "an array"),
    (b'{"translation": "a\\udc00", "score": 1}', "utf-8", "half a surrogate pair"),
    (b"[]", "json", "an array"),
    (b'{"translation": "a", ', "json", "cut off"),
    (b"[" * 100_000, "json", "nested too deep"),
    (b"", "json", "an empty line"),
]


@pytest.mark.parametrize("line, kind, words", BAD, ids=[f"{kind}-{i}" for i, (_, kind, _) in enumerate(BAD)])
def test_each_fault_is_named_and_the_good_lines_stay(read, line, kind, words):
    good = {"sentence_id": 9, "translation": "good", "score": 1}
    block, _ = read(line, good)
    error = block.bad.first()
    assert (error.kind, error.line) == (kind, 1)
    assert words in str(error)
    assert list(block.texts) == ["good"]
    assert block.lines.tolist() == [2]


def test_nothing_good(read):
    block, _ = read(b"no", b"\xff")
    assert len(block) == 0
    assert sorted(kind for kind, _, _ in block.bad) == ["json", "utf-8"]


def test_recognition():
    first = b'{"score": 1, "sentence_id": 1, "translation": "a"}\n'
    assert Method.recognizes(b'{"text": "a", "translations": ["a", "b"]}\n') == 95
    assert Method.recognizes(first + b'{"translations": ["a", "b"]}\n') == 95
    assert Method.recognizes(first) == 0
    assert Method.recognizes(b'{"hyp": "say \\"translations\\""}\n') == 0
    assert Method.recognizes(b'["translations"]') == 0
