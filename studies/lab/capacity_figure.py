"""A picture of what more features do: the oracle's reach, gains on tuning and test sentences, agreement of tuners."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.files.journal import Record
from luthier.report.figure_style import LINES, write_figure

from .capacity_tables import ORACLE, agreements
from luthier.core.files.journal import Record
from luthier.report.figure_style import LINES
from luthier.report.figure_style import make_panels, write_figure
from luthier.jobs.lab.capacity_tables import ORACLE, agreements

ALL = "all"


def draw_capacity(records: Sequence[Record], title: str, path: Path) -> bool:
    """Draw a panel each for the oracle, for gains and for agreement, against the number of weights that matter.

    Return whether there was anything to draw: features that differ in number, and tuners at the sentences that most
    units have.
    """
    records = [record for record in records if record["space"] == ALL]
    oracles = [record for record in records if record["tuner"] == ORACLE]
    compared = _compared(records)
    if len({record["features"] for record in oracles}) < 2 or not compared:
        return False
    from matplotlib import ticker

    figure, axes = make_panels(1, 3, figsize=(13, 4.2), layout="constrained")
    _draw_reach(axes[0], oracles)
    _draw_gains(axes[1], [record for record in compared if record["tuner"] != ORACLE])
    _draw_agreement(axes[2], compared)
    for axis in axes:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 3.0)))
        axis.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        axis.set_xlabel("weights that select anything, D", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(visible=True, linewidth=0.3)
        axis.legend(fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=11)
    write_figure(figure, path, dpi=110)
    return True


def _compared(records: Sequence[Record]) -> list[Record]:
    """Return the units of those tuners and sentences that were run with the most sets of features."""
    sets: dict[tuple[int, str], set[str]] = {}
    for record in records:
        if record["tuner"] != ORACLE:
            sets.setdefault((record["sentences"], record["tuner"]), set()).add(record["features"])
    most = max((len(found) for found in sets.values()), default=0)
    if most < 2:
        return []
    size = max(size for (size, _), found in sets.items() if len(found) == most)
    tuners = {tuner for (own, tuner), found in sets.items() if own == size and len(found) == most} | {ORACLE}
    return [record for record in records if record["sentences"] == size and record["tuner"] in tuners]


def _by_features(records: Sequence[Record]) -> list[tuple[float, list[Record]]]:
    """Return records by their features, with the mean number of weights that matter, in its order."""
    names = dict.fromkeys(record["features"] for record in records)
    groups = [[record for record in records if record["features"] == name] for name in names]
    return sorted(((float(np.mean([r["columns"] for r in own])), own) for own in groups), key=lambda item: item[0])


def _draw_reach(axis: Any, records: Sequence[Record]) -> None:
    for size, color in zip(sorted({r["sentences"] for r in records}), LINES, strict=False):
        points = _by_features([r for r in records if r["sentences"] == size])
        shares = [100 * np.mean([r["feasible"] for r in own]) for _, own in points]
        axis.plot([d for d, _ in points], shares, "o-", color=color, label=f"{size} sentences")
    axis.set_ylabel("draws on which weights select the oracle, %", fontsize=9)


def _draw_gains(axis: Any, records: Sequence[Record]) -> None:
    for tuner, color in zip(dict.fromkeys(r["tuner"] for r in records), LINES, strict=False):
        points = _by_features([r for r in records if r["tuner"] == tuner])
        for style, after, before in (("o-", "tuned", "before"), ("s:", "test", "test_before")):
            gains = [np.mean([r[after] - r[before] for r in own]) for _, own in points]
            axis.plot([d for d, _ in points], gains, style, color=color, label=tuner if after == "tuned" else None)
    axis.set_ylabel("gain on tuning (—) and test (···) sentences", fontsize=9)


def _draw_agreement(axis: Any, records: Sequence[Record]) -> None:
    pairs, oracle, places = [], [], []
    for d, own in _by_features(records):
        shares = agreements(own)
        if not shares:
            continue
        places.append(d)
        pairs.append(100 * np.mean([share for names, share in shares.items() if ORACLE not in names]))
        oracle.append(100 * np.mean([share for names, share in shares.items() if ORACLE in names] or [np.nan]))
    axis.plot(places, pairs, "o-", color=LINES[0], label="two tuners")
    axis.plot(places, oracle, "s-", color=LINES[1], label="a tuner and the oracle")
    axis.set_ylabel("sentences on which both select the same, %", fontsize=9)
