"""The curve along a line as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from luthier.report.console import cell, stack, table


class Interval(Protocol):
    """One interval of the line."""

    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102
    @property
    def width(self) -> float: ...  # noqa: D102
    @property
    def position(self) -> float: ...  # noqa: D102
    @property
    def score(self) -> float: ...  # noqa: D102
    @property
    def holds(self) -> bool: ...  # noqa: D102


class Report(Protocol):
    """What the tables need."""

    @property
    def best(self) -> Sequence[Interval]: ...  # noqa: D102
    @property
    def optimum(self) -> Interval: ...  # noqa: D102
    @property
    def start_score(self) -> float: ...  # noqa: D102
    def as_dict(self) -> dict[str, Any]: ...  # noqa: D102


def line_tables(report: Report, written: Sequence[str]) -> Any:
    """Return what is on the line, the best intervals, and the files written."""
    about, best = report.as_dict(), report.optimum
    check = about["check"]
    rows = [
        ("intervals", cell(about["intervals"])),
        ("score at t = 0", f"{report.start_score:.4f}"),
        ("best score", f"{best.score:.4f}"),
        ("  at t", f"{best.position:.8g}"),
        ("  on an interval of width", f"{best.width:.4g}"),
        ("re-ranked", f"{check['tried']:,} intervals"),
        ("  selected what the curve says", cell(check["agreed"])),
        ("  too narrow to represent", cell(check["narrow"])),
        ("  disagreed", cell(check["wrong"])),
    ]
    ends = "the whole line" if about["window"] == [None, None] else f"t in {_window(about['window'])}"
    summary = table(f"along {about['axis']}, {ends}", ("", ""), rows, caption=about["metric"])
    intervals = table(
        "best intervals",
        ("score", "from t", "to t", "width", "a place inside", "re-ranks to it"),
        [
            (f"{i.score:.4f}", f"{i.low:.8g}", f"{i.high:.8g}", f"{i.width:.4g}", f"{i.position:.8g}", i.holds or "no")
            for i in report.best
        ],
    )
    parts = [summary, intervals]
    if written:
        parts.append(table("written", ("file",), [(path,) for path in written]))
    return stack(*parts)


def _window(window: Sequence[float | None]) -> str:
    low, high = (-math.inf if window[0] is None else window[0], math.inf if window[1] is None else window[1])
    return f"{low:g} … {high:g}"
