"""Compressed and piecemeal streams: everything whole comes out, then the damage is told."""

from __future__ import annotations

import gzip
import io
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.files.io import line_blocks, open_bytes
from luthier.core.files.streams import DAMAGE, TruncatedError, decompressed, read_share


class Pieces(io.RawIOBase):
    """A stream that hands out its bytes in given pieces, as a pipe does."""

    def __init__(self, pieces):
        self.pieces = [piece for piece in pieces if piece]

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self.pieces:
            return 0
        piece = self.pieces.pop(0)
        used, rest = piece[: len(buffer)], piece[len(buffer) :]
        if rest:
            self.pieces.insert(0, rest)
        buffer[: len(used)] = used
        return len(used)


def packed(raw: bytes, how: str) -> bytes:
    if how == "zst":
        return pa.compress(raw, codec="zstd", asbytes=True)
    return gzip.compress(raw) if how == "gz" else raw


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=9), max_size=5), st.sampled_from(["plain", "gz", "zst"]), st.integers(1, 40))
def test_bytes_do_not_depend_on_the_pieces_they_come_in(parts, how, buffer_bytes):
    # parts that begin as a compressed file does would be taken for one
    raw = b"".join(b"." + part for part in parts)
    pieces = [packed(b"." + part, how) for part in parts]
    stream = decompressed(io.BufferedReader(Pieces(pieces)), buffer_bytes)
    assert stream.peek(buffer_bytes)[:buffer_bytes] == raw[:buffer_bytes]  # as much as there is room for
    assert stream.read() == raw


def test_the_head_is_full_though_the_first_member_is_short():
    raw = b"".join(gzip.compress(part) for part in (b"0 ||", b"| a b |||", b" lm=1 ||| 2\n"))
    assert decompressed(io.BytesIO(raw), 100).peek(100) == b"0 ||| a b ||| lm=1 ||| 2\n"


def test_padding_behind_a_gzip_member_is_allowed():
    raw = gzip.compress(b"a\n") + bytes(20) + gzip.compress(b"b\n") + bytes(5)
    assert decompressed(io.BytesIO(raw), 100).read() == b"a\nb\n"


@pytest.mark.parametrize("how", ["gz", "zst"])
def test_whole_lines_before_a_cut_are_kept(how):
    rng = random.Random(5)
    lines = [b"%d %d\n" % (i, rng.getrandbits(60)) for i in range(20_000)]  # several blocks of zst
    raw = packed(b"".join(lines), how)
    stream = decompressed(io.BytesIO(raw[: len(raw) // 2]), 1 << 12)
    found, blocks = [], line_blocks(stream, "list.gz", 1 << 10)
    with pytest.raises(TruncatedError) as caught:
        found.extend(line for block in blocks for line in block.data.tobytes().splitlines(keepends=True))
    assert found == lines[: len(found)]
    assert len(found) > 1000
    assert (caught.value.path, caught.value.line) == ("list.gz", len(found) + 1)
    assert caught.value.kind == "truncated"


def test_damage_is_told_again_and_again():
    raw = gzip.compress(bytes(random.Random(1).randbytes(1000)))[:500]
    stream = decompressed(io.BytesIO(raw), 64)
    for _ in range(2):
        with pytest.raises(DAMAGE):
            list(iter(lambda: stream.read1(64), b""))


def test_rubbish_behind_a_gzip_member_is_damage():
    stream = decompressed(io.BytesIO(gzip.compress(b"a\n") + b"rubbish"), 100)
    assert stream.read1(100) == b"a\n"
    with pytest.raises(DAMAGE):
        stream.read1(100)


@pytest.mark.parametrize("how", ["plain", "gz"])
def test_how_much_of_a_file_was_read(tmp_path, how):
    path = tmp_path / "file"
    path.write_bytes(packed(random.Random(1).randbytes(5_000_000), how))
    with open_bytes(path) as stream:
        shares = [read_share(stream)]
        while stream.read(1_000_000):
            shares.append(read_share(stream))
    assert shares == sorted(shares)
    assert shares[0] < 0.3
    assert 0.3 < shares[2] < 0.8
    assert shares[-1] == 1


def test_what_has_no_length_says_nothing_of_its_share():
    assert read_share(decompressed(io.BufferedReader(Pieces([b"a\n"])), 100)) == 0
    assert read_share(decompressed(io.BytesIO(b"a\n"), 100)) == 0
    assert read_share(None) == 0
