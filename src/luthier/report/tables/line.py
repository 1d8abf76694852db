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
    best, check, metric = report.optimum, report.check, report.problem.metric
    rows = [
        ("intervals", cell(len(report.scores))),
        ("score at t = 0", f"{report.start_score:.4f}"),
        ("best score", f"{best.score:.4f}"),
        ("  at t", f"{best.position:.8g}"),
        ("  on an interval of width", f"{best.width:.4g}"),
        ("re-ranked", f"{check.tried:,} intervals"),
        ("  selected what the curve says", cell(check.agreed)),
        ("  too narrow to represent", cell(check.narrow)),
        ("  disagreed", cell(check.wrong)),
    ]
    low, high = report.window
    ends = "the whole line" if math.isinf(low) and math.isinf(high) else f"t in {low:g} … {high:g}"
    summary = table(f"along {report.line.names[0]}, {ends}", ("", ""), rows, caption=metric.signature)
    intervals = table(
        "best intervals",
        ("score", "from t", "to t", "width", "a place inside", "re-ranks to it"),
        [
            (f"{i.score:.4f}", f"{i.low:.8g}", f"{i.high:.8g}", f"{i.width:.4g}", f"{i.position:.8g}", i.holds or "no")
            for i in report.best
        ],
    )
    parts = [summary, intervals]
    if chosen is not None:
        rows = [
            ("t", f"{chosen.position:.8g}"),
            ("score", f"{chosen.score:.4f}"),
            ("mean under noise", f"{chosen.mean:.4f}"),
            ("worst within its deviation", f"{chosen.worst:.4f}"),
            ("room about it, in deviations", f"{chosen.radius:.4g}"),
        ]
        parts.append(table(f"chosen: {chosen.choice}, noise {chosen.noise:g} mean effects", ("", ""), rows))
    if written:
        parts.append(table("written", ("file",), [(path,) for path in written]))
    return stack(*parts)
