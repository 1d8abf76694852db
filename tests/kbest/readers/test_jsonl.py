"""JSON Lines: the keys and their oddities, the faults, and the kernels against Python's json module."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import InputError, LuthierWarning
from luthier.kbest.readers.jsonl import Method
from luthier.kbest.reading import json_tape as json_tape
from luthier.kbest.reading.json_tape import FINE, LONE_SURROGATE, SYNTAX, TOO_DEEP, Tape, read_tape
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Source


@pytest.fixture
def read(tmp_path):
    """Reads lines (objects, or texts as they stand) and returns the blocks and their source."""

    def read_lines(*lines):
        path = tmp_path / "list.jsonl"
        texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        path.write_bytes(b"".join(text + b"\n" for text in texts))
        source = Source(str(path), LineErrors(), NameTable(), NameTable())
        return list(Method().blocks(source)), source

    return read_lines


def features(block, source):
    """Return the features of each row as dictionaries."""
    names = [source.names.label_of(int(number))[0] for number in block.names]
    bounds = block.row_starts.tolist()
    return [dict(zip(names[a:b], block.values[a:b].tolist(), strict=True)) for a, b in itertools.pairwise(bounds)]


def complaint(blocks):
    assert len(blocks) == 1
    return blocks[0].bad.first()


def test_a_plain_list(read):
    (block,), source = read(
        {"id": 0, "hyp": "the bow is new", "features": {"lm": -1.5, "tm": 2}},
        {"id": 0, "hyp": "", "features": {"tm": 1e-3}},
        {"id": "s-1", "hyp": "é 🎻", "features": {}},
        {"id": -7, "hyp": "no features"},
    )
    assert list(block.ids) == ["0", "0", "s-1", "-7"]
    assert list(block.texts) == ["the bow is new", "", "é 🎻", "no features"]
    assert features(block, source) == [{"lm": -1.5, "tm": 2.0}, {"tm": 0.001}, {}, {}]
    assert block.lines.tolist() == [1, 2, 3, 4]
    assert block.sentences is None
    assert block.rule_uses is None
    assert not block.bad


def test_numbers_in_quotes_are_told_of(read):
    row = {"id": 0, "hyp": "a", "lm": "-1.5", "year": "2020", "text": "0.5"}
    with pytest.warns(LuthierWarning, match="'lm' is a text, '-1.5', and skipped. hint: write numbers without"):
        ((block,), source) = read(row)
    assert features(block, source) == [{}]


def test_an_id_that_is_null_is_called_so(read):
    assert 'expected the key "id", found null as "id"' in str(complaint(read({"id": None, "hyp": "a"})[0]))


def test_escapes_are_undone_everywhere(read):
    (block,), source = read(
        rb'{"\u0069d": "a\u00e9\"", "h\u0079p": "\\ \/ \b\f\n\r\t \ud83c\udfbb \u20ac", '
        rb'"features": {"l\tm": 1}, "sc\u006fre": 3}'
    )
    assert list(block.ids) == ['aé"']
    assert list(block.texts) == ["\\ / \b\f\n\r\t 🎻 €"]
    assert features(block, source) == [{"l\tm": 1.0}]
    assert {name: column.tolist() for name, column in block.columns.items()} == {"score": [3.0]}


def test_other_names_of_the_keys_and_their_preference(read):
    (block,), _ = read(
        {"id": 0, "text": "from text"},
        {"id": 0, "hypothesis": "from hypothesis", "text": "the input"},
        {"id": 0, "text": 3, "hyp": "from hyp", "hypothesis": "no"},
        {"id": 0, "hyp": None, "text": "null is no key"},
    )
    assert list(block.texts) == ["from text", "from hypothesis", "from hyp", "null is no key"]


NESTED = {"features": {}}


def test_numbers_under_other_keys_are_columns(read):
    (block,), _ = read(
        {
            "id": 0,
            "hyp": "a",
            "comet": 0.5,
            "note": "x",
            "deep": {"comet": 9, "list": [1, [2]]},
            "ok": True,
            "features": {},
        },
        {"comet": -1, "id": 0, "hyp": "b", "rank": 2},
        {"id": 0, "hyp": "c", "rank": None},
    )
    assert list(block.columns) == ["comet", "rank"]
    np.testing.assert_array_equal(block.columns["comet"], [0.5, -1, np.nan])
    np.testing.assert_array_equal(block.columns["rank"], [np.nan, 2, np.nan])


def test_sources_and_references_come_once_for_each_run_of_ids(read):
    (block,), _ = read(
        {"id": 0, "hyp": "a", "source": "quelle null", "refs": ["null", "zero"]},
        {"id": 0, "hyp": "b", "src": "quelle null", "refs": ["null", "zero"]},
        {"id": 1, "hyp": "c"},
        {"id": 2, "hyp": "d"},
        {"id": 2, "hyp": "e", "ref": "two"},
        {"id": 3, "hyp": "f", "source": "quelle drei", "refs": []},
    )
    assert list(block.sentences.ids) == ["0", "2", "3"]
    assert list(block.sentences.sources) == ["quelle null", "", "quelle drei"]
    assert list(block.sentences.references) == ["null", "zero", "two"]
    assert block.sentences.reference_offsets.tolist() == [0, 2, 3, 3]


@pytest.mark.parametrize(
    "second, what",
    [({"refs": ["x"]}, "references"), ({"refs": ["a", "c"]}, "references"), ({"source": "t"}, "source")],
)
def test_one_sentence_has_one_source_and_one_set_of_references(read, second, what):
    blocks, _ = read(
        {"id": 0, "hyp": "h", "source": "s", "refs": ["a", "b"]},
        {"id": 0, "hyp": "i", "source": "s", "refs": ["a", "b"], **second},
        {"id": 0, "hyp": "j"},
        {"id": 1, "hyp": "k", **second},
    )
    error = complaint(blocks)
    assert error.kind == "sentence-data"
    assert f"list.jsonl:2: expected the {what} that the sentence has above, found another" in str(error)
    assert list(blocks[0].texts) == ["h", "j", "k"]
    assert list(blocks[0].sentences.ids) == ["0", "1"]


def test_derivations(read):
    (block,), source = read(
        {"id": 0, "hyp": "a", "derivation": ["X -> a", {"rule": "S -> X", "features": {"glue": 1, "p": -2}}]},
        {"id": 0, "hyp": "b"},
        {"id": 0, "hyp": "c", "derivation": [{"rule": "Y", "note": [1]}, {"features": None, "rule": "Z"}]},
    )
    uses = block.rule_uses
    assert uses.offsets.tolist() == [0, 2, 2, 4]
    assert list(uses.rule_texts) == ["X -> a", "S -> X", "Y", "Z"]
    assert uses.feature_offsets.tolist() == [0, 0, 2, 2, 2]
    assert uses.values.tolist() == [1.0, -2.0]
    assert [source.local_names.label_of(int(n))[0] for n in uses.names] == ["glue", "p"]
    assert len(source.names) == 0


BAD = [
    (b"", "json", "an empty line"),
    (b'{"id": 0, "hyp": "a"', "json", "the end of the line at column 21"),
    (b"{'id': 0}", "json", "how Python prints a dictionary"),
    (b'{"id": 0, "hyp": None}', "json", "at column 18"),
    (b'{"id": 0, "hyp": "a"} {}', "json", "extra data"),
    (b"[" * 200 + b"]" * 200, "json", "nested too deep"),
    (b'{"id": 0, "hyp": "a", "deep": ' + b"[" * 200 + b"]" * 200 + b"}", "json", "nested too deep"),
    (b"[1, 2]", "json", "an array"),
    (b"17", "json", "the number 17"),
    (b'"text"', "json", "the string 'text'"),
    (b'{"id": 0, "hyp": "a\\ud800b"}', "utf-8", "half a surrogate pair"),
    ({}, "fields", "an empty object"),
    ({"hyp": "a"}, "fields", 'only "hyp"'),
    ({"id": None, "hyp": "a"}, "fields", 'the key "id"'),
    ({"id": 0, "translations": []}, "fields", "`format` sockeye"),
    (b'{"id": 0, "hyp": "a", "id": 1}', "fields", "'id' again"),
    ({"id": 1.0, "hyp": "a"}, "type", "the number 1.0"),
    ({"id": True, "hyp": "a"}, "type", "true"),
    ({"id": 0, "hyp": ["a", "b"]}, "type", "an array"),
    ({"id": 0, "hyp": "a", "features": [1, 2]}, "type", "an array"),
    ({"id": 0, "hyp": "a", "src": ["s"]}, "type", "an array"),
    ({"id": 0, "hyp": "a", "refs": ["r", 4]}, "type", "an array with the number 4"),
    ({"id": 0, "hyp": "a", "ref": 4}, "type", "the number 4"),
    ({"id": 0, "hyp": "a", "derivation": "X"}, "type", "the string 'X'"),
    ({"id": 0, "hyp": "a", "derivation": ["X", 5]}, "type", "an array with the number 5"),
    ({"id": 0, "hyp": "a", "derivation": [{"features": {}}]}, "type", "a text for each rule"),
    ({"id": 0, "hyp": "a", "derivation": [{"rule": "X", "features": 1}]}, "type", "object for its features"),
    (
        b'{"id": 0, "hyp": "a", "derivation": [{"rule": "X", "features": {}, "features": {}}]}',
        "type", "a text for each rule",
    ),
    ({"id": 0, "hyp": "a", "features": {"lm": 1, "tm": "2"}}, "number", "the string '2' for 'tm'"),
    ({"id": 0, "hyp": "a", "features": {"lm": True}}, "number", "true for 'lm'"),
    ({"id": 0, "hyp": "a", "features": {"lm": None}}, "number", "null for 'lm'"),
    ({"id": 0, "hyp": "a", "features": {"lm": {"b": 1}}}, "number", "an object for 'lm'"),
    ({"id": 0, "hyp": "a", "derivation": [{"rule": "X", "features": {"p": "q"}}]}, "number", "for 'p'"),
    ({"id": 0, "hyp": "a", "features": {"lm": math.nan}}, "not-finite", "nan for 'lm'"),
    ({"id": 0, "hyp": "a", "features": {"lm": -math.inf}}, "not-finite", "-inf for 'lm'"),
    (b'{"id": 0, "hyp": "a", "features": {"lm": 1e999}}', "not-finite", "inf for 'lm'"),
    (b'{"id": 0, "hyp": "a", "features": {"lm": 1' + b"0" * 5000 + b"}}", "not-finite", "inf for 'lm'"),
    ({"id": 0, "hyp": "a", "comet": math.inf}, "not-finite", "inf for 'comet'"),
    ({"id": 0, "hyp": "a", "derivation": [{"rule": "X", "features": {"p": math.nan}}]}, "not-finite", "'p'"),
]  # fmt: skip


@pytest.mark.parametrize("line, kind, words", BAD, ids=[f"{kind}-{i}" for i, (_, kind, _) in enumerate(BAD)])
def test_each_fault_is_named_and_the_good_lines_stay(read, line, kind, words):
    good = {"id": 0, "hyp": "good", "features": {"lm": 1}}
    blocks, source = read(good, line, good | {"hyp": "too"})
    error = complaint(blocks)
    assert (error.kind, error.line) == (kind, 2)
    assert "list.jsonl:2: expected " in str(error)
    assert words in str(error)
    assert [group[0] for group in blocks[0].bad] == [kind]
    assert list(blocks[0].texts) == ["good", "too"]
    assert blocks[0].lines.tolist() == [1, 3]
    assert features(blocks[0], source) == [{"lm": 1.0}, {"lm": 1.0}]


def test_names_of_bad_lines_are_not_kept(read):
    _, source = read({"id": 0, "hyp": "a", "features": {"new": 1, "worse": "x"}}, {"id": 0, "hyp": "b"})
    assert len(source.names) == 0


def test_a_stretch_with_nothing_good_still_shows_what_is_bad(read):
    blocks, _ = read(b"no", b"\xff", b"[]")
    assert [len(block) for block in blocks] == [0]
    assert sorted(kind for kind, _, _ in blocks[0].bad) == ["json", "utf-8"]
    assert blocks[0].sentences is None


def test_the_tape_grows(monkeypatch):
    monkeypatch.setattr(json_tape, "BYTES_PER_ENTRY", 1 << 30)
    tape = tape_of([b"[1,2]"] * 50)
    assert tape.roots.tolist() == list(range(0, 150, 3))
    assert len(tape.entries) == 150


@pytest.mark.parametrize(
    "head, sure",
    [
        (b'{"id": 1, "hyp": "a"}\n', 90), (b'\n  {"text" : "a"}', 90), (b'{"hypothesis": ""}', 90),
        (b'{"id": 1}\n{"hyp": "a"}', 0), (b'["hyp"]', 0), (b"0 ||| a", 0), (b"", 0), (b'{"src": "hyp"}', 0),
    ],
)  # fmt: skip
def test_recognition(head, sure):
    assert Method.recognizes(head) == sure


def test_an_empty_file_is_a_fault_of_the_file(tmp_path):
    (tmp_path / "list.jsonl").touch()
    source = Source(str(tmp_path / "list.jsonl"), LineErrors(), NameTable(), NameTable())
    with pytest.raises(InputError, match="an empty file"):
        list(Method().blocks(source))


# The kernels against Python's json module.


def tape_of(lines):
    data = np.frombuffer(b"\n".join(lines) + b"\n", dtype=np.uint8)
    counts = np.array([len(line) + 1 for line in lines])
    stops = np.cumsum(counts) - 1
    return read_tape(data, stops - counts + 1, stops)


def value_on(tape: Tape, entry: int):
    """Rebuild the value of an entry in Python."""
    kind, start, stop, after = tape.entries[entry].tolist()
    raw = tape.data[start:stop].tobytes()
    if kind == json_tape.STRING:
        return raw.decode("utf-8")
    if kind == json_tape.ARRAY or kind == json_tape.OBJECT:
        members = tape.members(np.array([entry])).entries.tolist()
        if kind == json_tape.ARRAY:
            return [value_on(tape, member) for member in members]
        return {value_on(tape, member - 1): value_on(tape, member) for member in members}
    assert after == entry + 1
    return {json_tape.NULL: None, json_tape.TRUE: True, json_tape.FALSE: False}.get(kind, raw)


def verdict(line: bytes):
    """Return the status Python's json module would give, and the value, numbers as they are written."""
    keep = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), str.encode)
    try:
        value = json.loads(line.decode("utf-8"), **keep)
    except json.JSONDecodeError:
        return SYNTAX, None
    try:
        # bytes (numbers) are no JSON; their text takes their place
        json.dumps(value, ensure_ascii=False, default=repr).encode("utf-8")
    except UnicodeEncodeError:
        return LONE_SURROGATE, None
    return FINE, value


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(['"', "\\", "\\u12", "\n", "\x7f", "\ud83d", "\ude00x", "/", "🎻", "\u2028"])
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def json_lines(draw):
    """Lines of JSON, in either spelling of strings and either spacing, some of them damaged."""
    value = draw(values)
    ascii_only = draw(st.booleans())
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r")]))
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    line = text.encode("utf-8", "replace")
    damage = draw(st.sampled_from(["none", "none", "cut", "drop", "insert", "replace"]))
    at = draw(st.integers(0, len(line)))
    extra = draw(st.sampled_from(list(b'"\\{}[],:0123456789-+.eEutfnN\x00\x1f\x20\x7fabcdDI')))
    if damage == "cut":
        line = line[:at]
    elif damage == "drop":
        line = line[:at] + line[at + 1 :]
    elif damage == "insert":
        line = line[:at] + bytes([extra]) + line[at:]
    elif damage == "replace":
        line = line[:at] + bytes([extra]) + line[at + 1 :]
    return line.decode("utf-8", "ignore").replace("\n", " ").encode()


