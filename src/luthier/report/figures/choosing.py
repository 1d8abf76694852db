"""A picture of a choice: the held-out score along each axis, a curve for each setting of the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from luthier.report.colors import line_looks
from luthier.report.pictures import make_panels, write_figure
from luthier.tuning.chosen import Chosen, Tried

MOST_LABELS = 12


def draw_chosen(chosen: Chosen, path: Path) -> None:
    """Draw a panel for each axis; the chosen point is ringed."""
    names = [name for name, values in chosen.axes.items() if len(values) > 1] or list(chosen.axes)
    figure, panels = make_panels(
        1, len(names), figsize=(4.6 * len(names) + 0.6, 4.2), squeeze=False, sharey=True, layout="constrained"
    )
    for panel, name in zip(panels.flat, names, strict=True):
        _draw_axis(panel, chosen, name)
    panels.flat[0].set_ylabel(f"held-out lists, {chosen.metric.split('(')[0]}", fontsize=9)
    figure.suptitle(f"{chosen.method}: chosen {_words(chosen.best.values)}", fontsize=10)
    write_figure(figure, path, dpi=110)


def _draw_axis(panel: Any, chosen: Chosen, name: str) -> None:
    ticks = {value: place for place, value in enumerate(chosen.axes[name])}
    curves: dict[str, list[Tried]] = {}
    for point in chosen.points:
        curves.setdefault(_words({n: v for n, v in point.values.items() if n != name}), []).append(point)
    several = {words: own for words, own in curves.items() if len(own) > 1 or len(ticks) == 1}
    for looks, (words, own) in zip(line_looks(), several.items(), strict=False):
        own = sorted(own, key=lambda point: ticks[point.values[name]])
        places = [ticks[point.values[name]] for point in own]
        panel.plot(places, [point.heldout for point in own], **looks, markersize=4, linewidth=1.2, label=words)
    panel.plot(
        ticks[chosen.best.values[name]], chosen.best.heldout, "o", markersize=11, fillstyle="none", color="black"
    )
    panel.set_xticks(list(ticks.values()), list(ticks), fontsize=8)
    panel.set_xlabel(name, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.grid(visible=True, linewidth=0.3)
    if any(several) and len(several) <= MOST_LABELS:
        panel.legend(fontsize=7, frameon=False)


def _words(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
