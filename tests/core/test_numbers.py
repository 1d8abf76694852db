"""parse_numbers against float(): the same bits, and the same opinion of what is a number."""

import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.core.numbers import NOT_A_NUMBER, NOT_FINITE, NUMBER_OK, parse_numbers

LITERAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
LARGEST = Fraction(2) ** 1024 - Fraction(2) ** 971
LEAST = Fraction(1, 2**1074)

few = settings(max_examples=40)  # texts of a thousand digits


def expected(text):
    """Return (value, status), the slow way."""
    if LITERAL.fullmatch(text) is None:
        return 0.0, NOT_A_NUMBER
    value = float(text)
    return (value, NUMBER_OK) if math.isfinite(value) else (0.0, NOT_FINITE)


def parse(texts, *, behind=b" "):
    """Parse `texts`, packed one behind another with `behind` after each."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    starts = np.cumsum(lengths + len(behind)) - lengths - len(behind)
    data = np.frombuffer(b"".join(text + behind for text in texts), dtype=np.uint8)
    return parse_numbers(data, starts, starts + lengths)


def check(*texts):
    # In one array bytes follow each number (here even a digit); alone, it ends where the data end.
    results = [parse(texts, behind=b"7")]
    alone = [parse([text], behind=b"") for text in texts]
    results.append((np.concatenate([v for v, _ in alone]), np.concatenate([s for _, s in alone])))
    for values, status in results:
        for text, value, state in zip(texts, values.tolist(), status.tolist(), strict=True):
            right, right_state = expected(text)
            found = (state, value, math.copysign(1, value))
            assert found == (right_state, right, math.copysign(1, right)), text


def written_out(number):
    """Return all digits of a fraction whose denominator is a power of two."""
    shift = number.denominator.bit_length() - 1
    digits = str(abs(number.numerator) * 5**shift).rjust(shift + 1, "0")
    whole, fraction = digits[: len(digits) - shift], digits[len(digits) - shift :]
    return f"{'-' if number < 0 else ''}{whole}.{fraction}".encode()


def around(number):
    """Return `number` written out, and the same one unit below and above it in a last extra digit."""
    text = written_out(number)
    below = text[:-1] + (b"%c9" % (text[-1] - 1) if text[-1] > ord("0") else b"0")
    return text, text + b"0", text + b"1", below


@pytest.mark.parametrize(
    "text, value",
    [
        (b"0", 0.0),
        (b"-0", -0.0),
        (b"+7", 7.0),
        (b"5.", 5.0),
        (b".5", 0.5),
        (b"-19.1603", -19.1603),
        (b"0.739789", 0.739789),
        (b"-0.30102999566398119", -0.30102999566398119),
        (b"1e22", 1e22),
        (b"1E+23", 1e23),
        (b"-2.5e-3", -0.0025),
        (b"9007199254740993", 9007199254740992.0),  # 2^53 + 1, a tie: to the even one
        (b"9007199254740993.00000000000000000001", 9007199254740994.0),
        (b"18446744073709551616", 2.0**64),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"2.2250738585072014e-308", 2.2250738585072014e-308),
        (b"5e-324", 5e-324),
        (b"2e-324", 0.0),
        (b"-1e-99999999999999999999", -0.0),
        (b"0e99999999999999999999", 0.0),
        (b"1" + b"0" * 400 + b"e-400", 1.0),
        (b"0." + b"0" * 400 + b"1e401", 1.0),
        (b"0" * 50 + b"1.25", 1.25),
    ],
)
def test_numbers_as_float_reads_them(text, value):
    values, status = parse([text])
    assert status.tolist() == [NUMBER_OK]
    assert values[0] == value
    assert np.signbit(values[0]) == np.signbit(value)
    check(text)


NO_NUMBERS = (
    b"|abc|.|+|-|e|e5|.e5|1e|1e+|1e-|1,5|0x10|1_0|--1|+-1|1-|1.2.3|1 | 1|1e5.|1e5e5|1.5f|12345678x|1.234567x"
    b"|1.12345678x|nano|infi|infinit|in|.inf|1inf|nan0|1234567890123456789012x|12345678901234567890.1.2"
    b"|\xb2|1\xb2|\xd9\xa1|1:|1/|0.1234567:|0.1234567/|0.12345678901234567:"
)


@pytest.mark.parametrize("text", NO_NUMBERS.split(b"|"))
def test_what_is_no_number(text):
    values, status = parse([text])
    assert (values.tolist(), status.tolist()) == ([0.0], [NOT_A_NUMBER])
    check(text)


@pytest.mark.parametrize(
    "text",
    b"nan NaN -nan +NAN inf Inf -inf +INF infinity -Infinity 1e999 -1e309 1.8e308 9e9999999999999".split(),
)
def test_what_is_not_finite(text):
    values, status = parse([text])
    assert (values.tolist(), status.tolist()) == ([0.0], [NOT_FINITE])
    check(text)


@given(st.floats(allow_nan=False))
def test_repr_comes_back(value):
    check(repr(value).encode(), b"%.17g" % value, b"%.6g" % value, b"%.17e" % value, b"%.25g" % value)


@given(st.text("0123456789", min_size=1, max_size=40), st.integers(0, 40), st.integers(-400, 400))
def test_decimal_strings(digits, place, exponent):
    text = f"{digits[:place]}.{digits[place:]}"
    check(text.encode(), f"{digits}e{exponent}".encode(), f"-{text}E{exponent}".encode())


@given(st.text("09", min_size=1, max_size=30), st.text("09", max_size=30), st.integers(-30, 30))
def test_long_runs_of_the_same_digit(whole, fraction, exponent):
    check(f"{whole}.{fraction}".encode(), f"{whole}.{fraction}e{exponent}".encode())


@few
@given(st.floats(min_value=0, allow_infinity=False))
@example(0.0)
@example(5e-324)
@example(2.2250738585072009e-308)
@example(2.0**53)
@example(2.0**-30)
@example(math.nextafter(math.inf, 0))
def test_midpoints_between_neighbours(value):
    above = math.nextafter(value, math.inf)
    step = Fraction(above) - Fraction(value) if above < math.inf else Fraction(2) ** 971
    check(*around(Fraction(value) + step / 2), *around(-(Fraction(value) + step / 2)))


@given(st.integers(2**52, 2**53 - 1), st.integers(-4, 10))
def test_ties_short_enough_for_one_word(mantissa, power):
    check(*around(Fraction(2 * mantissa + 1) * Fraction(2) ** power))


@given(st.floats(0, 1, exclude_max=True), st.integers(-4, 22))
def test_ties_with_an_exponent(part, q):
    # n·10^q = odd·2^q with an odd number of 54 bits: n = odd/5^q, or odd·5^-q below 2^64.
    if q < 0:
        n = ((2**53 + int(part * 2**53)) | 1) * 5**-q
    else:
        n = (2**53 // 5**q + 1 + int(part * (2**53 // 5**q))) | 1
    check(*(f"{m}e{q}".encode() for m in (n - 1, n, n + 1)), f"{n}.0000000000000001e{q}".encode())


@few
@given(st.integers(1, 2**53), st.integers(0, 9))
def test_subnormals(steps, digit):
    text = written_out(steps * LEAST)
    check(text, b"%.17g" % float(steps * LEAST), text + b"%d" % digit)


def test_the_edge_of_overflow():
    half = Fraction(2) ** 970
    for number in (LARGEST, LARGEST + half, LARGEST + half / 2):
        check(*around(number), *around(-number))
    check(b"1.7976931348623158e308", b"1.7976931348623159e308", b"179769313486231580793e289", b"1e308", b"1e309")


@given(st.integers(0, 30), st.integers(0, 30), st.integers(-(10**30), 10**30))
def test_zeros_with_any_exponent_keep_their_sign(whole, fraction, exponent):
    text = f"{'0' * whole}.{'0' * fraction}0e{exponent}".encode()
    check(text, b"-" + text)


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0, 10))
def test_leading_zeros(whole, fraction, value):
    digits = repr(value).replace(".", "").split("e")[0]
    check(b"0" * whole + repr(value).encode(), f"{'0' * whole}.{'0' * fraction}{digits}e{fraction}".encode())


SHORT = st.lists(st.sampled_from(b"+-.eE0123456789_xnaifty \xb2"), max_size=12).map(bytes)


@given(st.lists(st.one_of(SHORT, st.binary(max_size=6)), min_size=1, max_size=10))
def test_garbage(texts):
    check(*texts)


def test_a_large_mixture():
    rng = random.Random(7)
    texts = []
    for _ in range(300):
        value = math.ldexp(rng.uniform(-1, 1), rng.randint(-1080, 1024))
        texts += [
            repr(value).encode(),
            b"%.*g" % (rng.randint(1, 30), value),
            b"%.*f" % (rng.randint(0, 9), rng.gauss(0, 9)),
        ]
    check(*texts)


def test_any_layout_gives_the_same():
    data = np.frombuffer(b"1.5 -2.25 x", dtype=np.uint8)
    spread = np.zeros((len(data), 2), dtype=np.uint8)
    spread[:, 0] = data
    starts, stops = np.array([0, 4, 10, 3]), np.array([3, 9, 11, 0])
    for bytes_ in (data, data.copy(), spread[:, 0]):
        values, status = parse_numbers(bytes_, starts.astype(np.int32), stops)
        assert values.tolist() == [1.5, -2.25, 0.0, 0.0]
        assert status.tolist() == [NUMBER_OK, NUMBER_OK, NOT_A_NUMBER, NOT_A_NUMBER]


def test_nothing_to_parse():
    nothing = np.zeros(0, dtype=np.int64)
    values, status = parse_numbers(np.zeros(0, dtype=np.uint8), nothing, nothing)
    assert len(values) == len(status) == 0


@pytest.mark.parametrize("starts, stops", [([0], [4]), ([-1], [2]), ([0, 1], [2])])
def test_spans_outside_the_data_are_refused(starts, stops):
    with pytest.raises(LuthierError, match="expected"):
        parse_numbers(np.frombuffer(b"123", dtype=np.uint8), np.array(starts), np.array(stops))
