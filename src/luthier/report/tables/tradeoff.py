"""What several metrics trade, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.landscape.tradeoff.result import Tradeoff
from luthier.report.console import stack, table

MOST_POINTS = 15


def tradeoff_tables(found: Tradeoff, written: Sequence[str]) -> Any:
    """Return the front, the pairs of metrics that conflict, and the files written."""
    files = [table("written", ("file",), [(path,) for path in written])] if written else []
    return stack(_front(found), _conflicts(found), *files)


def _front(found: Tradeoff) -> Any:
    """Return w0 and points of the front: the best of each metric, the mix, and others spread evenly."""
    n, best, mix = len(found.scores), found.best, found.mix
    marks: dict[int, list[str]] = {}
    for label, point in zip(found.labels, best, strict=True):
        marks.setdefault(point, []).append(f"best {label}")
    marks.setdefault(mix, []).append("the mix")
    step = max(1, -(-n // MOST_POINTS))
    shown = sorted({*marks, *range(0, n, step)})
    rows = [("w0", "", *(f"{score:.2f}" for score in found.start_scores), *("" for _ in _heldout(found, 0)))]
    for i in shown:
        scores = [f"{score:.2f}" for score in (*found.scores[i], *_heldout(found, i))]
        rows.append((str(i), ", ".join(marks.get(i, [])), *scores))
    kind = "Pareto front" if found.exact else "inner Pareto front"
    names = [*found.labels, *(f"held out: {label}" for label in found.labels if found.heldout_scores is not None)]
    advantage = ", ".join(f"{a:+.1f} {label}" for a, label in zip(found.advantages[mix], found.labels, strict=True))
    notes = [f"{len(shown)} of {n:,} points; {found.cells:,} {_cells(found)}"]
    notes.append(f"the mix gains over w0, in units of each metric's noise: {advantage}")
    if not found.exact:
        notes.append("other weights may beat it: it is made of line searches")
    if not found.holds.all():
        notes.append(f"{int((~found.holds).sum())} points lie in cells that floating-point weights do not reach")
    return table(f"{kind}, {found.where}", ("point", "", *names), rows, caption="\n".join(notes))


def _cells(found: Tradeoff) -> str:
    return {"plane": "cells, all visited", "line": "intervals, all visited"}.get(found.where, "intervals of all lines")


def _heldout(found: Tradeoff, point: int) -> Sequence[float]:
    return () if found.heldout_scores is None else found.heldout_scores[point].tolist()


def _conflicts(found: Tradeoff) -> Any:
    rows = []
    for c in found.conflicts:
        if c.points == 1:
            rows.append((f"{c.first}, {c.second}", c.points, "none", "none"))
            continue
        prices = [f"{p:.2f} ({s:.1f} s)" for p, s in ((c.first_price, c.first_noise), (c.second_price, c.second_noise))]
        rows.append((f"{c.first}, {c.second}", c.points, *prices))
    headings = ("pair", "points", "the first loses at the best of the second", "and the other way round")
    noise = ", ".join(f"{label} {s:.2f}" for label, s in zip(found.labels, found.noise, strict=True))
    return table("conflicts", headings, rows, caption=f"s is each metric's own noise at w0: {noise}")
