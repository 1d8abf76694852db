"""What pictures of polytopes and fans show: lists of two features with names, scores and weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.geometry.polytopes.fan import (
    AngleChoice,
    LineChoice,
    PlanarFan,
    choose_by_angle,
    choose_on_line,
    planar_fan,
)
from luthier.kbest.pool import Pool
from luthier.landscape.subspaces import read_axes, read_start
from luthier.metrics.base import Metric
from luthier.metrics.pools import pool_statistics


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


# Scenes for pictures of fans: from the lists of a pool, or the examples of the paper.

EXAMPLES = ("table1", "figure3", "figure5")
TABLE1 = ((-0.1, -1.2), (-1.2, -0.2), (-0.9, -1.6), (-0.9, -0.1), (-0.8, -0.9))
FIGURE3 = (((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)), ((0.0, 0.0), (1.0, 0.5), (0.0, 1.0)))
# Figure 5 gives no numbers: errors are chosen so that h1 and h2 have the same few, and the line is laid
# through a point of each of the boundaries [h4, h1] and [h4, h2], with w0 half way between the two.
FIGURE5_ERRORS = (1.0, 1.0, 5.0, 3.0, 4.0)
FIGURE5_REACH = (0.75, 1.6)  # how far along the two boundaries
SHARE_OF_SPREAD = 0.25  # the penalty, where none is given, of a step as long as w0


def example_scene(name: str) -> FanScene:
    """Return an example of the paper [waite2015]: its Table 1 (Figures 1, 2 and 5) or its Figure 3."""
    if name not in EXAMPLES:
        raise LuthierError(f"expected an example, {', '.join(EXAMPLES)}, found {name!r}")
    if name == "figure3":
        lists = tuple(np.array(points) for points in FIGURE3)
        names = tuple(tuple(f"h_{{{s},{k + 1}}}" for k in range(len(p))) for s, p in enumerate(lists, 1))
        return _scene("Figure 3 of Waite and Byrne (2015)", ("1", "2"), lists, names, ("H_1", "H_2"))
    lists = (np.array(TABLE1),)
    names = (tuple(f"h_{k + 1}" for k in range(len(TABLE1))),)
    if name == "table1":
        return _scene("Table 1 of Waite and Byrne (2015)", ("LM", "TM"), lists, names, ("H",))
    errors = np.array(FIGURE5_ERRORS)
    fan = planar_fan(lists)
    first, second = _figure5_ends(fan)
    return _scene(
        "After Figure 5 of Waite and Byrne (2015), with synthetic errors",
        ("LM", "TM"),
        lists,
        names,
        ("H",),
        scores=(errors,),
        cone_scores=errors[fan.selections[:, 0]],
        metric="errors",
        better=-1,
        start=(first + second) / 2,
        direction=(second - first) / 2,
    )


def _figure5_ends(fan: PlanarFan) -> tuple[Float64, Float64]:
    rows = fan.selections[:, 0].tolist()
    h1, h4 = rows.index(0), rows.index(3)
    return FIGURE5_REACH[0] * fan.normals[h1], FIGURE5_REACH[1] * fan.normals[h4]


def pool_scene(
    pool: Pool, sentences: Sequence[int], axes: Sequence[str], weights: str | Float64 | None, metric: Metric | None
) -> FanScene:
    """Return the lists of some sentences, numbered from 0, seen along two axes.

    All other directions of weight space count 0; `weights` are marked by their part in the plane.
    """
    if len(axes) != 2:
        raise LuthierError(f"expected two axes, found {len(axes)}")
    if not sentences:
        raise LuthierError("expected at least one sentence, found none")
    for sentence in sentences:
        if not 0 <= sentence < pool.n_sentences:
            raise LuthierError(f"expected sentences from 0 to {pool.n_sentences - 1}, found {sentence}")
        if not pool.list_lengths[sentence]:
            raise LuthierError(f"sentence {sentence} has no hypotheses. hint: take another one")
    directions = read_axes(pool, axes)
    start = None
    if weights is not None:
        start = np.linalg.lstsq(directions.T, read_start(pool, weights), rcond=None)[0]
    part = pool.take_sentences(list(sentences))
    points = part.features.scores(directions).T
    lists = tuple(np.ascontiguousarray(rows) for rows in np.split(points, part.offsets[1:-1]))
    alone = len(sentences) == 1
    names = tuple(
        tuple(f"h_{{{k}}}" if alone else f"h_{{{sentence},{k}}}" for k in range(len(rows)))
        for sentence, rows in zip(sentences, lists, strict=True)
    )
    list_names = tuple(f"H_{{{sentence}}}" for sentence in sentences)
    title = f"sentence {sentences[0]}" if alone else f"sentences {', '.join(map(str, sentences))}"
    plain = _scene(title, (_short(axes[0]), _short(axes[1])), lists, names, list_names, start=start)
    return plain if metric is None else _scored(plain, part, metric)


def _scene(
    title: str,
    axes: tuple[str, str],
    lists: tuple[Float64, ...],
    names: tuple[tuple[str, ...], ...],
    list_names: tuple[str, ...],
    **more: object,
) -> FanScene:
    fans = tuple(planar_fan([points]) for points in lists)
    joint = fans[0] if len(lists) == 1 else planar_fan(lists)
    return FanScene(title, axes, lists, names, list_names, fans, joint, **more)  # type: ignore[arg-type]


def _scored(scene: FanScene, part: Pool, metric: Metric) -> FanScene:
    """Return the scene with the scores of rows, and of cones: of one sentence its own, of more their corpus score."""
    stats = pool_statistics(part, metric)
    own = metric.sentence_score(stats)
    rows = scene.joint.selections + part.offsets[:-1]  # (C, S)
    alone = len(scene.lists) == 1
    return FanScene(
        **{
            **vars(scene),
            "scores": tuple(np.split(own, part.offsets[1:-1])),
            "cone_scores": own[rows[:, 0]] if alone else metric.score(stats[rows].sum(axis=1)),
            "metric": f"{metric.name} of the sentence" if alone else f"{metric.name} of the sentences together",
            "better": int(np.sign(metric.gain(np.ones(1))[0])),
        }
    )


def regularize(scene: FanScene, strength: float | None = None, tolerance: float = 0.0) -> RegularizedScene:
    """Return the choices of a penalised line search through the scene's start, and of the whole fan.

    The line runs along the scene's direction. `strength` is what a step of length 1 costs; None: a step as
    long as the start costs a quarter of the spread of the scores. `tolerance` says which cones are good.
    """
    if scene.cone_scores is None or scene.start is None:
        raise LuthierError(
            "choices near given weights need weights and a metric: what to stay near to, and what to gain. "
            "hint: of the examples, figure5 has both"
        )
    if not np.any(scene.start):
        raise LuthierError("expected weights with a part along the two axes, found none")
    for name, value in (("strength", strength), ("tolerance", tolerance)):
        if value is not None and not 0 <= value < np.inf:
            raise LuthierError(f"expected a finite {name} of 0 or more, found {value:g}")
    gains = scene.better * scene.cone_scores
    if strength is None:
        strength = SHARE_OF_SPREAD * float(np.ptp(gains)) / float(scene.start @ scene.start)
    direction = np.array(scene.direction)
    line = choose_on_line(scene.joint, gains, scene.start, direction, strength=strength)
    nearest = choose_by_angle(scene.joint, gains, scene.start, tolerance=tolerance)
    return RegularizedScene(scene, scene.start, direction, strength, tolerance, line, nearest)


def _short(axis: str) -> str:
    """Return an axis's name as a label: a file without its folders."""
    return axis.replace("\\", "/").rsplit("/", 1)[-1]
