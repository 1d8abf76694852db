"""Cutting lines into columns: each kernel against plain Python, on texts full of the separators."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.kbest.reading import columns
from luthier.kbest.reading.columns import Spans

SPACE = b" \t\n\v\f\r"
lines_of = st.lists(st.text("aH-D12\t \v\u00a0", max_size=12).map(str.encode), max_size=6)
quickly = settings(max_examples=40)


def spans(lines):
    stops = np.cumsum([len(line) for line in lines], dtype=np.int64)
    starts = stops - np.array([len(line) for line in lines], dtype=np.int64)
    return Spans(np.frombuffer(b"".join(lines), dtype=np.uint8), starts, stops)


def content(found):
    return [found.raw(i) for i in range(len(found))]


@quickly
@given(lines_of, st.integers(0, 4))
def test_tab_fields(lines, n):
    found = columns.tab_fields(spans(lines), n)
    split = [line.split(b"\t") for line in lines]
    assert found.counts.tolist() == [len(fields) for fields in split]
    for c, column in enumerate(found.columns):
        assert content(column) == [fields[c] if c < len(fields) else b"" for fields in split]


@quickly
@given(lines_of, st.integers(0, 4))
def test_leading_words(lines, n):
    found, rest = columns.leading_words(spans(lines), n)
    for r, line in enumerate(lines):
        words = re.findall(rb"[^ \t\n\v\f\r]+", line)
        assert found.counts[r] == min(len(words), n)
        assert [column.raw(r) for column in found.columns][: len(words)] == words[:n]
        behind = re.sub(rb"^[ \t\n\v\f\r]*(?:[^ \t\n\v\f\r]+[ \t\n\v\f\r]*){0,%d}" % n, b"", line)
        assert rest.raw(r) == behind.strip(SPACE)


@quickly
@given(lines_of)
def test_words(lines):
    offsets, found = columns.words(spans(lines))
    split = [re.findall(rb"[^ \t\n\v\f\r]+", line) for line in lines]
    assert offsets.tolist() == np.cumsum([0] + [len(words) for words in split]).tolist()
    assert content(found) == [word for words in split for word in words]


@quickly
@given(lines_of)
def test_log_marks(lines):
    marks, ids = columns.log_marks(spans(lines))
    for r, line in enumerate(lines):
        match = re.match(rb"([HDPST])-([0-9]+)(?=[\t ]|$)", line)
        assert marks[r] == (match[1][0] if match else 0)
        assert not match or ids.raw(r) == match[2]


@quickly
@given(st.lists(st.text("ab", max_size=2).map(str.encode), max_size=8))
def test_same_as_before(lines):
    assert columns.same_as_before(spans(lines)).tolist() == [
        i > 0 and line == lines[i - 1] for i, line in enumerate(lines)
    ]


@quickly
@given(st.lists(st.text("a-12", max_size=8).map(str.encode), max_size=6))
def test_numbered_suffixes(lines):
    stems, numbers = columns.numbered_suffixes(spans(lines))
    for r, line in enumerate(lines):
        match = re.fullmatch(rb"(.+)-([0-9]+)", line)
        assert numbers[r] == (int(match[2]) if match else -1)
        assert stems.raw(r) == (match[1] if match else line)


@pytest.mark.parametrize("numbers", [[], [0, 9, 10, 123456789012345678]])
def test_decimals(numbers):
    assert list(columns.decimals(np.array(numbers, dtype=np.int64))) == [str(n) for n in numbers]


def test_full_rows():
    names = np.array([4, 2], dtype=np.int32)
    row_starts, row_names, values = columns.full_rows(names, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert row_starts.tolist() == [0, 2, 4, 6]
    assert row_names.tolist() == [4, 2, 4, 2, 4, 2]
    assert values.tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
