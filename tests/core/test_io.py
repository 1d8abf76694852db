"""Bytes in and out: lines in blocks of any size, and writes that happen whole or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.errors import InputError, LuthierError
from luthier.core.files import io as luthier_io
from luthier.core.files.io import atomic_write, check_writable, display_name, line_blocks, open_bytes, open_output


def blocks_of(raw: bytes, block_bytes: int):
    return list(line_blocks(io.BufferedReader(io.BytesIO(raw)), "list", block_bytes))


def lines_of(blocks):
    """Return (number, line without its line feed) of every line."""
    lines = []
    for block in blocks:
        start = 0
        for k, end in enumerate(block.ends.tolist()):
            lines.append((block.first_line + k, block.data[start:end].tobytes()))
            start = end + 1
        assert start == len(block.data)
    return lines


@given(st.binary(max_size=60).map(lambda raw: raw.replace(b"0", b"\n")), st.integers(1, 70))
def test_blocks_hold_the_lines_that_splitting_gives(raw, block_bytes):
    expected = raw.split(b"\n")
    if not expected[-1]:
        expected.pop()  # what follows the last line feed is no line
    assert lines_of(blocks_of(raw, block_bytes)) == list(enumerate(expected, start=1))


def test_a_last_line_without_an_end_gets_one_and_carriage_returns_stay():
    assert b"".join(block.data.tobytes() for block in blocks_of(b"a\r\nb", 100)) == b"a\r\nb\n"
    assert blocks_of(b"", 100) == []


def test_memory_is_bounded_by_the_block():
    blocks = blocks_of(b"abcdefg\n" * 1000, 64)
    assert max(len(block.data) for block in blocks) <= 2 * 64


@pytest.mark.parametrize("name", ["plain", "members.gz", "frames.zst"])
def test_files_are_told_by_content_and_compressed_ones_may_have_several_parts(tmp_path, name):
    parts = [b"first li", b"ne\nsecond", b"\n"]
    pack = {"gz": gzip.compress, "zst": lambda part: pa.compress(part, codec="zstd", asbytes=True)}
    path = tmp_path / "no-ending-to-go-by"
    path.write_bytes(b"".join(pack.get(name[-3:].strip("."), bytes)(part) for part in parts))
    with open_bytes(path) as stream:
        assert stream.read() == b"first line\nsecond\n"


def test_what_cannot_be_opened_is_named(tmp_path):
    for path, found in ((tmp_path, "a folder"), (tmp_path / "none", "no such file")):
        with pytest.raises(InputError, match=found) as caught, open_bytes(path):
            pass
        assert caught.value.path == str(path)


def test_names_in_complaints():
    assert display_name("-") == "<standard input>"
    assert display_name("dev.nbest") == "dev.nbest"
    assert display_name(os.fsdecode(b"dev\xff")) == "dev\\xff"  # can be printed anywhere


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")

    def write():
        with atomic_write(path) as temporary:
            temporary.write_bytes(b"half of the new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_takes_the_place_of_the_old_file_and_its_permissions(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    with open_output(tmp_path / "ours") as file:
        file.write(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with open_output(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    check_writable(os.devnull)
    with open_output(os.devnull) as file:
        file.write(b"gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


KILLED = """
import sys, time
from luthier.core.files.io import open_output
with open_output(sys.argv[1]) as file:
    file.write(b"new" * 100_000)
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_a_killed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    with child:
        assert child.stdout.readline() == b"writing\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.zst"])
def test_the_same_content_gives_the_same_bytes_whenever_it_is_written(tmp_path, name, monkeypatch):
    written = []
    for now in (1e9, 2e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with open_output(tmp_path / name) as file:
            file.write(b"one line\n")
            file.write(b"another\n")
        written.append((tmp_path / name).read_bytes())
        with open_bytes(tmp_path / name) as stream:
            assert stream.read() == b"one line\nanother\n"
    assert written[0] == written[1]


def test_standard_output(capfdbinary):
    with open_output("-") as file:
        file.write(b"text\xff")
    assert capfdbinary.readouterr().out == b"text\xff"


def test_whether_a_place_can_be_written_to_is_known_before(tmp_path):
    check_writable(tmp_path / "new")
    check_writable("-")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LuthierError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(LuthierError, match="there is no folder"):
        check_writable(tmp_path / "none" / "new")
    with pytest.raises(LuthierError, match="cannot write here"), atomic_write(tmp_path / "none" / "new"):
        pass


def test_blocks_are_large_enough_to_be_fast():
    assert luthier_io.BLOCK_BYTES >= 1 << 18


def test_a_full_disk_is_told_with_the_file_and_leaves_what_was_there(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("before")
    told = r"out\.txt: cannot write here: no space left on device; nothing was kept"
    with pytest.raises(LuthierError, match=told), atomic_write(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    told = r"out\.txt: cannot write here: input/output error; nothing was kept. hint: name another place"
    with pytest.raises(LuthierError, match=told), atomic_write(path):
        raise OSError(errno.EIO, "something else")
    with pytest.raises(OSError, match="of another file"), atomic_write(path):
        raise OSError(errno.EIO, "of another file", "other.txt")


def test_what_killed_writers_left_goes_and_what_living_ones_write_stays(tmp_path):
    code = (
        "import sys, time\nfrom luthier.core.files.io import atomic_write\n"
        f"with atomic_write({str(tmp_path / 'out')!r}): print('writing', flush=True); time.sleep(60)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for writer in writers:
        assert writer.stdout.readline() == "writing\n"
    others = {".out.tmp", ".out.note.tmp", ".out.zz-1-x.tmp", ".outer.0-1-x.tmp", "out"}
    for name in others:
        (tmp_path / name).write_text("mine")
    left = {path.name for path in tmp_path.iterdir()} - others
    assert len(left) == 2
    writers[0].kill()
    writers[0].wait()
    with open_output(tmp_path / "out") as file:
        file.write(b"new")
    assert {path.name for path in tmp_path.iterdir()} == others | {
        name for name in left if f"-{writers[1].pid}-" in name
    }
    writers[1].kill()
    for writer in writers:
        writer.wait()
        writer.stdout.close()


def test_damage_is_told_whoever_reads(tmp_path):
    path = tmp_path / "packed.gz"
    packed = gzip.compress(b"{" * 500, mtime=0)
    path.write_bytes(packed[:12] + b"\xff\xff" + packed[14:])
    for read in (lambda stream: stream.peek(1), lambda stream: stream.read()):
        with (
            pytest.raises(InputError, match=r"packed.gz: expected a whole compressed file"),
            open_bytes(path) as stream,
        ):
            read(stream)