@settings(max_examples=400)
@given(st.lists(json_lines(), min_size=1, max_size=5))
def test_the_scanner_agrees_with_json(lines):
    tape = tape_of(lines)
    for i, line in enumerate(lines):
        status, value = verdict(line)
        assert tape.status[i] == status, line
        if status == FINE:
            assert repr(value_on(tape, int(tape.roots[i]))) == repr(value), line
        else:
            assert tape.roots[i] == json_tape.NO_ENTRY


@settings(max_examples=200)
@given(st.text(alphabet='"\\/bfnrtu0123456789abcdefABCDEFdD8é ', max_size=24))
def test_escapes_agree_with_json(inside):
    line = f'["{inside}"]'.encode()
    tape = tape_of([line])
    status, value = verdict(line)
    assert tape.status[0] == status
    if status == FINE:
        assert value_on(tape, 0) == value


@pytest.mark.parametrize(
    "text",
    [
        "0", "-0", "-", "01", "1.", ".5", "1.5", "1e5", "1E+5", "1e", "1e-", "-1.5e-07", "+1", "1_0", "0x1",
        "NaN", "Infinity", "-Infinity", "-NaN", "nan", "Inf", "-I", "true", "tru", "truex", "null", "nul",
        "None", "[]", "[ ]", "[,]", "[1,]", "[1 2]", "{}", "{ }", '{"a"}', '{"a":}', '{"a":1,}',
        '{"a":1 "b":2}', "{1:2}", '{"a":1]', "[1}", "]", "}", ",", ":", '"', '"a', '"a""b"', '"\\', '"\\u',
        '"\\u00"', '"\\u00g0"', '"\\x"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00"',
        '"\\ud83d\\ud83d\\ude00"', '"\\ud83d\\n"', "'a'", "", " ", "\t1 \r", "1\x0b", "\ufeff1", "[[[[",
        "]]]]", '{"a":{"b":[{"c":[]}]}}', "nulltrue", "{[]:1}", '{"a" 1}',
    ],
)  # fmt: skip
def test_corners_of_the_grammar(text):
    line = text.encode()
    tape = tape_of([b"[0]", line, b'{"x": 1}'])
    status, value = verdict(line) if text[:1] != "\ufeff" else (SYNTAX, None)
    assert tape.status.tolist() == [FINE, status, FINE]
    assert value_on(tape, int(tape.roots[2])) == {"x": b"1"}
    if status == FINE:
        assert value_on(tape, int(tape.roots[1])) == value


