"""Parquet and Arrow files: layouts of features, nulls, faults, damage."""

import io
import itertools
import math
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from luthier.core.errors import InputError
from luthier.kbest.readers import parquet
from luthier.kbest.readers.parquet import Method
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Source

MAP = pa.map_(pa.string(), pa.float64())


def source_of(path):
    return Source(str(path), LineErrors(), NameTable(), NameTable())


@pytest.fixture
def read(tmp_path):
    """Writes a table as Parquet and returns the only block and its source."""

    def read_table(columns, **options):
        path = tmp_path / "list.parquet"
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
        source = source_of(path)
        (block,) = Method().blocks(source)
        return block, source

    return read_table


def features(block, source):
    names = [source.names.label_of(int(number))[0] for number in block.names]
    bounds = block.row_starts.tolist()
    return [dict(zip(names[a:b], block.values[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(bounds)]


def test_flat_columns_of_numbers_are_features(read):
    block, source = read(
        {
            "id": pa.array([0, 0, 1], pa.int32()),
            "hyp": ["a b", "", "ü"],
            "lm": [-1.5, None, 2.0],
            "length": pa.array([2, 0, 1], pa.uint8()),
            "half": pa.array(np.array([0.5, 1, 2], dtype=np.float16)),
            "note": ["x", "y", None],
            "flag": [True, False, None],
        }
    )
    assert list(block.ids) == ["0", "0", "1"]
    assert list(block.texts) == ["a b", "", "ü"]
    assert block.lines.tolist() == [1, 2, 3]
    assert features(block, source) == [
        {"lm": -1.5, "length": 2.0, "half": 0.5}, {"length": 0.0, "half": 1.0},
        {"lm": 2.0, "length": 1.0, "half": 2.0},
    ]  # fmt: skip
    assert block.columns == {}
    assert block.sentences is None


@pytest.mark.parametrize("kind", [pa.struct([("lm", pa.float32()), ("n", pa.int64())]), MAP])
def test_features_in_one_column_leave_other_numbers_as_columns(read, kind):
    rows = [{"lm": 0.5, "n": 3}, {"lm": None, "n": 4}, None]
    if kind == MAP:
        rows = [row and list(row.items()) for row in rows]
    block, source = read(
        {
            "id": ["s", "s", "t"],
            "text": ["a", "b", "c"],
            "comet": [1, None, 3],
            "features": pa.array(rows, kind),
        }
    )
    assert features(block, source) == [{"lm": 0.5, "n": 3.0}, {"n": 4.0}, {}]
    assert list(block.columns) == ["comet"]
    np.testing.assert_array_equal(block.columns["comet"], [1, np.nan, 3])


def test_texts_of_other_arrow_types(read):
    block, _ = read(
        {
            "id": pa.array(["a", "a", "b"]).dictionary_encode(),
            "hypothesis": pa.array(["x", "y", "z"], pa.large_string()),
            "src": pa.array(["s", "s", None]).dictionary_encode(),
            "refs": pa.array([["r"], ["r"], ["q"]], pa.large_list(pa.large_string())),
        }
    )
    assert list(block.ids) == ["a", "a", "b"]
    assert list(block.texts) == ["x", "y", "z"]
    assert list(block.sentences.sources) == ["s", ""]
    assert list(block.sentences.references) == ["r", "q"]


def test_sources_and_references_come_once_for_each_run_of_ids(read):
    block, _ = read(
        {
            "id": [0, 0, 1, 2, 2],
            "hyp": list("abcde"),
            "source": ["s", "s", None, None, "t"],
            "refs": [["r", "q"], ["r", "q"], None, [None], ["u", None]],
        }
    )
    assert list(block.sentences.ids) == ["0", "2"]
    assert list(block.sentences.sources) == ["s", "t"]
    assert list(block.sentences.references) == ["r", "q", "u"]
    assert block.sentences.reference_offsets.tolist() == [0, 2, 3]
    block, _ = read({"id": [0, 1], "hyp": ["a", "b"], "ref": ["r", None]})
    assert list(block.sentences.ids) == ["0"]
    assert list(block.sentences.references) == ["r"]
    assert block.sentences.sources is None


def test_derivations(read):
    rule = pa.struct([("rule", pa.string()), ("features", MAP)])
    rows = [
        [{"rule": "X", "features": [("p", 1.0)]}, {"rule": "Y", "features": None}],
        None,
        [{"rule": "X", "features": [("q", 2.0), ("p", 3.0)]}],
    ]
    block, source = read({"id": [0, 0, 0], "hyp": ["a", "b", "c"], "derivation": pa.array(rows, pa.list_(rule))})
    uses = block.rule_uses
    assert uses.offsets.tolist() == [0, 2, 2, 3]
    assert list(uses.rule_texts) == ["X", "Y", "X"]
    assert uses.feature_offsets.tolist() == [0, 1, 1, 3]
    assert [source.local_names.label_of(int(n))[0] for n in uses.names] == ["p", "q", "p"]
    assert uses.values.tolist() == [1.0, 2.0, 3.0]
    block, _ = read({"id": [0, 0], "hyp": ["a", "b"], "derivation": [["X", "Y"], []]})
    assert list(block.rule_uses.rule_texts) == ["X", "Y"]


BAD = [
    ({"id": None}, "fields", "a value in the column 'id', found null"),
    ({"hyp": None}, "fields", "a value in the column 'hyp', found null"),
    ({"features": [("new", 1.0), ("lm", math.nan)]}, "not-finite", "nan for 'lm'"),
    ({"features": [("lm", -math.inf)]}, "not-finite", "-inf for 'lm'"),
    ({"comet": math.inf}, "not-finite", "inf for 'comet'"),
    ({"comet": math.nan}, "not-finite", "nan for 'comet'"),
    ({"derivation": [{"rule": None, "features": []}]}, "fields", "'derivation'"),
    ({"derivation": [{"rule": "X", "features": [("p", math.nan)]}]}, "not-finite", "nan for 'p'"),
    ({"source": "another"}, "sentence-data", "the source that the sentence has above"),
    ({"refs": ["r", "another"]}, "sentence-data", "the references that the sentence has above"),
]


@pytest.mark.parametrize("wrong, kind, words", BAD, ids=[f"{kind}-{i}" for i, (_, kind, _) in enumerate(BAD)])
def test_each_fault_is_named_and_the_good_rows_stay(read, wrong, kind, words):
    schema = pa.schema(
        {
            "id": pa.string(), "hyp": pa.string(), "features": MAP, "comet": pa.float64(),
            "source": pa.string(), "refs": pa.list_(pa.string()),
            "derivation": pa.list_(pa.struct([("rule", pa.string()), ("features", MAP)])),
        }
    )  # fmt: skip
    good = {
        "id": "0", "hyp": "good", "features": [("lm", 1.0)], "comet": 0.5, "source": "s", "refs": ["r"],
        "derivation": [{"rule": "R", "features": []}],
    }  # fmt: skip
    block, source = read(pa.Table.from_pylist([good, good | wrong, good], schema))
    error = block.bad.first()
    assert (error.kind, error.line) == (kind, 2)
    assert words in str(error)
    assert [group[0] for group in block.bad] == [kind]
    assert block.lines.tolist() == [1, 3]
    assert features(block, source) == [{"lm": 1.0}, {"lm": 1.0}]
    assert len(source.names) == 1  # the names of bad rows are not kept
    assert block.columns["comet"].tolist() == [0.5, 0.5]
    assert list(block.rule_uses.rule_texts) == ["R", "R"]


FILES = [
    ({"hyp": ["a"]}, "a column 'id' or 'sentence_id' or 'segment_id', found only 'hyp'"),
    ({"id": [0], "lm": [1.0]}, "a column 'hyp' or 'hypothesis' or 'text'"),
    ({"id": [0.5], "hyp": ["a"]}, "texts or integers in the column 'id', found double"),
    ({"id": [0], "hyp": [["a"]]}, "texts in the column 'hyp', found list"),
    (
        {"id": [0], "hyp": ["a"], "features": ["lm=1"]},
        "a struct or a map of numbers in the column 'features'",
    ),
    ({"id": [0], "hyp": ["a"], "features": [{"lm": "x"}]}, "a struct or a map of numbers"),
    ({"id": [0], "hyp": ["a"], "refs": [[1]]}, "texts or lists of texts in the column 'refs'"),
    ({"id": [0], "hyp": ["a"], "derivation": [[{"text": "X"}]]}, "lists of texts, or of structs"),
    ({"id": [], "hyp": pa.array([], pa.string())}, "texts or integers in the column 'id', found null"),
    ({"id": pa.array([], pa.string()), "hyp": pa.array([], pa.string())}, "at least one line"),
]


@pytest.mark.parametrize("columns, words", FILES)
def test_files_that_cannot_be_used(read, columns, words):
    with pytest.raises(InputError) as caught:
        read(columns)
    assert words in str(caught.value)
    assert "list.parquet" in str(caught.value)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4"])
def test_arrow_files_in_batches(tmp_path, monkeypatch, compression):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 3)
    path = tmp_path / "list.feather"
    table = pa.table(
        {
            "id": [f"s{i // 4}" for i in range(8)],
            "hyp": [str(i) for i in range(8)],
            "features": pa.array([[("lm", i)] if i % 3 else None for i in range(8)], MAP),
            "refs": [[f"r{i // 4}"] if i != 5 else None for i in range(8)],
        }
    )
    pa.feather.write_feather(table, str(path), compression=compression, chunksize=5)
    source = source_of(path)
    blocks = list(Method().blocks(source))
    assert [block.lines.tolist() for block in blocks] == [[1, 2, 3], [4, 5], [6, 7, 8]]
    assert [text for block in blocks for text in block.texts] == [str(i) for i in range(8)]
    assert [list(block.sentences.references) for block in blocks] == [["r0"], ["r0", "r1"], ["r1"]]
    rows = [row for block in blocks for row in features(block, source)]
    assert rows == [{"lm": float(i)} if i % 3 else {} for i in range(8)]


def test_parquet_files_in_row_groups_from_standard_input(tmp_path, monkeypatch):
    table = pa.table({"id": [0, 0, 1], "hyp": ["a", "b", "c"], "lm": [1.0, 2.0, 3.0]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=2)
    buffer.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(buffer)))
    source = source_of("-")
    blocks = list(Method().blocks(source))
    assert [text for block in blocks for text in block.texts] == ["a", "b", "c"]
    assert [value for block in blocks for value in block.values.tolist()] == [1.0, 2.0, 3.0]
    assert source.name == "<standard input>"


def test_damage(tmp_path):
    path = tmp_path / "list.parquet"
    pq.write_table(pa.table({"id": [0], "hyp": ["a"]}), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="expected a whole Parquet or Arrow file, found damage"):
        list(Method().blocks(source_of(path)))
    path.write_bytes(b"")
    with pytest.raises(InputError, match="an empty file"):
        list(Method().blocks(source_of(path)))
    with pytest.raises(InputError, match="no such file"):
        list(Method().blocks(source_of(tmp_path / "missing")))


def test_a_pool_is_not_a_list(tmp_path):
    path = tmp_path / "pool.arrow"
    schema = pa.schema({"offsets": pa.int64()}, metadata={"luthier.pool": "1"})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(schema.empty_table())
    with pytest.raises(InputError, match="found a pool"):
        list(Method().blocks(source_of(path)))


def test_recognition():
    assert Method.recognizes(b"PAR1\x15\x04") == 100
    assert Method.recognizes(b"ARROW1\x00\x00") == 50
    assert Method.recognizes(b'{"hyp": "PAR1"}') == 0
