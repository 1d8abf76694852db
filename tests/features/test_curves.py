"""Curves of weights: fits worked by hand and against NumPy, steps against the direction, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.features.bins import Bins, bin_feature
from luthier.features.bins_file import write_bins
from luthier.features.counts import ValueCounts
from luthier.features.curves import curves, fit_line


def cut(name, values, counts, n_bins):
    return bin_feature(name, ValueCounts(np.array(values, dtype=np.float64), np.array(counts)), n_bins)


@pytest.fixture
def bins():
    values = np.array([0.001, 0.01, 0.02, 0.1, 0.4, 1.0])
    return Bins((cut("p", values, [5, 1, 9, 2, 2, 30], 6), cut("c", [-1, 0, 2], [1, 1, 1], 3)))


def test_a_planted_logarithm_is_found(bins):
    feature = bins.features[0]
    learned = dict(zip(feature.names, (0.5 - 2.0 * np.log(feature.means)).tolist(), strict=True))
    (curve,) = curves(bins, learned)
    assert (curve.log.a, curve.log.b, curve.log.r2) == pytest.approx((0.5, -2.0, 1.0))
    assert curve.line.r2 < 0.9
    assert not curve.rises
    assert not curve.against.any()
    assert curve.fitted == pytest.approx(curve.weights)


def test_fits_are_weighted_by_population():
    rng = np.random.default_rng(4)
    x, y, n = rng.normal(size=9), rng.normal(size=9), rng.integers(1, 50, 9).astype(np.float64)
    fit = fit_line(x, y, n)
    b, a = np.polyfit(x, y, 1, w=np.sqrt(n))
    assert (fit.a, fit.b) == pytest.approx((a, b))
    mean = np.average(y, weights=n)
    r2 = 1 - np.average((y - a - b * x) ** 2, weights=n) / np.average((y - mean) ** 2, weights=n)
    assert fit.r2 == pytest.approx(r2)
    assert fit_line(np.ones(3), y[:3], n[:3]) is None
    assert fit_line(x, np.ones(9), n).r2 == 1.0


def test_steps_against_the_direction_and_missing_weights(bins):
    names = bins.features[0].names
    found = curves(bins, dict(zip(names, [0.0, 1.0, 0.5, 2.0, 3.0, 2.9], strict=True)) | {"c_0": 1.0})
    assert found[0].rises
    assert np.flatnonzero(found[0].against).tolist() == [1, 4]
    assert found[1].weights.tolist() == [0.0, 1.0, 0.0]  # a weight that is missing counts 0
    assert found[1].log is None  # one value above 0
    with pytest.raises(LuthierError, match=r"expected weights of the bins 'p_0\.001' …, found none\. hint"):
        curves(bins, {"LanguageModel": 1.0})


def test_the_command(run_cli, bins, tmp_path):
    write_bins(bins, tmp_path / "bins.json")
    names = bins.features[0].names
    lines = [f"{name} {weight}" for name, weight in zip(names, [0, 1, 0.5, 2, 3, 4], strict=True)]
    (tmp_path / "w.txt").write_text("\n".join([*lines, "LM 1", "c_2 1"]))
    command = ("engine", "curves", tmp_path / "w.txt", "--bins", tmp_path / "bins.json")
    code, out, _ = run_cli(*command, "-o", tmp_path / "c.png")
    assert code == 0
    assert "p: rises, but for 1 of 5 steps" in out
    assert "log x, R² 0.9" in out
    assert "c: rises throughout" in out
    assert "fewer than three bins above 0: no curve fitted" in out
    assert (tmp_path / "c.png").stat().st_size > 10_000
    code, out, _ = run_cli(*command, "--features", "c", "--json")
    (curve,) = json.loads(out)["curves"]
    assert (curve["feature"], curve["bins"][2]["weight"], curve["bins"][0]["fitted"]) == ("c", 1.0, None)
    code, out, _ = run_cli(*command, "--most", "2")
    assert "4 more bins are not shown." in out
    code, _, err = run_cli(*command, "--features", "q")
    assert code == 2
    assert "no feature is called 'q'" in err
    code, _, err = run_cli(*command, "-o", tmp_path / "c.gif")
    assert code == 2
    assert "ends in .png, .pdf or .svg" in err
