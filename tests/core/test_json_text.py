"""JSON of strangers: an object that has a key twice is refused, whoever reads it."""

import pytest

from luthier.core.settings import parse_json


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
