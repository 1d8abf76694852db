"""Tables for the terminal, from rows of plain values."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from luthier.core.errors import printable
from luthier.report.table_files import Sheet

FEW = 20  # sentences, below which a bootstrap says little


class _Console(Console):
    """A console that leaves it to the door what to do when whoever reads has gone."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def show(renderable: Any) -> None:
    """Print a table, a text or several of them to standard output; with NO_COLOR, without any style."""
    width = shutil.get_terminal_size((80, 24)).columns  # what COLUMNS says, the terminal has, or a pipe is given
    # rich would leave out colours alone and keep what is bold
    colors: Any = None if os.environ.get("NO_COLOR") else "auto"
    plain = isinstance(renderable, str)
    console = _Console(width=width, highlight=False, markup=False, emoji=False, color_system=colors, soft_wrap=plain)
    console.print(as_text(renderable) if plain else renderable, crop=False)


def as_text(content: str) -> Text:
    """Return a text as it is: names in it may look like markup, or hold what a terminal would act upon.

    Its lines stay whole, whatever the width: there are signatures among them.
    """
    return Text(printable(content), no_wrap=True, overflow="ignore")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, caption: str = "") -> Any:
    """Return a table; numbers are set to the right, None is left empty."""
    numeric = tuple(
        all(isinstance(row[c], int | float | None) or _looks_numeric(row[c]) for row in rows)
        for c in range(len(columns))
    )
    cells = tuple(tuple(printable(cell(value)) for value in row) for row in rows)
    sheet = Sheet(printable(title), tuple(printable(column) for column in columns), cells, numeric)
    return Group(sheet, as_text(caption)) if caption else sheet


def stack(*parts: Any) -> Group:
    """Return several renderables below one another."""
    return Group(*parts)


def cell(value: Any) -> str:
    """Return a value as text: integers with thin groups, floats to five significant digits.

    >>> cell(1234567), cell(0.123456789), cell(None), cell(True)
    ('1,234,567', '0.12346', '', 'yes')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def decimals_for(scores: Iterable[float | None], usual: int = 2) -> int:
    """Return how many digits behind the point show scores: the `usual` number, more where all are small.

    Metrics of this package are per cent. Scores that came with the lists (COMET) may be between 0 and 1.

    >>> decimals_for([41.97, 42.69]), decimals_for([0.8412, 0.85]), decimals_for([0.0, 0.0])
    (2, 4, 2)
    """
    largest = max((abs(score) for score in scores if score is not None), default=0.0)
    return usual if largest == 0 or largest > 1.5 else usual + 2


def _looks_numeric(value: Any) -> bool:
    text = str(value).rstrip("%").replace(",", "")
    try:
        float(text)
    except ValueError:
        return False
    return True
