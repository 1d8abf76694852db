"""A picture of the exact curve of a metric along a line of weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from luthier.landscape.lines.line_report import LineReport
from luthier.landscape.lines.stability import SHARE, LineStability
from luthier.report.figure_style import grid_of, make_figure, write_figure

CURVE, START, BEST = "#1f4e79", "#555555", "#c0392b"
REGION, TICKS = "#E69F00", "#a06f00"
# Without a window the picture shows the steps between these shares of all breakpoints.
SHOWN_SHARE = (0.05, 0.95)
PADDING = 0.05
INTERVALS_BESIDE = 40  # intervals on each side of the optimum that the second panel shows


def draw_line(report: LineReport, path: Path, width: float | None = None) -> None:
    """Draw the steps of the curve into a file."""
    write_figure(line_picture(report, width), path, dpi=110, width=width)


def line_picture(report: LineReport, width: float | None = None) -> Any:
    """Return a figure of the steps of the curve, all of it and from near; w0 and the optimum are marked."""
    ranges = [shown_range(report)]
    if len(report.scores) > 2 * INTERVALS_BESIDE:
        ranges.append(close_range(report))
    rows, columns = grid_of(len(ranges), width)
    figure = make_figure(figsize=(6.0 * columns, 4.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for axis, (left, right) in zip(panels.flat, ranges, strict=True):
        shown = _draw_steps(axis, report, left, right)
        axis.set_title(_title(report, shown), fontsize=10)
        axis.set_xlabel(report.axis.label)
        axis.grid(visible=True, linewidth=0.3)
        axis.margins(y=0.08)
    for axis in panels[:, 0]:
        axis.set_ylabel(report.problem.metric.name)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    return figure


def _draw_steps(axis: Any, report: LineReport, left: float, right: float) -> int:
    """Draw the curve between two offsets, `left` and `right`; return how many intervals that shows."""
    best, origin = report.optimum, report.axis.origin
    steps = np.concatenate([[left], report.low[(report.low > left) & (report.low < right)], [right]])
    scores = report.scores[np.maximum(0, np.searchsorted(report.low, steps[:-1], side="right") - 1)]
    axis.step(steps + origin, np.append(scores, scores[-1]), where="post", color=CURVE, linewidth=1.1)
    axis.set_xlim(left + origin, right + origin)
    if report.stability is not None:
        _draw_region(axis, report.stability, origin)
    axis.plot(
        best.position + origin,
        best.score,
        "o",
        color=BEST,
        markersize=6,
        zorder=4,
        label=f"optimum: {best.score:.2f} at {report.axis.kind} {best.position + origin:.4g}",
    )
    if left <= 0.0 <= right:
        axis.axvline(origin, color=START, linewidth=0.9, linestyle="--", zorder=0)
        axis.plot(
            origin, report.start_score, "s", color=START, markersize=6, zorder=3, label=f"w0: {report.start_score:.2f}"
        )
    return len(steps) - 1


def _draw_region(axis: Any, found: LineStability, origin: float) -> None:
    """Shade where the optima of most resamples are, with a tick for each of them at the foot."""
    low, high = (end + origin for end in found.region)
    label = f"{SHARE:.0%} of {len(found.position):,} resamples: {low:.4g} … {high:.4g}"
    axis.axvspan(low, high, color=REGION, alpha=0.22, linewidth=0, zorder=0, label=label)
    foot = axis.get_xaxis_transform()
    axis.plot(found.position + origin, np.full(len(found.position), 0.02), "|", color=TICKS, markersize=7,
              transform=foot, zorder=1)  # fmt: skip


def shown_range(report: LineReport) -> tuple[float, float]:
    """Return the ends of the picture: the window's, or where most steps are, w0 and the optimum among them."""
    breakpoints = report.low[np.isfinite(report.low)]
    marks = [0.0, report.optimum.position]
    if len(breakpoints):
        marks += np.quantile(breakpoints, SHOWN_SHARE).tolist()
    if report.stability is not None:
        marks += report.stability.region
    low, high = min(marks), max(marks)
    pad = PADDING * (high - low) or 1.0
    left, right = report.window
    return (left if np.isfinite(left) else low - pad), (right if np.isfinite(right) else high + pad)


def close_range(report: LineReport) -> tuple[float, float]:
    """Return a range of some intervals on each side of the optimum's, w0 among them if it is nearly there."""
    i = int(np.searchsorted(report.low, report.optimum.position, side="right")) - 1
    inner = report.low[max(1, i - INTERVALS_BESIDE) : i + INTERVALS_BESIDE + 2]
    left, right = float(inner[0]), float(inner[-1])
    width = right - left
    if left - width < 0.0 < right + width:
        left, right = min(left, -PADDING * width), max(right, PADDING * width)
    return left, right


def _title(report: LineReport, shown: int) -> str:
    every = len(report.scores)
    if every == 1:
        return "one interval"
    return f"all {every:,} intervals" if shown == every else f"{shown:,} of {every:,} intervals"