def test_depth_has_a_limit():
    deepest = json_tape.DEEPEST
    lines = [b"[" * n + b"]" * n for n in (deepest, deepest + 1)]
    assert tape_of(lines).status.tolist() == [FINE, TOO_DEEP]


@settings(max_examples=50)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"id": st.integers(0, 3) | st.text(max_size=3), "hyp": st.text(max_size=10)},
            optional={
                "features": st.dictionaries(st.text(max_size=4), st.floats(-1e6, 1e6), max_size=4),
                "comet": st.floats(-1, 1),
                "note": values,
            },
        ),
        min_size=1,
        max_size=8,
    )
)
def test_rows_agree_with_json(tmp_path_factory, rows):
    def broken(row):
        try:
            json.dumps(row, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            return True
        return False

    rows = [row for row in rows if not broken(row) and not isinstance(row.get("note"), float | int)]
    rows = rows or [{"id": 0, "hyp": ""}]
    path = tmp_path_factory.mktemp("rows") / "list.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = Source(str(path), LineErrors(), NameTable(), NameTable())
    (block,) = Method().blocks(source)
    assert not block.bad
    assert list(block.ids) == [str(row["id"]) for row in rows]
    assert list(block.texts) == [row["hyp"] for row in rows]
    if not any(row.get("features") is not None for row in rows):  # then numbers beside the keys are features
        assert features(block, source) == [{"comet": row["comet"]} if "comet" in row else {} for row in rows]
        return
    assert features(block, source) == [row.get("features", {}) for row in rows]
    if any("comet" in row for row in rows):
        np.testing.assert_array_equal(block.columns["comet"], [row.get("comet", np.nan) for row in rows])
