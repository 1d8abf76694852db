"""Files of arrays: the same again, mapped and frozen; anything else is refused before it is used."""

import json

import numpy as np
import pytest

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.array_file import MAGIC, is_array_file, open_arrays, save_arrays

ARRAYS = {
    "numbers": np.arange(6, dtype=np.int64).reshape(2, 3), "none": np.zeros(0, np.int32), "real": np.array([0.5, -1.0]),
    "bytes": np.frombuffer(b"luthier", dtype=np.uint8), "short": np.arange(-3, 3, dtype=np.int16),
}  # fmt: skip


def test_the_same_again(tmp_path):
    path = tmp_path / "file"
    save_arrays(path, "things 1", ARRAYS, {"depth": 5})
    arrays, about = open_arrays(path, "things 1")
    assert about == {"depth": 5}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert not arrays[name].flags.writeable
    assert is_array_file(path, "things 2")
    assert not is_array_file(path, "thoughts 1")
    with pytest.raises(InputError, match="found a file of the kind 'things 1'"):
        open_arrays(path, "things 2")


@pytest.mark.parametrize("cut", range(0, 600, 23))
def test_a_file_cut_off_is_refused(tmp_path, cut):
    path = tmp_path / "file"
    save_arrays(path, "things 1", ARRAYS, {})
    whole = path.read_bytes()
    assert cut < len(whole)
    path.write_bytes(whole[:cut])
    with pytest.raises(InputError, match="expected a file of the kind 'things 1'"):
        open_arrays(path, "things 1")


def test_changed_bytes_are_found(tmp_path):
    path = tmp_path / "file"
    save_arrays(path, "things 1", ARRAYS, {})
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"luthier", 100)] ^= 1
    path.write_bytes(whole)
    with pytest.raises(InputError, match="bytes that have changed"):
        open_arrays(path, "things 1")


@pytest.mark.parametrize(
    "change",
    [
        {"size": -1}, {"size": 1 << 70}, {"size": "x"}, {"kind": 3}, {"about": []}, {"arrays": 5}, {"arrays": [{}]},
        {"arrays": [{"name": "a", "type": "O", "shape": [1], "start": 0}]},
        {"arrays": [{"name": "a", "type": "<i8", "shape": [1 << 40, 1 << 40], "start": 0}]},
        {"arrays": [{"name": "a", "type": "<i8", "shape": [1], "start": 3}]},
        {"arrays": [{"name": "a", "type": "<i8", "shape": [-1], "start": 0}]},
    ],
)  # fmt: skip
def test_a_forged_head_is_refused(tmp_path, change):
    path = tmp_path / "file"
    head = {"kind": "things 1", "about": {}, "size": 64, "checksum": 0, "arrays": []} | change
    text = json.dumps(head).encode()
    path.write_bytes(MAGIC + b"%10d\n" % len(text) + text + bytes(256))
    with pytest.raises(InputError, match="expected a file of the kind"):
        open_arrays(path, "things 1")


def test_nothing_is_left_of_a_write_that_fails(tmp_path):
    with pytest.raises(LuthierError, match="expected an array of one of"):
        save_arrays(tmp_path / "file", "things 1", {"a": np.array(["text"])}, {})
    assert not list(tmp_path.iterdir())
