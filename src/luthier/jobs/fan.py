"""Which weights of two features select what: ``luthier.fan`` finds polytopes and their normal fan."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.params import checked
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, axes_at, weighted
from luthier.landscape.cones.fan_scenes import FanScene, RegularizedScene, example_scene, pool_scene
from luthier.landscape.cones.fan_scenes import regularize as choose_near
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric
from luthier.report.tables.geometry import fan_data, regularized_data

NEAR_EXAMPLE = "figure5"  # of the paper, which has weights and scores


@dataclasses.dataclass(frozen=True, eq=False)
class Fan(Shown):
    """Lists of two features with their fans, and the choices of a penalty on the distance from weights, or None."""

    scene: FanScene
    near: RegularizedScene | None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; cones counter-clockwise, each with the boundary to the next."""
        return fan_data(self.scene) | ({} if self.near is None else {"regularized": regularized_data(self.near)})


@checked
def fan(
    pool: AnyPool | None = None,
    *,
    sentence: int | Sequence[int] = (),
    axis: Sequence[AnyPath] = (),
    weights: AnyWeights | None = None,
    metric: str | Metric | None = None,
    example: str | None = None,
    regularize: bool = False,
    strength: float | None = None,
    tolerance: float | None = None,
) -> Fan:
    """Find which weights of two features select what: the polytope of each list, and the joint normal fan.

    Parameters
    ----------
    pool
        Lists, or where they are; or None with an `example` of the paper: ``table1``, ``figure3`` or ``figure5``.
    sentence
        Numbers of sentences, from 0.
    axis
        Two features by their names, or files of ``name value`` lines; other directions count 0.
    weights
        Weights to mark by their part along the two axes: by name, a vector or a file.
    metric
        Scores the cones (default: none; ``bleu`` with `regularize`).
    regularize, strength, tolerance
        What staying near to the weights chooses: the penalty of a step of length 1, and which scores count as good.

    Examples
    --------
    >>> found = fan(example="table1")
    >>> [cone["selects"] for cone in found.as_dict()["cones"]]
    [[1], [2], [0], [3]]
    """
    if (pool is None) == (example is None):
        raise LuthierError("expected a pool or an example, found both or neither")
    sentences = [sentence] if isinstance(sentence, int) else list(sentence)
    if example is not None and (sentences or axis or weights is not None or metric is not None):
        raise LuthierError(
            "an example has sentences, axes, weights and scores of its own. hint: leave those options out"
        )
    near = regularize or example == NEAR_EXAMPLE
    if not near and (strength is not None or tolerance is not None):
        raise LuthierError("`strength` and `tolerance` are settings of `regularize`. hint: add it")
    if pool is None:
        scene = example_scene(str(example))
    else:
        metric = "bleu" if metric is None and regularize else metric
        lists, marked = weighted(pool, weights)
        scene = pool_scene(lists, sentences, axes_at(axis), marked, None if metric is None else as_metric(metric))
    return Fan(scene, choose_near(scene, strength, tolerance or 0.0) if near else None)
