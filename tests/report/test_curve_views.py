"""Views of learned shapes: all values, or those up to an end on a linear axis, in the picture's own numbers."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from luthier.features.bins import Bins, bin_feature
from luthier.features.counts import ValueCounts
from luthier.features.curves import curves
from luthier.report.figures.bins import View, draw_views


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))

    def draw(values, weights, end):
        bins = made(values)
        (curve,) = curves(bins, dict(zip(bins.names, weights, strict=True)))
        path = tmp_path / "shapes.png"
        draw_views([View(curve, "whole"), View(curve, "cut", end)], path)
        assert path.read_bytes().startswith(b"\x89PNG")
        axes = figures[-1].axes
        return axes[:2], axes[2:], curve

    return draw


def made(values):
    distinct = ValueCounts(*np.unique(values, return_counts=True))
    return Bins((bin_feature("p", distinct, len(distinct.values)),))


@pytest.mark.slow
def test_the_end_cuts_values_weights_and_populations(drawn):
    values = [1e-3] * 5 + [1e-2] * 3 + [0.05] * 2 + [0.5] * 90 + [1.0]
    (upper, _), (cut, below), curve = drawn(values, [0.0, 1.0, 2.0, 30.0, 40.0], 0.11)
    assert upper.get_xscale() == "log"
    assert upper.get_title().startswith("whole")
    assert cut.get_xscale() == "linear"
    assert cut.get_xlim()[1] == 0.11
    low, high = cut.get_ylim()
    fitted = curve.fitted[:3]
    assert low < min(0.0, *fitted)
    assert max(2.0, *fitted) < high < 30.0
    assert 5.0 < below.get_ylim()[1] < 6.0  # 90 instances stand beyond the end


@pytest.mark.slow
@pytest.mark.parametrize("end", [1e-6, 1e9])
def test_an_end_before_or_beyond_all_values(drawn, end):
    _, (cut, _), _ = drawn([0.5, 1.0, 2.0], [1.0, 1.0, 1.0], end)
    assert cut.get_xlim()[1] == end
