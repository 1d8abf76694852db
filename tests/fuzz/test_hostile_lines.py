"""Lines that are made to be slow: time grows with their length, and not with its square."""

from __future__ import annotations

import time

import numpy as np
import pytest

from luthier.core.errors import InputError
from luthier.kbest.building.lists import read_pool
from luthier.kbest.features import Features, unknown_names
from luthier.kbest.inspect import inspect
from luthier.kbest.readers import joshua, kaldi, marian, travatar
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.pipes import _stray_value, first_fields

N = 200_000
SECONDS = 2.0  # a quadratic search takes minutes


@pytest.mark.parametrize(
    "line",
    [b"0 |||" + b" " * N + b"x", b" " * N + b"||| a", b"|" * N, b"utt1 " + b"1" * N + b"x", b"utt1 1." + b"1" * N,
     b"0 ||| a ||| tm_" + b"_1" * N + b" ||| 1", b"0 ||| a ||| " + b"1 " * N + b"x ||| 1"],
    ids=["blanks", "blanks before", "bars", "digits", "decimals", "underscores", "bare values"],
)  # fmt: skip
def test_recognising_a_format_takes_no_time(line):
    started = time.process_time()
    for reader in (joshua, kaldi, marian, travatar):
        reader.Method.recognizes(line + b"\n")
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize(
    "raw", [b"a=b" * N, b"=" * N, b"a=" + b" " * N, b"a=1 " * N], ids=["a=b", "=", "blanks", "a=1"]
)
def test_finding_a_loose_value_takes_no_time(raw):
    started = time.process_time()
    assert _stray_value(raw + b" |") == "a loose value"
    assert time.process_time() - started < SECONDS


def test_a_loose_value_is_still_found():
    assert _stray_value(b"lm=1 tm=2 7 x=3") == "the loose value '7'"
    assert _stray_value(b"= 7 a= 8") == "a loose value"


def test_fields_are_cut_as_before():
    assert first_fields(b"0 ||| a b  ||| lm=1 |||\n") == [["0", "a b", "lm=1", ""]]
    assert first_fields(b"0|||a ||| b\n") == [["0|||a", "b"]]


def test_many_names_beside_many_positions_take_no_room():
    table, n = NameTable(), 30_000
    plain = table.from_strings([f"f{i}" for i in range(n)])
    label = np.frombuffer(b"t", np.uint8)
    where = np.zeros(n, np.int64)
    placed = table.from_spans(label, where, where + 1, np.arange(n, dtype=np.int32))
    assert plain.tolist() == list(range(n))
    assert placed.tolist() == list(range(n, 2 * n))
    assert table.from_strings(["f7", "t"]).tolist() == [7, 2 * n]
    assert table.label_of(n + 3) == ("t", 3)


def test_the_likeliest_name_is_sought_among_short_ones():
    started = time.process_time()
    assert "no feature is called" in unknown_names(["a" * N], ["ab" * N] * 50)
    assert "did you mean 'lm_0'" in unknown_names(["lm_1"], ["x" * N, "lm_0"])
    assert time.process_time() - started < SECONDS


def test_sums_of_token_scores_that_are_no_number(tmp_path):
    (tmp_path / "log").write_text("H-0\t-1\ta b\nP-0\t-1e308 -1e308\nH-1\t-1\tc\nP-1\t-1\n")
    with pytest.raises(InputError, match=r"log:2: expected token scores with a finite sum, found a sum of -inf"):
        read_pool(tmp_path / "log")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_dense", [3, 0])
def test_features_near_the_largest_number_are_inspected(tmp_path, n_dense):
    values = np.array([[1e308, 1.0, 5e307], [-1e308, 3.0, -5e307], [1.7e308, 4.0, 8.5e307], [1e300, 5.0, 5e299]])
    (tmp_path / "list").write_text("".join(f"0 ||| w{i} ||| a={v[0]!r} b={v[1]} c={v[2]!r} ||| 1\n" for i, v in
                                           enumerate(values.tolist())))  # fmt: skip
    pool = read_pool(tmp_path / "list")
    if not n_dense:
        rows, columns = np.nonzero(values)
        sparse = Features(("a", "b", "c"), np.zeros((4, 0)), np.arange(5) * 3, columns, values[rows, columns])
        pool = pool.with_features(sparse)
    a, b, c = inspect(pool).features
    assert (a.low, a.high, a.relation, b.relation, c.relation) == (-1e308, 1.7e308, "", "", "+0.5·a")
    assert a.mean == pytest.approx(1.7e308 / 4)
    assert b.mean == 3.25
