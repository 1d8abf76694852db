"""What strangers write: read once, within limits, every part of its type, refused in one sentence."""

import dataclasses
from typing import Any, Literal

import pytest

from luthier.core import settings
from luthier.core.errors import InputError, LuthierError
from luthier.core.settings import Table, parse_json, read_toml, typed


@dataclasses.dataclass(frozen=True)
class Part:
    file: str
    size: int = 0


@dataclasses.dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    kind: Literal["a", "b"] = "a"
    free: dict[str, float] = dataclasses.field(default_factory=dict)
    anything: Any = None


def test_a_record_of_records():
    said = {"parts": [{"file": "x", "size": 3}, {"file": "y"}], "free": {"lm": 2}, "anything": {"more": [1]}}
    assert typed(said, Whole) == Whole((Part("x", 3), Part("y")), free={"lm": 2.0}, anything={"more": [1]})


@pytest.mark.parametrize(
    "said, complaint",
    [
        ({}, "expected a value for 'parts', found nothing."),
        ({"parts": 3}, "expected a list for 'parts', found 3."),
        ({"parts": None}, "expected a list for 'parts', found nothing."),
        ({"parts": ["x"]}, "expected a table for 'parts[0]', found 'x'."),
        ({"parts": [{"file": "x"}, {"size": 1}]}, "expected a value for 'parts[1].file', found nothing."),
        ({"parts": [{"file": "x", "size": 1.0}]}, "expected a whole number for 'parts[0].size', found 1.0."),
        ({"parts": [{"file": "x", "size": True}]}, "expected a whole number for 'parts[0].size', found True."),
        ({"parts": [{"file": "x", "more": 1}]}, "expected no keys but file, size, found 'more'."),
        ({"parts": [], "other": 1}, "expected no keys but parts, kind, free, anything, found 'other'."),
        ({"parts": [], "kind": "c"}, "expected a value that can be used for 'kind', found invalid enum value 'c'."),
        ({"parts": [], "free": {"lm": "2"}}, "expected a number for 'free[...]', found a text."),
        ([], "expected a table, found []."),
    ],
)
def test_what_has_another_type_is_said_with_its_place(said, complaint):
    with pytest.raises(InputError) as caught:
        typed(said, Whole)
    assert str(caught.value) == complaint


def test_settings_say_their_file_and_table(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[decoder]\nk = "ten"\nrefs = []\nnames = [1]\nfile = "x"\nrest = 1\n')
    table = Table.read(path, "settings").table("decoder")
    for take, complaint in (
        (lambda: table.take("k", int), "expected a whole number for 'k' in [decoder], found 'ten'."),
        (lambda: table.take("n", float), "expected a number for 'n' in [decoder], found nothing."),
        (lambda: table.texts("refs"), "expected something for 'refs' in [decoder], found an empty list."),
        (lambda: table.texts("names"), "expected a text for [0] of 'names' in [decoder], found 1."),
    ):
        with pytest.raises(InputError) as caught:
            take()
        assert str(caught.value) == f"{path}: {complaint}"
    assert table.texts("file") == ("x",)
    with pytest.raises(LuthierError, match=r"\[decoder\] has no setting 'rest'. known: file, k, n, names, refs"):
        table.end()


def test_what_is_too_long_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "MOST_BYTES", 1 << 20)
    path = tmp_path / "s.toml"
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(InputError, match="expected settings in TOML, found more than 1 MB"):
        read_toml(path, "settings")
    with pytest.raises(ValueError, match="more than 1 MB"):
        parse_json(b" " * ((1 << 20) + 1))


@pytest.mark.parametrize("text", ["a = 1\na = 2", "a = " + "[" * 5000, "a = 9223372036854775808", "a = nan", "\xff"])
def test_no_settings(tmp_path, text):
    path = tmp_path / "s.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="expected settings in TOML, found"):
        read_toml(path, "settings")
