"""Sentence files: a line is a text, and what is wrong is said with its line."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import InputError
from luthier.core.files.io import line_blocks
from luthier.corpus import lines as lines_module
from luthier.corpus.lines import read_lines

LINES = ["first", "", " blanks stay ", "\u2028 is no line end, nor \x0b, \x0c, \x85", "last 😀"]


@pytest.fixture
def write(tmp_path):
    def write(raw):
        path = tmp_path / "text"
        path.write_bytes(raw)
        return path

    return write


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_as_they_stand(write, end, pack):
    path = write(pack(("\n".join(LINES) + end).encode()))
    assert list(read_lines(path)) == LINES


@pytest.mark.parametrize(
    "raw, kind, line",
    [
        (b"a\ncaf\xe9\n", "utf-8", 2),
        (b"", "empty", None),
        (gzip.compress(b"a\n" * 5000)[:-6], "truncated", 5001),
    ],
    ids=["utf-8", "empty", "cut"],
)
def test_faults_have_their_line(write, raw, kind, line):
    path = write(raw)
    with pytest.raises(InputError) as caught:
        read_lines(path)
    assert (caught.value.kind, caught.value.line, caught.value.path) == (kind, line, str(path))


def test_windows_line_ends_and_marks_are_no_part_of_the_text(write):
    assert list(read_lines(write(b"\xef\xbb\xbfa\r\n\r\nb\r\n"))) == ["a", "", "b"]
    assert list(read_lines(write(b"\xef\xbb\xbf\n"))) == [""]
    with pytest.raises(InputError, match="UTF-8"):
        read_lines(write(b"\xff\n"))


@settings(max_examples=30)
@given(st.lists(st.text("ab é\r", max_size=6), min_size=1), st.integers(1, 30))
def test_blocks_do_not_show(tmp_path_factory, texts, block_bytes):
    path = tmp_path_factory.mktemp("lines") / "text"
    texts = [text.rstrip("\r") for text in texts]
    path.write_text("".join(text + "\n" for text in texts), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "line_blocks", lambda stream, name: line_blocks(stream, name, block_bytes))
        assert list(read_lines(path)) == texts
