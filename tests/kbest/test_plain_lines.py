"""The quick way through usual lines gives what the careful way gives, or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.kbest.readers.moses import Method
from luthier.kbest.reading.line_errors import BadLines, LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.pipes import PlainLines
from luthier.kbest.reading.reader import Lines, Source

FIRST = "0 ||| a b ||| lm= 1 2 wp=3 p_q=1 tm= 4 ||| -1"
PLAIN = [
    FIRST,
    "12 ||| x ||| wp=-3 lm= 1e-5 2.25 tm= 4 ||| 0.5",  # another order, one left out
    "7 ||| a | b || c ||| lm= 1 2 tm= 4 ||| 1 ||| 0-0 ||| more",
    "7 ||| é ü ||| lm= 1 2 tm= 4 ||| 1",
]
ODD = [
    "1||| a ||| lm= 1 2 tm= 4 ||| 1",
    "1 ||| a  ||| lm= 1 2 tm= 4 ||| 1",
    "1 |||  ||| lm= 1 2 tm= 4 ||| 1",
    "1 ||| a ||| lm= 1 tm= 4 ||| 1",
    "1 ||| a ||| lm= 1 2 3 tm= 4 ||| 1",
    "1 ||| a ||| lm= 1 2  tm= 4 ||| 1",
    "1 ||| a ||| lm= 1 2 tm=4 ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 4 new=1 ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 4 wp= 1 ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 4 wp=x ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 4 wp=1=2 ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 4 wp=",
    "1 ||| a ||| lm= 1 2 tm= 4",
    "1 ||| a ||| lm= 1 2 tm= 4 |||",
    "1 ||| a ||| lm= 1 2 tm= 4 ||| 1 2",
    "1 ||| a ||| lm= 1 2 tm= 4 ||| nan",
    "1 ||| a |||\tlm= 1 2 tm= 4 ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 4 p_q= 5 ||| 1",
    "1 ||| a ||| d: 1 lm= 1 2 tm= 4 ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 1e-310 ||| 1",
    "1 ||| a ||| lm= 1 2 tm= 4 ||| 1\t",
    "1 ||| a ||| lm= 1 2 lm= 1 2 ||| 1",
    "1 ||| a",
    "",
    "|||",
    " ||| ||| ||| ",
]


def stretch(texts, first=1):
    """Return lines as a source would give them."""
    data = np.frombuffer("".join(f"{text}\n" for text in texts).encode(), dtype=np.uint8)
    stops = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate([[0], stops[:-1] + 1])
    return Lines(data, starts, stops, np.arange(first, first + len(starts)), BadLines())


def both_ways(texts, first=FIRST):
    """Return the blocks of lines behind a first one, read quickly and with care."""
    source = Source("list", LineErrors(skip=True), NameTable(), NameTable())
    _, pattern = Method()._block(source, stretch([first]), None)
    quick = PlainLines(source.names).block(stretch(texts, 2), pattern)
    careful, _ = Method()._block(source, stretch(texts, 2), pattern)
    return quick, careful


def same(quick, careful):
    """Return whether two blocks hold the same."""
    pairs = [(getattr(quick, name), getattr(careful, name)) for name in ("lines", "row_starts", "names", "values")]
    return (
        all(np.array_equal(a, b) for a, b in pairs)
        and (list(quick.ids), list(quick.texts)) == (list(careful.ids), list(careful.texts))
        and np.array_equal(quick.columns["score"], careful.columns["score"])
    )


@pytest.mark.parametrize("texts", [PLAIN[:1], PLAIN[:2], PLAIN[3:], PLAIN[:2] * 30])
def test_usual_lines_are_read_quickly_and_alike(texts):
    assert same(*both_ways(texts))


def test_a_line_that_is_not_usual_is_left_to_the_careful_way_or_read_alike():
    left = 0
    for text in [*ODD, PLAIN[2]]:
        quick, careful = both_ways([FIRST, text])
        left += quick is None
        assert quick is None or same(quick, careful), text
    assert left >= len(ODD) - 2


def test_every_way_to_cut_a_line_short_is_read_alike_or_left():
    for text in PLAIN:
        for stop in range(len(text)):
            quick, careful = both_ways([text[:stop]])
            assert quick is None or same(quick, careful), text[:stop]


def test_a_value_without_a_name_is_left_to_the_careful_way():
    assert both_ways(["1 ||| a ||| = 1 2 ||| 1"], first="0 ||| a ||| 1 2 ||| 1")[0] is None
    assert both_ways(["1 ||| a ||| 1 2 ||| 1"], first="0 ||| a ||| 1 2 ||| 1")[0] is None


NAMES = ["a", "ab", "a=b", "seven77", "eight888", "nine99999", "sixteen_sixteen_", "seventeen_and_one", "é"]
NUMBERS = (
    st.sampled_from(["0", "-0", "7", "+1", ".5", "5.", "-12.3456", "0.000012", "123456.7", "12345678", "0.1234567"])
    | st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).map(repr)
    | st.decimals(-1000, 1000, places=4).map(str)
)


@settings(max_examples=60)
@given(st.data())
def test_lines_of_many_names_and_numbers_are_read_alike(data):
    by_position = data.draw(st.dictionaries(st.sampled_from(["lm", "tm", "x_y"]), st.integers(1, 3), max_size=3))
    if by_position.get("x_y") == 1:  # a label with an underscore and one value is a plain name
        del by_position["x_y"]

    def line(number, names):
        parts = [f"{name}={data.draw(NUMBERS)}" for name in names]
        parts += [f"{label}= {' '.join(data.draw(NUMBERS) for _ in range(n))}" for label, n in by_position.items()]
        words = data.draw(st.lists(st.text("ab|é日", min_size=1, max_size=12), min_size=1, max_size=5))
        text = " ".join(word for word in words if word != "|||") or "a"
        return f"{number} ||| {text} ||| {' '.join(data.draw(st.permutations(parts)))} ||| {data.draw(NUMBERS)}"

    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    lines = [line(k, data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))) for k in range(6)]
    quick, careful = both_ways(lines, first=line(0, names))
    assert quick is None or same(quick, careful)
    if not any("|" in text.split(" ||| ")[1] or "a=b" in text for text in lines):
        assert quick is not None
