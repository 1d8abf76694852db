"""Plain sentence files: one text per line, as references and sources come."""

from __future__ import annotations

import os

import numpy as np

from luthier.core.arrays import Bytes, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.files.io import BOM, LINE_FEED, display_name, line_blocks, open_bytes
from luthier.corpus.texts import Texts

CARRIAGE_RETURN = 13


def line_spans(ends: Int64) -> tuple[Int64, Int64]:
    """Return the spans of the lines of a block, without the line feeds, which stand at `ends`."""
    stops = ends
    starts = np.empty_like(stops)
    if len(starts):
        starts[0] = 0
        starts[1:] = stops[:-1] + 1
    return starts, stops


def read_lines(path: str | os.PathLike[str]) -> Texts:
    """Read a text file, one text per line; Windows line ends and a byte-order mark are no part of it.

    Raises
    ------
    InputError
        Bad UTF-8, an empty or damaged file; each with its line.
    """
    name = display_name(path)
    parts = []
    with open_bytes(path) as stream:
        for block in line_blocks(stream, name):
            data = block.data
            starts, stops = line_spans(block.ends)
            if block.first_line == 1 and data[:3].tobytes() == BOM:
                starts[0] = len(BOM)
            stops = stops - ((stops > starts) & (data[np.maximum(stops - 1, 0)] == CARRIAGE_RETURN))
            check_utf8(data, name, block.first_line)
            parts.append(Texts.from_spans(data, starts, stops))
    if not parts:
        raise empty_error(name)
    return Texts.concatenate(parts)


def check_utf8(data: Bytes, name: str, first_line: int) -> None:
    """Raise `InputError` at the first line of a block that is not UTF-8."""
    try:
        data.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = first_line + int(np.count_nonzero(before == LINE_FEED))
        raise utf8_error(name, line, data[error.start : error.start + 4].tobytes()) from None


def utf8_error(path: str, line: int, found: bytes) -> InputError:
    """Return the complaint about bytes that are not UTF-8."""
    return InputError(
        expected="UTF-8 text",
        found=f"the bytes {excerpt(found)}",
        path=path,
        line=line,
        hint="convert the file, for example with: iconv -f latin1 -t utf-8",
        kind="utf-8",
    )


FIXABLE = "; or let `skip_bad` fix it"  # behind a hint, where there is this option


def windows_line_error(path: str, line: int, more: str = "") -> InputError:
    """Return the complaint about a carriage return before the line feed."""
    return InputError(
        expected="a line that ends in a line feed",
        found="a Windows line end (CR LF)",
        path=path,
        line=line,
        hint=f"convert with: sed -i 's/\\r$//' FILE{more}",
        kind="windows-line-end",
    )


def bom_error(path: str, more: str = "") -> InputError:
    """Return the complaint about a byte-order mark."""
    return InputError(
        expected="text from the first byte on",
        found="a byte-order mark (BOM)",
        path=path,
        line=1,
        hint=f"remove it with: sed -i '1s/^\\xEF\\xBB\\xBF//' FILE{more}",
        kind="byte-order-mark",
    )


def empty_error(path: str) -> InputError:
    """Return the complaint about a file without a line."""
    return InputError(expected="at least one line", found="an empty file", path=path, kind="empty")
