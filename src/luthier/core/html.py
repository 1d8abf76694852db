"""Results in a notebook: small tables and bars as HTML, in the colours of the page they stand on, light or dark."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

CELL = "padding:0.15em 0.7em;border-bottom:1px solid currentColor;border-color:rgba(127,127,127,.35)"
TABLE = "border-collapse:collapse;margin:0.3em 0;color:inherit;font-size:inherit"
BAR = "display:inline-block;height:0.7em;vertical-align:baseline;background:#0072B2"  # seen on white and on black
NEGATIVE = "#D55E00"
BAR_EM = 8.0
MOST_ROWS, MOST_TEXT = 20, 200


def as_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, note: str = "") -> str:
    """Return a table; numbers are set to the right, the first rows of many are shown.

    >>> as_table("a", ("b",), [("<c>",)]).count("&lt;c&gt;")
    1
    """
    heads = "".join(f"<th style='text-align:left;{CELL}'>{_text(column)}</th>" for column in columns)
    lines = ["".join(_cell(value) for value in row) for row in rows[:MOST_ROWS]]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    left = len(rows) - MOST_ROWS
    notes = [note] * bool(note) + [f"{left:,} more rows"] * (left > 0)
    below = "".join(f"<div style='font-size:90%;opacity:.8'>{_text(one)}</div>" for one in notes)
    inside = f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>"
    table = f"<table style='{TABLE}'>{inside}</table>" if columns else ""
    return f"<div><strong>{_text(title)}</strong>{table}{below}</div>"


class Raw(str):
    """HTML that is put into a cell as it is."""


def bar(value: float, largest: float) -> Raw:
    """Return a bar whose length says how large a number is beside the largest; below zero it has another colour."""
    width = BAR_EM * abs(value) / largest if largest > 0 else 0.0
    color = f";background:{NEGATIVE}" if value < 0 else ""
    return Raw(f"<span style='{BAR}{color};width:{width:.2f}em'></span>")


class Shown:
    """A result that shows itself in a notebook by what `as_dict` has: numbers in a table, the rest folded away."""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return of_mapping(type(self).__name__, self.as_dict())


def of_mapping(title: str, about: Mapping[str, Any]) -> str:
    """Return a mapping as a table of its numbers and words; mappings and lists inside it unfold on a click."""
    plain = [(name, value) for name, value in about.items() if not isinstance(value, Mapping | list | tuple)]
    parts = [as_table(title, ("", ""), [(name, value) for name, value in plain if value is not None])]
    for name, value in about.items():
        if isinstance(value, Mapping) and value:
            inside = of_mapping("", value)
        elif isinstance(value, list | tuple) and value:
            inside = _of_sequence(value)
        else:
            continue
        count = f"{len(value):,}"
        parts.append(f"<details><summary>{_text(name)} ({count})</summary>{inside}</details>")
    return "".join(parts)


def _of_sequence(values: Sequence[Any]) -> str:
    first = values[0]
    if isinstance(first, Mapping):
        names = [name for name, value in first.items() if not isinstance(value, Mapping | list | tuple)]
        return as_table("", names, [[row.get(name) for name in names] for row in values if isinstance(row, Mapping)])
    return as_table("", ("",), [(str(value)[:MOST_TEXT],) for value in values])


def _cell(value: Any) -> str:
    if isinstance(value, Raw):
        return f"<td style='{CELL}'>{value}</td>"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:,}" if isinstance(value, int) and number else f"{value:.4g}" if number else _text(value)
    align = "right;font-variant-numeric:tabular-nums" if number else "left"
    return f"<td style='text-align:{align};{CELL}'>{text}</td>"


def _text(value: Any) -> str:
    said = "" if value is None else str(value)
    return html.escape(said if len(said) <= MOST_TEXT else said[:MOST_TEXT] + " …")
