"""Lines without an end and files that unpack to too much: refused by their size, read in time that grows with it."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pytest

from luthier.core.errors import InputError
from luthier.core.files import io as files
from luthier.core.files import streams
from luthier.core.files.io import line_blocks
from luthier.core.files.streams import unpacking_any
from luthier.corpus.lines import read_lines
from luthier.kbest.building.lists import ReadOptions, read_pool


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(streams, "LARGE", 1 << 20)


def packed(path, data):
    """Write bytes gzipped or as zst, by the name's ending."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data, 9))
    else:
        path.write_bytes(pa.Codec("zstd").compress(data, asbytes=True))
    return path


def blocks(data, block_bytes):
    return list(line_blocks(io.BufferedReader(io.BytesIO(data)), "x", block_bytes))


@pytest.mark.parametrize("length", [(1 << 20) - 1, 1 << 20])
@pytest.mark.parametrize("ended", [True, False])
def test_a_line_over_the_limit_is_refused_with_its_number(length, ended):
    data = b"a\nb\n" + b"x" * length + b"\n" * ended
    if length < 1 << 20:
        assert [len(block.data) for block in blocks(data, 1 << 16)][-1] == length + 1
        return
    with pytest.raises(InputError, match="x:3: expected lines of at most 1 MB, found a longer one") as caught:
        blocks(data, 1 << 16)
    assert caught.value.line == 3


def test_a_long_line_is_copied_a_few_times_only(monkeypatch):
    copied = []
    empty = np.empty

    def counting(shape, **more):
        copied.append(int(np.prod(shape)))
        return empty(shape, **more)

    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 28)
    sizes = {}
    for n in (1 << 20, 1 << 21, 1 << 22):
        copied.clear()
        monkeypatch.setattr(files.np, "empty", counting)
        found = blocks(b"x" * n + b"\ny\n", 1 << 12)
        monkeypatch.setattr(files.np, "empty", empty)
        assert b"".join(block.data.tobytes() for block in found) == b"x" * n + b"\ny\n"
        sizes[n] = sum(copied)
        assert sizes[n] <= 8 * n
    assert sizes[1 << 22] <= 2.2 * sizes[1 << 21] <= 5 * sizes[1 << 20]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path, ending):
    path = packed(tmp_path / f"list.{ending}", b"\n" * (8 << 20))
    told = rf"list.{ending}: expected a compressed file that unpacks to at most 1,000 times its size, found \d+ MB of "
    with pytest.raises(InputError, match=told):
        read_lines(path)
    with unpacking_any(allowed=True):
        assert len(read_lines(path)) == 8 << 20


def test_what_is_large_or_dense_alone_is_read(tmp_path, monkeypatch):
    numbers = "".join(f"{i}\n" for i in range(1 << 19)).encode()  # some 4 MB, of which zstd makes a few hundredths
    assert len(read_lines(packed(tmp_path / "large.zst", numbers))) == 1 << 19
    assert len(read_lines(packed(tmp_path / "dense.zst", b"0\n" * (1 << 18)))) == 1 << 18


def test_lists_and_the_command_line_allow_it(tmp_path, run_cli):
    line = b"0 ||| a ||| lm= 1 ||| 1\n"
    path = packed(tmp_path / "list.zst", line * (1 << 18))
    with pytest.raises(InputError, match="unpacks to at most 1,000 times its size"):
        read_pool(path)
    assert read_pool(path, options=ReadOptions(unpack_any=True)).n_hypotheses == 1
    code, _, said = run_cli("rerank", path, "--weights", tmp_path / "w", "-o", "-")
    assert code == 2
    (tmp_path / "w").write_text("lm 1\n")
    code, out, said = run_cli("rerank", path, "--weights", tmp_path / "w", "-o", "-")
    assert (code, "or let it be read (--unpack-any)" in said) == (2, True), said
    code, out, said = run_cli("rerank", path, "--weights", tmp_path / "w", "-o", "-", "--unpack-any")
    assert (code, out) == (0, "a\n"), said
