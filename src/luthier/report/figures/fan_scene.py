"""A scene of fans as the picture that suits it."""

from __future__ import annotations

from pathlib import Path

from luthier.core.errors import LuthierError
from luthier.landscape.fans.scene import FanScene, RegularizedScene
from luthier.report.figures.fan import draw_fan
from luthier.report.figures.fan_regularized import draw_regularized
from luthier.report.figures.fan_sum import draw_sum


def draw_scene(scene: FanScene, regularized: RegularizedScene | None, path: Path, width: float | None = None) -> None:
    """Draw what there is: choices on a fan, one list step by step, or two lists and their sum."""
    if regularized is not None:
        draw_regularized(regularized, path, width)
    elif len(scene.lists) == 1:
        draw_fan(scene, path, width)
    elif len(scene.lists) == 2:
        draw_sum(scene, path, width)
    else:
        raise LuthierError(f"expected one or two sentences to draw, found {len(scene.lists)}")
