"""Damage: bytes of any file, lines and words of texts, one number of an array, one value of JSON."""

from __future__ import annotations

import json

import numpy as np

from luthier.core.files.journal import seal, unseal

HOSTILE = [
    b"nan", b"-inf", b"1e308", b"-1e308", b"1e400", b"1e-400", b"-0", b"0x10", b"1_000", "٣".encode(), b"",
    b"99999999999999999999", b"|||", b" ||| ", b"\t", b"\n", b"\n\n", b"\r\n", b"=", b"= = =", b"a=", b"=1",
    b"\xff\xfe", b"\xc3", b"\x00", b"\x1b[31m", b"[/b]", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80",
    b"{", b"}", b"[" * 300, b'"', b'\\ud800', b"null", b"true", b"[]", b"{}", b" " * 3000, b"7" * 3000, b"x " * 1500,
    b"H-0\t", b"P-0\t", b"# ", b"[weight]\n",
]  # fmt: skip


def damage_text(rng, raw):
    """Return a text with one to four places changed."""
    for _ in range(int(rng.integers(1, 5))):
        raw = TEXT_DAMAGE[rng.integers(len(TEXT_DAMAGE))](rng, raw)
    return raw


def damage_any(rng, raw):
    """Return a file with bytes or words changed."""
    return damage_text(rng, raw) if rng.random() < 0.5 else damage_bytes(rng, raw)


def damage_bytes(rng, raw):
    """Return a binary file with some bytes changed, or cut."""
    raw = bytearray(raw)
    kind = rng.random()
    if kind < 0.05:
        return bytes(raw[: int(rng.integers(len(raw)))])
    count = 1 if kind < 0.6 else int(rng.integers(2, 12))
    start = int(rng.integers(len(raw)))
    for k in range(count):
        at = int(rng.integers(len(raw))) if kind < 0.9 else min(start + k, len(raw) - 1)
        raw[at] = int(rng.integers(256)) if rng.random() < 0.5 else raw[at] ^ (1 << int(rng.integers(8)))
    return bytes(raw)


def _spot(rng, raw):
    return int(rng.integers(len(raw) + 1))


def _insert(rng, raw):
    at = _spot(rng, raw)
    return raw[:at] + HOSTILE[rng.integers(len(HOSTILE))] + raw[at:]


def _cut(rng, raw):
    at = _spot(rng, raw)
    return raw[:at] + raw[at + int(rng.integers(1, 40)) :]


def _flip(rng, raw):
    if not raw:
        return raw
    at = int(rng.integers(len(raw)))
    return raw[:at] + bytes([raw[at] ^ (1 << int(rng.integers(8)))]) + raw[at + 1 :]


def _repeat(rng, raw):
    at = _spot(rng, raw)
    return raw[:at] + raw[max(0, at - 60) : at] * int(rng.integers(1, 20)) + raw[at:]


def _swap_lines(rng, raw):
    lines = raw.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _replace_word(rng, raw):
    words = raw.split(b" ")
    words[rng.integers(len(words))] = HOSTILE[rng.integers(len(HOSTILE))]
    return b" ".join(words)


def _truncate(rng, raw):
    return raw[: _spot(rng, raw)]


TEXT_DAMAGE = (_insert, _insert, _cut, _flip, _repeat, _swap_lines, _replace_word, _replace_word, _truncate)

NUMBERS = (0, 1, -1, 2, 5000, 2**31 - 1, -(2**31), 2**40, -(2**40), 2**62)
FLOATS = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 1e-300)


def lie(rng, arrays, meta):
    """Change one number of one array, an array's length, or one part of the metadata, in place."""
    name = list(arrays)[rng.integers(len(arrays))]
    array, kind = arrays[name], rng.random()
    if kind < 0.08:
        key = list(meta)[rng.integers(len(meta))]
        meta[key] = [None, 3, "", [], {}, ["a", "a"], {"a": 3}, [[[]]]][rng.integers(8)]
    elif kind < 0.12:
        del arrays[name]
    elif kind < 0.2 or not len(array):
        arrays[name] = array[: int(rng.integers(len(array) + 1))] if rng.random() < 0.5 else array.repeat(2)
        meta["shapes"] = {**meta["shapes"], name: [len(arrays[name])]}
    else:
        lie_in_array(rng, array)


def lie_in_array(rng, array):
    """Change one number of an array, in place."""
    array = array.reshape(-1)
    if array.dtype.kind == "f":
        array[rng.integers(len(array))] = FLOATS[rng.integers(len(FLOATS))]
    elif array.dtype.itemsize == 1:
        array[rng.integers(len(array))] = rng.integers(256) if array.dtype.kind == "u" else rng.integers(-128, 128)
    else:
        at, limits = rng.integers(len(array)), np.iinfo(array.dtype)
        near = int(array[at]) + int(rng.integers(-2, 3))
        array[at] = max(
            limits.min, min(limits.max, near if rng.random() < 0.5 else NUMBERS[rng.integers(len(NUMBERS))])
        )


VALUES = (
    None,
    True,
    "",
    "x",
    "nan",
    [],
    {},
    [[]],
    {"a": 3},
    0,
    -1,
    1.5,
    10**30,
    1e308,
    -1e308,
    2**31,
    2**63,
    float("inf"),
)


def lie_in_json(rng, raw):
    """Return a text of JSON with one value changed, taken out, or put twice."""
    table = json.loads(raw)
    _lie_in(rng, table)
    return json.dumps(table).encode()


def lie_in_journal(rng, raw):
    """Return journal lines of which one has another value, and a seal that fits it."""
    lines = raw.rstrip(b"\n").split(b"\n")
    at = int(rng.integers(len(lines)))
    record = unseal(lines[at])
    _lie_in(rng, record)
    lines[at] = seal(record).rstrip(b"\n")
    return b"".join(line + b"\n" for line in lines)


def _lie_in(rng, value):
    """Change one value somewhere in a table or a list, in place."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        below = value[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.8:
            value = below
            continue
        if rng.random() < 0.1:
            del value[key]
        elif isinstance(below, int | float) and rng.random() < 0.3:
            value[key] = below + int(rng.integers(-2, 3))
        else:
            value[key] = VALUES[rng.integers(len(VALUES))]
        return
