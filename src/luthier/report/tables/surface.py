"""The surface over a plane as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from luthier.report.console import cell, stack, table

SHOWN = 8


def surface_tables(about: Mapping[str, Any], seconds: float, written: Sequence[str]) -> Any:
    """Return what is on the plane, the best cells, how often which score, and the files written.

    `about` is the report as plain data.
    """
    optimum, start = about["optimum"], about["start"]
    faces, check = about["faces"], about["check"]
    rows: list[tuple[str, str]] = [
        (
            "cells",
            cell(about["cells"]) + ("" if about["complete"] else f" ({about['walked']:.1%} of the edges walked)"),
        ),
        ("faces of a list", f"{faces['least']:,} to {faces['most']:,}, {faces['mean']:.1f} on average"),
    ]
    if about["distinct_scores"] is not None:
        rows.append(("different scores", cell(about["distinct_scores"])))
    rows += [
        ("score at w0", f"{start:.4f}"),
        ("best score", f"{optimum['score']:.4f}"),
        ("  change from w0", f"{optimum['score'] - start:+.4f}"),
        *((f"  at {axis}", f"{optimum[name]:+.8g}") for axis, name in zip(about["axes"], ("x", "y"), strict=True)),
        ("  room about it", f"{optimum['radius']:.4g}"),
        ("worst score", f"{about['worst']:.4f}"),
    ]
    if about["unrepresentable"] is not None:
        rows.append(("cells that floats cannot reach for certain", cell(about["unrepresentable"])))
    if check["tried"]:
        rows += [
            ("re-ranked", f"{check['tried']:,} cells, drawn at random"),
            ("  reached for certain", cell(check["representable"])),
            ("    selected what the cell says", cell(check["agreed"])),
            ("    selected something else", cell(check["wrong"])),
            ("  not for certain", cell(check["tried"] - check["representable"])),
        ]
    rows.append(("seconds", f"{seconds:.1f}"))
    title = f"{' × '.join(about['axes'])}, {_window(about)}"
    parts = [table(title, ("", ""), rows, caption=about["metric"])]
    if optimum["cut_by_window"]:
        parts.append(_wider(about))
    parts.append(_best(about))
    if written:
        parts.append(table("written", ("file",), [(path,) for path in written]))
    return stack(*parts)


def _wider(about: Mapping[str, Any]) -> str:
    """Say that the best cell touches the window's border, and name a window twice as large along these axes."""
    wider = []
    for axis in about["optimum"]["cut_by_window"]:
        low, high = about["window"][axis]
        more = (high - low) / 2 if None not in (low, high) else abs(high or low or 1.0)
        ends = ("" if end is None else f"{end + change:.4g}" for end, change in ((low, -more), (high, more)))
        wider.append(f"--window {axis}={':'.join(ends)}")
    return f"the best cell touches the window's border: there may be better ones beyond. hint: {' '.join(wider)}"


def _best(about: Mapping[str, Any]) -> Any:
    """Return the best cells; a cell that no float reaches for certain is marked."""
    columns = ("score", *about["axes"], "area", "radius", "reached for certain")
    rows = [
        (
            f"{one['score']:.4f}",
            f"{one['x']:+.8g}",
            f"{one['y']:+.8g}",
            "without end" if one["area"] is None else f"{one['area']:.4g}",
            f"{one['radius']:.4g}",
            one["representable"] or "no",
        )
        for one in about["best"][:SHOWN]
    ]
    return table("best cells", columns, rows)


def _window(about: Mapping[str, Any]) -> str:
    if all(end is None for ends in about["window"].values() for end in ends):
        return "the whole plane"
    return ", ".join(
        f"{axis} {-math.inf if low is None else low:+.4g} … {math.inf if high is None else high:+.4g}"
        for axis, (low, high) in about["window"].items()
    )
