"""The curve along a line as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from luthier.landscape.lines.lasting import Lasting
from luthier.landscape.lines.line_report import LineReport
from luthier.report.console import cell, stack, table


def line_tables(report: LineReport, written: Sequence[str], chosen: Lasting | None = None) -> Any:
    """Return what is on the line, the best intervals, the place that was chosen instead, and the files written."""
    best, check, metric, axis = report.optimum, report.check, report.problem.metric, report.axis
    rows = [
        ("intervals", cell(len(report.scores))),
        (f"score at w0, {axis.label} {axis.origin:.8g}", f"{report.start_score:.4f}"),
        ("best score", f"{best.score:.4f}"),
        (f"  at {axis.label}", f"{best.position + axis.origin:.8g}"),
        ("  on an interval of width", f"{best.width:.4g}"),
        ("re-ranked", f"{check.tried:,} intervals"),
        ("  selected what the curve says", cell(check.agreed)),
        ("  too narrow to represent", cell(check.narrow)),
        ("  disagreed", cell(check.wrong)),
    ]
    low, high = report.window
    ends = (
        "the whole line"
        if math.isinf(low) and math.isinf(high)
        else f"{axis.kind} {low + axis.origin:g} … {high + axis.origin:g}"
    )
    summary = table(f"along {report.line.names[0]}, {ends}", ("", ""), rows, caption=metric.signature)
    intervals = table(
        "best intervals",
        ("score", f"from {axis.kind}", f"to {axis.kind}", "width", "a place inside", "re-ranks to it"),
        [
            (
                f"{i.score:.4f}",
                *(f"{place + axis.origin:.8g}" for place in (i.low, i.high)),
                f"{i.width:.4g}",
                f"{i.position + axis.origin:.8g}",
                i.holds or "no",
            )
            for i in report.best
        ],
    )
    parts = [summary, intervals]
    if chosen is not None:
        rows = [
            (axis.label, f"{chosen.position + axis.origin:.8g}"),
            ("score", f"{chosen.score:.4f}"),
            ("mean under noise", f"{chosen.mean:.4f}"),
            ("worst within its deviation", f"{chosen.worst:.4f}"),
            ("room about it, in deviations", f"{chosen.radius:.4g}"),
        ]
        parts.append(table(f"chosen: {chosen.choice}, noise {chosen.noise:g} mean effects", ("", ""), rows))
    if written:
        parts.append(table("written", ("file",), [(path,) for path in written]))
    return stack(*parts)
