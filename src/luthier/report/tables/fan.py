"""Fans as tables and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from luthier.landscape.fans.scene import FanScene, RegularizedScene, joint_name
from luthier.report.console import table

MOST_ROWS = 40


def plain(name: str) -> str:
    """Return a name in mathematical notation as plain text.

    >>> plain("h_{1,2}+h_{2,0}")
    'h1,2 + h2,0'
    """
    return name.translate(str.maketrans("", "", "_{}")).replace("+", " + ")


def fan_data(scene: FanScene) -> dict[str, Any]:
    """Return a scene as JSON has it; cones counter-clockwise, each with the boundary to the next."""
    fan = scene.joint
    return {
        "title": scene.title,
        "axes": list(scene.axes),
        "lists": [
            {"rows": len(points), "corners": own.selections[:, 0].tolist()}
            for points, own in zip(scene.lists, scene.fans, strict=True)
        ],
        "cones": [
            {
                "selects": fan.selections[cone].tolist(),
                "sum": fan.sums[cone].tolist(),
                "degrees": float(np.degrees(fan.opening(cone))),
                "score": None if scene.cone_scores is None else float(scene.cone_scores[cone]),
            }
            for cone in range(fan.n_cones)
        ],
        "boundaries": [
            {"ray": normal.tolist(), "changes": list(change)}
            for normal, change in zip(fan.normals, fan.changes, strict=True)
        ],
    }


def regularized_data(regularized: RegularizedScene) -> dict[str, Any]:
    """Return both choices as JSON has them."""
    line, choice = regularized.line, regularized.angle
    weights = regularized.start + line.inside[list(line.best)][:, None] * regularized.direction
    return {
        "start": regularized.start.tolist(),
        "direction": regularized.direction.tolist(),
        "strength": regularized.strength,
        "tolerance": regularized.tolerance,
        "line": {
            "cones": line.cones.tolist(),
            "best": [int(line.cones[i]) for i in line.best],
            "weights": weights.tolist(),
        },
        "fan": {
            "good": choice.cones.tolist(),
            "degrees": [float(np.degrees(a)) if np.isfinite(a) else None for a in choice.angles],
            "best": choice.best,
            "weights": choice.weights.tolist(),
        },
    }


def fan_tables(scene: FanScene, regularized: RegularizedScene | None, picture: str) -> Any:
    """Return the cones with what they select, and the choices, for people."""
    fan = scene.joint
    headings = ["cone", "selects", "degrees", *(f"h {name}" for name in scene.axes)]
    scored = scene.cone_scores is not None
    rows = [
        [cone, plain(joint_name(scene, cone)), round(float(np.degrees(fan.opening(cone))), 3)]
        + fan.sums[cone].tolist()
        + ([] if scene.cone_scores is None else [float(scene.cone_scores[cone])])
        for cone in range(min(fan.n_cones, MOST_ROWS))
    ]
    title = f"{scene.title}: {fan.n_cones} cones, {len(fan.normals)} boundaries"
    lines = [f"and {fan.n_cones - MOST_ROWS} cones more"] if fan.n_cones > MOST_ROWS else []
    lines += [] if regularized is None else _choices(regularized)
    caption = "\n".join([*lines, f"written: {picture}"])
    return table(title, headings + ([scene.metric] if scored else []), rows, caption=caption)


def _choices(regularized: RegularizedScene) -> list[str]:
    line, choice = regularized.line, regularized.angle
    taken = " and ".join(str(line.cones[i]) for i in line.best)
    lines = [f"line search, penalty {regularized.strength:.4g}: cone {taken} of the {len(line.cones)} it crosses"]
    if choice.best < 0:
        lines.append(f"by angle: all good cones ({len(choice.cones)}) lie behind the start")
    else:
        degrees = np.degrees(choice.angles[choice.cones == choice.best][0])
        place = ", ".join(f"{x:.5g}" for x in choice.weights)
        lines.append(
            f"by angle: cone {choice.best}, {degrees:.4g}° away; good cones: {len(choice.cones)}; w = ({place})"
        )
    return lines
