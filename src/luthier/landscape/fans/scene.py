"""What pictures of polytopes and fans show: lists of two features with names, scores and weights."""

from __future__ import annotations

import dataclasses

from luthier.core.arrays import Float64
from luthier.geometry.polytopes.fan import PlanarFan
from luthier.geometry.polytopes.fan_choice import AngleChoice, LineChoice


@dataclasses.dataclass(frozen=True, eq=False)
class FanScene:
    """S lists of two features, their fans and their joint fan.

    Attributes
    ----------
    title : str
    axes : two names
    lists : S arrays (K_s, 2)
    names : S tuples of K_s names, in mathematical notation without dollars: ``h_{1,2}``
    list_names : S names of lists, ``H_{1}``
    fans : S fans
    joint : PlanarFan
        Of all lists together; for one list its own.
    scores : S arrays (K_s,), or None
        The score of every row by itself.
    cone_scores : (C,) float64, or None
        The score of what each cone of the joint fan selects.
    metric : str
        What the scores are called.
    better : int
        1 where higher scores are better, −1 where lower ones are.
    start : (2,) float64, or None
        Weights to mark.
    direction : two numbers
        Along which a line search goes: the second axis.
    """

    title: str
    axes: tuple[str, str]
    lists: tuple[Float64, ...]
    names: tuple[tuple[str, ...], ...]
    list_names: tuple[str, ...]
    fans: tuple[PlanarFan, ...]
    joint: PlanarFan
    scores: tuple[Float64, ...] | None = None
    cone_scores: Float64 | None = None
    metric: str = ""
    better: int = 1
    start: Float64 | None = None
    direction: tuple[float, float] | Float64 = (0.0, 1.0)


@dataclasses.dataclass(frozen=True, eq=False)
class RegularizedScene:
    """A scene with scores and a start, and the choices of a line search and of the whole fan."""

    scene: FanScene
    start: Float64
    direction: Float64
    strength: float
    tolerance: float
    line: LineChoice
    angle: AngleChoice


def joint_name(scene: FanScene, cone: int) -> str:
    """Return the names of what a cone selects, joined by +."""
    rows = scene.joint.selections[cone]
    return "+".join(names[row] for names, row in zip(scene.names, rows, strict=True))
