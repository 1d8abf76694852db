"""Arrow streams: written block by block, readable after any end, resumed where they were whole."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.arrow import ABOUT, RecordWriter, file_rows, read_column, whole_rows, write_as_file


def block(first, n):
    numbers = np.arange(first, first + n)
    return {
        "number": numbers,
        "pair": np.stack([numbers, -numbers], axis=1) * 0.5,
        "some": (np.arange(n + 1), numbers.astype(np.int32)),
    }


def written(path):
    write_as_file(path, path.with_suffix(".whole"))
    return np.concatenate([np.empty(0, np.int64), *read_column(path.with_suffix(".whole"), "number")]).tolist()


def test_blocks_are_there_for_any_reader(tmp_path):
    path = tmp_path / "rows.arrow"
    with RecordWriter(path, {"what": "näme"}) as writer:
        writer.append(block(0, 3))
        writer.append(block(3, 2))
        writer.finish()
    assert pa.ipc.open_stream(path).read_all().num_rows == 5
    write_as_file(path, path)
    table = pa.feather.read_table(path)
    assert table.column("number").to_pylist() == [0, 1, 2, 3, 4]
    assert table.column("some").to_pylist() == [[0], [1], [2], [3], [4]]
    assert table.column("pair").to_pylist()[3] == [1.5, -1.5]
    assert json.loads(pa.ipc.open_file(path).schema.metadata[ABOUT]) == {"what": "näme"}
    assert np.concatenate(list(read_column(path, "pair"))).shape == (5, 2)


def test_a_stream_cut_anywhere_keeps_its_whole_blocks(tmp_path):
    path, cut = tmp_path / "rows.arrow", tmp_path / "cut.arrow"
    with RecordWriter(path, {}) as writer:
        writer.append(block(0, 3))
        whole = writer.length
        writer.append(block(3, 2))
    data = path.read_bytes()
    for end in (whole, whole + 4, whole + 40, len(data) - 1):
        cut.write_bytes(data[:end])
        assert written(cut) == [0, 1, 2]
    assert written(path) == [0, 1, 2, 3, 4]


def test_going_on_drops_what_was_not_whole(tmp_path):
    path = tmp_path / "rows.arrow"
    with RecordWriter(path, {}) as writer:
        writer.append(block(0, 3))
        whole = writer.length
        writer.append(block(100, 5))
    with RecordWriter(path, {}, whole) as writer:
        writer.append(block(3, 1))
    assert written(path) == [0, 1, 2, 3]


def test_a_file_that_has_lost_rows_cannot_be_gone_on_with(tmp_path):
    path = tmp_path / "rows.arrow"
    path.write_bytes(b"abc")
    with pytest.raises(InputError, match="without `resume`"):
        RecordWriter(path, {}, 10)
    assert file_rows(path) == 0


@pytest.mark.parametrize("flip", [0x40, 0xFF])
def test_no_damaged_byte_ends_the_process_or_comes_through_as_other_kinds(tmp_path, monkeypatch, flip):
    """Offsets of lists that lie had Arrow abort; a changed number is a number."""
    monkeypatch.setattr("os.fsync", lambda handle: None)
    path, damaged = tmp_path / "rows.arrow", tmp_path / "damaged.arrow"
    with RecordWriter(path, {}) as writer:
        writer.append(block(0, 3))
        length = writer.length
    data, told = path.read_bytes(), 0
    for at in range(len(data)):
        damaged.write_bytes(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :])
        if whole_rows(damaged, length) != 3:
            told += 1
            continue
        try:
            write_as_file(damaged, tmp_path / "whole.arrow")
            assert file_rows(tmp_path / "whole.arrow") == 3
            assert np.concatenate(list(read_column(tmp_path / "whole.arrow", "number", "int64"))).shape == (3,)
        except LuthierError:
            told += 1
    assert 0 < told < len(data)
