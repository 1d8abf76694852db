"""The picture of a surface names every mark that any of its panels shows, also those at the border."""

import numpy as np
import pytest

from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.robust import RobustOptimum
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.landscape.planes.view import surface_scenes
from luthier.report.figures import surface as figures
from small_problems import random_problem

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("beyond", [0.0, 1e-12])
def test_start_optimum_and_chosen_point_are_in_the_legend(monkeypatch, tmp_path, beyond):
    problem = random_problem(3, sentences=12, k=20)
    axes = Subspace(np.array([1.0, 1.0, 1.0]), np.eye(3)[:2], ("f0", "f1"))
    report = look_at_plane(Plane.make(problem, axes, Window(-2.0, 2.0, -2.0, 2.0)), SurfaceOptions(check=0))
    chosen = RobustOptimum("robust", 0.1, np.array([2.0 + beyond, 2.0]), 50.0, 50.0, 50.0, 0.1)
    drawn = []
    monkeypatch.setattr(figures, "save_picture", lambda canvas, path, **_: drawn.append(canvas))
    figures.draw_surface(report, surface_scenes(report), tmp_path / "x.png", chosen)
    (canvas,) = drawn
    named = [text.get_text().partition(":")[0] for text in canvas.legends[0].get_texts()]
    assert sorted(named) == ["$w^{(0)}$", "lasts", "optimum"]
