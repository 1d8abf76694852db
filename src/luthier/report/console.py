"""Tables for the terminal, from rows of plain values."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from luthier.core.errors import printable

# A table that fits its page: texts fold between words, numbers stay whole, columns without room go below.

FRAME = 3  # what a column's border and padding take; one more border closes the table
NARROWEST = 12  # a text without spaces, such as a path, is broken where a column of this width ends


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A title, headings and cells as text; `right` says which columns are numbers, set to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table for rich to print, or its parts one below the other, each with the first column."""
        natural, least = self._widths()
        shown = list(range(len(natural)))
        if _total(natural) > options.max_width:  # what nothing is said in can be missed first
            shown = [c for c in shown if c == 0 or not self.rows or any(row[c] for row in self.rows)]
        if self.title:  # whole, however narrow the table is
            yield Text(self.title, style="table.title")
        for numbers in parts_of([least[c] for c in shown], options.max_width):
            part = [shown[k] for k in numbers]
            widths = shrunk([natural[c] for c in part], [least[c] for c in part], options.max_width)
            table = Table()
            for c, width in zip(part, widths, strict=True):
                justify: Any = "right" if self.right[c] else "left"
                table.add_column(Text(self.columns[c]), justify=justify, overflow="fold", width=width)
            for row in self.rows:
                table.add_row(*(Text(row[c]) for c in part))
            yield table

    def _widths(self) -> tuple[list[int], list[int]]:
        """Return how wide each column would like to be, and must be."""
        natural, least = [], []
        for c, heading in enumerate(self.columns):
            cells = [row[c] for row in self.rows]
            natural.append(max((cell_len(line) for text in (heading, *cells) for line in text.split("\n")), default=1))
            words = [cell_len(word) for text in (heading, *cells) for word in text.split()]
            whole = max((cell_len(text) for text in cells), default=1) if self.right[c] else 1
            least.append(max(whole, min(max(words, default=1), NARROWEST), 1))
        return natural, least


def _total(widths: Sequence[int]) -> int:
    return 1 + sum(width + FRAME for width in widths)


def parts_of(least: Sequence[int], width: int) -> list[list[int]]:
    """Return which columns stand beside each other in at most `width` characters; the first is in every part.

    >>> parts_of([10, 10, 10], 30), parts_of([5, 5], 80)
    ([[0, 1], [0, 2]], [[0, 1]])
    """
    parts: list[list[int]] = [[]]
    for c in range(len(least)):
        if len(parts[-1]) > 1 and _total([least[k] for k in (*parts[-1], c)]) > width:
            parts.append([0])
        parts[-1].append(c)
    return parts


def shrunk(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Return widths of columns that fit together into `width` characters, the widest shortened first.

    >>> shrunk([30, 10], [5, 10], 37), shrunk([3, 4], [3, 4], 80)
    ([20, 10], [3, 4])
    """
    widths = list(natural)
    over = _total(widths) - width
    while over > 0:
        spare = [k for k in range(len(widths)) if widths[k] > least[k]]
        if not spare:
            break
        widths[max(spare, key=lambda k: widths[k])] -= 1
        over -= 1
    return widths


FEW = 20  # sentences, below which a bootstrap says little


class _Console(Console):
    """A console that leaves it to the door what to do when whoever reads has gone; `verbose` shows fine print too."""

    verbose = True

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@dataclasses.dataclass(frozen=True)
class FinePrint:
    """What is shown on demand only: signatures, settings, legends, and numbers that few people need."""

    part: Any

    def __rich_console__(self, console: Console, _options: ConsoleOptions) -> RenderResult:
        """Yield it, or nothing."""
        if getattr(console, "verbose", True):
            yield self.part


def show(renderable: Any, *, verbose: bool = True) -> None:
    """Print a table, a text or several of them to standard output; with NO_COLOR, without any style."""
    width = shutil.get_terminal_size((80, 24)).columns  # what COLUMNS says, the terminal has, or a pipe is given
    # rich would leave out colours alone and keep what is bold
    colors: Any = None if os.environ.get("NO_COLOR") else "auto"
    plain = isinstance(renderable, str)
    console = _Console(width=width, highlight=False, markup=False, emoji=False, color_system=colors, soft_wrap=plain)
    console.verbose = verbose
    console.print(as_text(renderable) if plain else renderable, crop=False)


def as_text(content: str) -> Text:
    """Return a text as it is: names in it may look like markup, or hold what a terminal would act upon.

    Its lines stay whole, whatever the width: there are signatures among them.
    """
    return Text(printable(content), no_wrap=True, overflow="ignore")


def paragraph(content: str) -> Text:
    """Return sentences, which are broken between words where a line ends."""
    return Text(printable(content))


def written_text(paths: Sequence[str]) -> Any:
    """Return which files were written, in a line each."""
    return as_text("\n".join(f"written: {path}" for path in paths)) if paths else Group()


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, caption: str = "", legend: str = ""
) -> Any:
    """Return a table; numbers are set to the right, None is left empty. The legend below it is fine print."""
    numeric = tuple(
        all(isinstance(row[c], int | float | None) or _looks_numeric(row[c]) for row in rows)
        for c in range(len(columns))
    )
    cells = tuple(tuple(printable(cell(value)) for value in row) for row in rows)
    sheet = Sheet(printable(title), tuple(printable(column) for column in columns), cells, numeric)
    below: list[Any] = [*([as_text(caption)] if caption else []), *([FinePrint(as_text(legend))] if legend else [])]
    return Group(sheet, *below) if below else sheet


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


def code_of(signature: str) -> str:
    """Return a short code of a metric's signature: its name, and six digits of a digest of all its parameters.

    >>> code_of("bleu(order=4)|luthier:0.1.0")
    'bleu#31fea1'
    """
    name = re.match(r"\w+", signature)
    digest = hashlib.blake2b(signature.encode(), digest_size=3).hexdigest()
    return f"{name[0] if name else 'metric'}#{digest}"


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
