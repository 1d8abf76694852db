"""The turns of a tuning loop as a table, for the terminal and for a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.report.console import stack, table
from luthier.tuning.iterations import LoopResult

COLUMNS = ("turn", "hypotheses", "new", "all lists", "decoded", "before", "after", "change of w", "held out")


def loop_tables(result: LoopResult, written: Sequence[str]) -> Any:
    """Return the turns with their times, why the loop ended, and the answer."""
    answer = table("weights", ("feature", "start", "answer"), _weight_rows(result))
    return stack(loop_turns(result), answer, table("written", ("file",), [(path,) for path in written]))


def loop_turns(result: LoopResult) -> Any:
    """Return the turns with their times, and why the loop ended."""
    times = [
        tuple(None if part is None else f"{part:.1f}" for part in (took.decode, took.tune, took.heldout))
        for took in result.seconds
    ]
    return table(
        f"tuning loop: {result.tuner}",
        (*COLUMNS, "decode s", "tune s", "held out s"),
        [(*row, *took) for row, took in zip(loop_rows(result), [(None,) * 3, *times], strict=True)],
        caption=f"{result.metric}\n{ending(result)}",
    )


def loop_markdown(result: LoopResult) -> str:
    """Return the turns as Markdown, without times: the same loop gives the same text."""
    lines = [COLUMNS, ("---:",) * len(COLUMNS), *loop_rows(result)]
    text = "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines)
    return f"{text}\n\n{result.metric}\n\n{ending(result)}\n"


def loop_rows(result: LoopResult) -> list[tuple[Any, ...]]:
    """Return a row for the start and one for each turn; scores with two digits."""
    start = (0, *(None,) * 7, _score(result.start_heldout))
    turns = [
        (
            turn.number, turn.hypotheses, turn.new, turn.merged, _score(turn.decoded), _score(turn.before),
            _score(turn.after), f"{turn.change:.4f}", _score(turn.heldout),
        )
        for turn in result.iterations
    ]  # fmt: skip
    return [start, *turns]


def ending(result: LoopResult) -> str:
    """Return why the loop ended and whose weights are the answer."""
    whose = "the start" if result.chosen == 0 else f"turn {result.chosen}"
    return f"The loop ended: {result.ended}. The answer is the weights of {whose}."


def _weight_rows(result: LoopResult) -> list[tuple[Any, ...]]:
    largest = sorted(result.weights, key=lambda name: -abs(result.weights[name]))[:20]
    return [(name, result.start.get(name), result.weights[name]) for name in largest]


def _score(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"
