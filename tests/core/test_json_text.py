"""JSON of strangers: an object that has a key twice is refused, whoever reads it."""

import pytest

from luthier.core.errors import InputError
from luthier.core.settings import DEEPEST, parse_json, read_toml


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]', '{"a": 1, "\\u0061": 2}'])
def test_a_key_twice_is_refused(text):
    with pytest.raises(ValueError, match="the key 'a' twice"):
        parse_json(text)


def test_a_key_in_two_objects_is_fine():
    assert parse_json('[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]


def test_half_a_character_is_refused_and_a_whole_one_is_not():
    assert parse_json(r'"\ud83d\ude00"') == "😀"
    assert parse_json(rb'{"a\ud83d\ude00": 1}') == {"a😀": 1}
    for raw in (r'"\ud800"', rb'{"\udc00": 1}', r'[{"a": "b\udfffc"}]'):
        with pytest.raises(ValueError, match="half of a character"):
            parse_json(raw)


@pytest.mark.parametrize(("first", "last"), [("[", "]"), ('{"a":', "}"), ('[0, {"a": 2, "b":', "}]")])
def test_values_have_a_stated_depth_whatever_python_could_read(first, last):
    levels = first.count("[") + first.count("{")
    for raw in (str.encode, str):
        most, beyond = (raw(first * n + "0" + last * n) for n in (DEEPEST // levels, DEEPEST // levels + 1))
        assert parse_json(most) is not None
        with pytest.raises(ValueError, match="values nested too deep, beyond 100 levels"):
            parse_json(beyond)


def test_width_and_brackets_in_texts_are_no_depth():
    assert len(parse_json("[" + ",".join(["[]"] * 1000) + "]")) == 1000
    assert parse_json('"' + "[" * 1000 + '"') == "[" * 1000


@pytest.mark.parametrize("text", ["a = " + "[" * 101 + "]" * 101, ".".join("a" * 200) + " = 1"])
def test_settings_have_the_same_depth(tmp_path, text):
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="nested too deep, beyond 100 levels"):
        read_toml(path, "settings")
