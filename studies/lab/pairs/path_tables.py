"""Tables and figures of paths in β."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.files.journal import Record
from luthier.evaluation.bootstrap import paired_interval
from luthier.metrics.base import Metric
from luthier.report.figure_style import BLUE, GREEN, VERMILION, make_panels, write_figure

from ..base import markdown
from ..lines import unpack_statistics

KINDS = {"lnr": ("LNR", BLUE, "o"), "mnr": ("MNR, local", VERMILION, "s")}
# selections whose statistics a line has, and pairs of them
SHOWN = NOTHING_TIED, STRAIGHT, LNR, MNR, PLAIN = "β = 0", "β = ∞", "LNR, best", "MNR, best", "plain features"
COMPARED = ((LNR, NOTHING_TIED), (LNR, STRAIGHT), (LNR, PLAIN), (MNR, LNR))
Point = Mapping[str, Any]


def path_tables(metric: Metric, records: Sequence[Record]) -> list[str]:
    """Return a summary of all paths, what their best points differ by, and the points of each."""
    parts = ["## Paths\n", _summary(records), "## Differences on unseen lists\n", _differences(metric, records)]
    for record in records:
        parts += [f"## {record['data']}, {record['bits']} bits, ridge {record['ridge']:g}\n", _points(record)]
    return parts


def best_of(points: Sequence[Point]) -> int:
    """Return which point scores best on unseen lists; ties go to the first."""
    return max(range(len(points)), key=lambda k: float(points[k]["heldout"]))


def _summary(records: Sequence[Record]) -> str:
    head = ["data", "bits", "ridge", "features", "pairs", "points", "gap", "CPU s, LNR", "CPU s, MNR", "plain features",
            "β = 0", "β = ∞", "LNR, best", "its β", "MNR, best", "its β"]  # fmt: skip
    rows = []
    for record in records:
        lnr, mnr = record["lnr"], record["mnr"]
        cells = [record["data"], str(record["bits"]), f"{record['ridge']:g}", f"{record['features']:,}"]
        cells += [f"{record['pairs']:,}", str(len(lnr)), f"{record['gap']:.1e}", f"{record['lnr_seconds']:.1f}"]
        cells += [f"{record['cpu_seconds'] - record['lnr_seconds']:.1f}", f"{record['plain_heldout']:.2f}"]
        cells += [f"{point['heldout']:.2f}" for point in (lnr[0], lnr[-1])]
        for best in (lnr[best_of(lnr)], mnr[best_of(mnr)]):
            cells += [f"{best['heldout']:.2f}", _beta(best)]
        rows.append(cells)
    return markdown(head, rows, (0,))


def _differences(metric: Metric, records: Sequence[Record]) -> str:
    """Return what pairs of selections differ by; the best points are chosen on the same lists."""
    rows = []
    for record in records:
        packed = record["statistics"].items()
        stats = {name: unpack_statistics(text, len(metric.stat_names)) for name, text in packed}
        for name, other in COMPARED:
            scores = [float(metric.score(stats[one].sum(axis=0))) for one in (name, other)]
            low, high = paired_interval(metric, stats[other], stats[name])
            cells = [record["data"], str(record["bits"]), f"{record['ridge']:g}", f"{name} − {other}"]
            rows.append([*cells, f"{scores[0] - scores[1]:+.2f}", f"{low:+.2f} … {high:+.2f}"])
    return markdown(["data", "bits", "ridge", "selections", "difference", "95 % interval"], rows, (0, 3))


def _beta(point: Point) -> str:
    return "∞" if point["beta"] is None else f"{point['beta']:.3g}"


def _points(record: Record) -> str:
    head = ["β", "LNR: objective", "penalty", "tuning lists", "unseen lists", "MNR: objective", "penalty",
            "tuning lists", "unseen lists"]  # fmt: skip
    rows = []
    for k, point in enumerate(record["lnr"]):
        cells = [_beta(point)]
        for points in (record["lnr"], record["mnr"]):
            if k < len(points):
                cells += [f"{points[k][name]:,.1f}" for name in ("value", "penalty")]
                cells += [f"{points[k][name]:.2f}" for name in ("tune", "heldout")]
            else:
                cells += ["–"] * 4
        rows.append(cells)
    return markdown(head, rows, ())


def draw_paths(records: Sequence[Record], path: Path) -> None:
    """Draw a column for each path: scores on unseen lists, and the penalty as a share of the objective, by β."""
    columns = len(records)
    size = (3.6 * columns + 0.8, 5.4)
    figure, axes = make_panels(2, columns, figsize=size, squeeze=False, layout="constrained", sharey="row")
    scores = [point["heldout"] for record in records for kind in KINDS for point in record[kind]]
    least, most = min(scores), max(scores)
    for (upper, lower), record in zip(axes.T, records, strict=True):
        inner = [point["beta"] for point in record["lnr"] if point["beta"]]
        low, high = inner[0] / 10, inner[-1] * 10  # where 0 and ∞ are drawn
        for kind, (label, color, mark) in KINDS.items():
            points = record[kind]
            places = [low if p["beta"] == 0 else high if p["beta"] is None else p["beta"] for p in points]
            look = {"color": color, "marker": mark, "markersize": 3, "linewidth": 1.2}
            upper.plot(places, [p["heldout"] for p in points], label=label, **look)
            lower.plot(places, [100 * p["penalty"] / p["value"] for p in points], label=label, **look)
        plain = record["plain_heldout"]
        if 2 * least - most <= plain <= 2 * most - least:  # else it would flatten the others
            upper.axhline(plain, color=GREEN, linestyle="--", linewidth=1.2, label="plain features")
        upper.set_title(f"{record['bits']} bits, ridge {record['ridge']:g}; plain features {plain:.2f}", fontsize=9)
        for axis in (upper, lower):
            axis.set_xscale("log")
            _mark_ends(axis, low, high)
        lower.set_xlabel("β", fontsize=9)
    axes[0, 0].set_ylabel("score on unseen lists", fontsize=9)
    axes[1, 0].set_ylabel("penalty, % of the objective", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    write_figure(figure, path, dpi=110)


def _mark_ends(axis: Any, low: float, high: float) -> None:
    """Name the ends of a logarithmic axis, where 0 and ∞ are drawn."""
    first, last = math.ceil(math.log10(low)) + 1, math.floor(math.log10(high)) - 1
    step = max(1, -(-(last - first + 1) // 4))
    inner = [10.0**k for k in range(first, last + 1, step)]
    labels = [f"$10^{{{k}}}$" for k in range(first, last + 1, step)]
    axis.set_xticks([low, *inner, high], ["0", *labels, "∞"], fontsize=8)
    axis.minorticks_off()
    axis.tick_params(labelsize=8)
