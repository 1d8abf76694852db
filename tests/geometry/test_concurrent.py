"""Whole-numbered features seen from an oblique plane: boundaries that meet in one point but for rounding."""

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.geometry.plane import arrangement
from luthier.geometry.plane import overlay as overlay_file
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.overlay import Overlay, room_for_walks
from luthier.geometry.plane.subdivision import Window


def oblique(seed, *, lists=20, rows=30, largest=8):
    """Return lists of two whole-numbered features over a turned plane: every boundary passes by the weights 0."""
    rng = np.random.default_rng(seed)
    features = rng.integers(-largest, largest + 1, size=(lists * rows, 2)).astype(float)
    start = rng.integers(-2, 3, size=2).astype(float)
    turned, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    return np.arange(lists + 1) * rows, features @ np.concatenate([start[None], turned]).T


@pytest.mark.compiled  # a minute each as plain Python; with checked indices they are quick
@pytest.mark.parametrize("seed", [23, 40])  # these wrote outside their arrays
def test_corners_of_nearly_coincident_boundaries_are_finite_and_cells_hold_their_positions(seed):
    offsets, points = oblique(seed)
    overlay = Overlay(offsets, points)
    assert np.isfinite(overlay.edges.arrays.ends).all()
    record = Arrangement.make(overlay, np.zeros((len(points), 1), np.int64))
    assert np.isfinite(record.position).all()
    assert np.isfinite(record.low).all()
    at_most = np.abs(record.position).max(axis=1, initial=1.0)
    assert np.all(record.margin >= -1e-12 * np.abs(points).max() * np.maximum(1.0, at_most))


def test_a_walk_that_meets_more_boundaries_than_there_are_is_an_error(monkeypatch):
    def cramped(overlay):
        scratch = room_for_walks(overlay)
        return scratch._replace(hops=scratch.hops[:3])

    for module in (overlay_file, arrangement):
        monkeypatch.setattr(module, "room_for_walks", cramped)
    offsets, points = oblique(1)
    overlay = Overlay(offsets, points, Window(-4.0, 4.0, -4.0, 4.0))
    with pytest.raises(LuthierError, match="fault of luthier"):
        list(overlay.stream(np.zeros((len(points), 1), np.int64), len))
    with pytest.raises(LuthierError, match="fault of luthier"):
        Arrangement.make(overlay, np.zeros((len(points), 1), np.int64))
