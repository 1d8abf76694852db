"""Colours that people tell apart who see red and green alike [okabe2008], and marks that tell lines apart without."""

from __future__ import annotations

from collections.abc import Iterator

BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442",
)  # fmt: skip
LINES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, "#555555")
MARKS = "osD^vPX"
DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", (0, (5, 2)), (0, (1, 1)))


def line_looks() -> Iterator[dict[str, object]]:
    """Yield looks of lines, no two alike: colours and marks in turn, dashed when all colours are used up."""
    number = 0
    while True:
        rounds, place = divmod(number, len(LINES))
        yield {"color": LINES[place], "marker": MARKS[place], "linestyle": DASHES[rounds % len(DASHES)]}
        number += 1
