"""Complaints: one form of sentence, and a trip between processes."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.errors import InputError, LuthierError, excerpt
from luthier.core.files.streams import TruncatedError


def test_the_sentence():
    error = InputError(expected="4 fields", found="3", path="dev.nbest", line=1042, hint="try --format cdec")
    assert str(error) == "dev.nbest:1042: expected 4 fields, found 3. hint: try --format cdec"
    assert str(InputError(expected="a file", found="a folder")) == "expected a file, found a folder."
    assert isinstance(error, LuthierError)
    assert error.exit_code == 2


@pytest.mark.parametrize("kind", [InputError, TruncatedError])
def test_complaints_survive_pickling(kind):
    error = kind(expected="a", found="b", path="p", line=0, hint="h", kind="k")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.line, again.kind) == (str(error), 0, "k")


def test_excerpts_are_short_and_printable():
    assert excerpt(b"short") == "'short'"
    assert excerpt(b"\xff\n") == r"'\\xff\n'"
    assert excerpt("ü".encode() * 60) == repr("ü" * 40 + "…")  # not cut inside a letter


@given(st.binary(max_size=300), st.integers(1, 50))
def test_excerpts_of_anything(raw, limit):
    text = raw.decode("utf-8", "backslashreplace")
    assert excerpt(raw, limit) == repr(text if len(text) <= limit else text[:limit] + "…")
