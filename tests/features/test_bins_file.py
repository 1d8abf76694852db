"""Bins on disk: they come back as they were, and what does not fit is said with file and feature."""

from __future__ import annotations

import json

import numpy as np
import pytest
from small_tables import pool_of

from luthier.core.errors import InputError
from luthier.features.bins_file import bins_text, read_bins, write_bins
from luthier.features.fit_bins import BinOptions, bins_of_pool

pytestmark = pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")


@pytest.fixture
def bins():
    values = [{"p q": k / 7, "c": 10.0**k} for k in range(8)]
    return bins_of_pool(
        pool_of([[values]]),
        ["p q", "c"],
        BinOptions(bins=3, keep=["c"], induction="hat", exact=True, conjunctions=[("p q", "c")]),
    )


def test_bins_come_back(bins, tmp_path):
    for name in ("bins.json", "bins.json.gz"):
        write_bins(bins, tmp_path / name)
        again = read_bins(tmp_path / name)
        assert bins_text(again) == bins_text(bins)
        assert again.conjunctions == (("p q", "c"),)
        assert (again.names, again.groups, again.scope, again.induction) == (
            bins.names, bins.groups, "local", "hat",
        )  # fmt: skip
        for new, old in zip(again.features, bins.features, strict=True):
            assert np.array_equal(new.edges, old.edges)
            assert (new.keep, new.error, new.n_values, new.wanted) == (old.keep, old.error, old.n_values, old.wanted)
    assert again.dropped == {"p q"}
    lines = bins_text(bins).splitlines()
    assert sum('"low"' in line for line in lines) == 6  # a line for each bin


def changed(bins, change):
    content = json.loads(bins_text(bins))
    change(content)
    return json.dumps(content)


def set_bin(number, **values):
    return lambda content: content["features"][0]["bins"][number].update(values)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            set_bin(1, low=0.1),
            "bins of 'p q' that ascend and do not overlap, found 'p q_0_0.142857' from 0 to 0.142857 before 0.1",
        ),
        (set_bin(2, high=0.5), "bins of 'p q' that ascend and do not overlap, found 'p q_0.714286_1' from 0.714286"),
        (set_bin(0, low=None), "a number for 'features[0].bins[0].low', found nothing"),
        (set_bin(0, low=True), "a number for 'features[0].bins[0].low', found True"),
        (set_bin(0, population=2**70), "a bin of 'p q' has a population that is out of range"),
        (set_bin(0, population=1.5), "a whole number for 'features[0].bins[0].population', found 1.5"),
        (set_bin(0, mean=10**400), "'features[0].bins[0].mean', found number out of range"),
        (set_bin(0, name="p q_0.714286_1"), "different names of the bins of 'p q'"),
        (lambda c: c["features"][0].update(bins=[]), "different names of the bins of 'p q'"),
        (lambda c: c["features"][0].update(bins=[3]), "a table for 'features[0].bins[0]', found 3"),
        (lambda c: c["features"][0]["bins"][1].update(more=1), "no keys but name, low, high"),
        (lambda c: c.update(features=[]), "the bins of at least one feature, found none"),
        (lambda c: c.update(features=[1]), "a table for 'features[0]', found 1"),
        (lambda c: c["features"].append(c["features"][0]), "the bins of each feature once"),
        (lambda c: c.update(scope="lokal"), "scope local or global, found 'lokal'"),
        (lambda c: c.update(induction="steps"), "there is no induction 'steps'"),
        (lambda c: c.update(conjunctions=[["c"]]), "a list of length 2 for 'conjunctions[0]', found 1"),
        (
            lambda c: c.update(conjunctions=[["c", "d"]]),
            "pairs of different features that have bins, found 'c' and 'd'",
        ),
        (
            lambda c: c.update(kind="luthier engine bins 2"),
            "a file of bins ('luthier bins 1'), found something else",
        ),
    ],
)
def test_what_does_not_fit_is_said(bins, change, found, tmp_path):
    path = tmp_path / "bins.json"
    path.write_text(changed(bins, change))
    with pytest.raises(InputError) as caught:
        read_bins(path)
    assert found in str(caught.value)
    assert str(caught.value).startswith(f"{path}: expected ")
    assert str(caught.value).endswith("hint: make it again: luthier engine bins")


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"kind": NaN}', "[" * 100_000, '"\ud800"', "null"])
def test_no_file_of_bins(text, tmp_path):
    path = tmp_path / "bins.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match="expected a file of bins"):
        read_bins(path)
