"""Tables of tuners in loops: what each reached on the tuning sentences, its price, and the test."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from luthier.evaluation.comparison import Difference

from .base import difference_cells, markdown


@dataclasses.dataclass(frozen=True)
class TunerLoop:
    """One loop of one tuner for one metric.

    Attributes
    ----------
    starts : in every turn
    decoded, tuned : by turn, the score of the decoder's own choice and that on all lists, tuned
    hypotheses : on all lists
    tune_cpu : CPU seconds of tuning, all turns
    before, after : test scores with the weights of the start and of the end, by metric
    against : differences from the baseline on the test sentences, by metric; none of the baseline itself
    """

    metric: str
    tuner: str
    starts: int
    decoded: tuple[float, ...]
    tuned: tuple[float, ...]
    hypotheses: int
    tune_cpu: float
    ended: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    against: Mapping[str, Difference]


@dataclasses.dataclass(frozen=True)
class TunerLoopTables:
    """All that the tables of one data set show.

    Attributes
    ----------
    size : sentences to tune on, hypotheses of each in a turn, features
    baseline : the tuner that others are compared with
    loops : in the order of the study
    """

    data: str
    size: tuple[int, int, int]
    baseline: str
    loops: tuple[TunerLoop, ...]


def table_parts(tables: TunerLoopTables) -> list[str]:
    """Return the tables of a data set."""
    sentences, k, features = tables.size
    return [
        f"## {tables.data}\n\n{sentences:,} sentences to tune on, {k}-best lists in every turn, {features} "
        "features. Every loop that the tables count has ended.\n",
        f"### On the tuning sentences\n\n{tuning_table(tables)}",
        f"### On the test sentences\n\n{test_table(tables)}",
    ]


def tuning_table(tables: TunerLoopTables) -> str:
    """Return metric × tuner: scores at the first and the last decoding and on all lists, turns and CPU time."""
    head = [
        "tuned for",
        "tuner",
        "starts",
        "turns",
        "hypotheses",
        "first decoding",
        "last decoding",
        "all lists",
        "CPU s to tune",
        "a start",
        "ended",
    ]
    rows = []
    for loop in tables.loops:
        tuned_turns = max(len(loop.decoded), 1)
        rows.append(
            [
                loop.metric,
                loop.tuner,
                str(loop.starts),
                str(len(loop.decoded)),
                f"{loop.hypotheses:,}",
                f"{loop.decoded[0]:.2f}",
                f"{loop.decoded[-1]:.2f}",
                f"{loop.tuned[-1]:.2f}",
                f"{loop.tune_cpu:.0f}",
                f"{loop.tune_cpu / (tuned_turns * loop.starts):.3f}",
                loop.ended,
            ]
        )
    note = (
        "\nfirst decoding: with the weights of the start; last: with those tuned in the turn before. all lists: tuned, "
        "on the lists of all turns together, which differ from tuner to tuner. a start: CPU seconds of one start in "
        "one turn.\n"
    )
    return markdown(head, rows, {0, 1, len(head) - 1}) + note


def test_table(tables: TunerLoopTables) -> str:
    """Return metric × tuner: test scores, and how they differ from the baseline's."""
    names = list(dict.fromkeys(name for loop in tables.loops for name in loop.after))
    head = ["tuned for", "tuner", *(cell for name in names for cell in (name, "Δ", "95 % interval", "p (these runs)"))]
    rows, seen = [], set[str]()
    for loop in tables.loops:
        if loop.metric not in seen:
            seen.add(loop.metric)
            rows.append([loop.metric, "no tuning", *_cells(loop.before, {}, names)])
        rows.append([loop.metric, loop.tuner, *_cells(loop.after, loop.against, names)])
    note = (
        f"\nΔ: less {tables.baseline}. Intervals by paired bootstrap over sentences, p by approximate randomisation: "
        "of one loop each, not of what another seed would give.\n"
    )
    return markdown(head, rows, {0, 1}) + note


def _cells(scores: Mapping[str, float], against: Mapping[str, Difference], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield f"{scores[name]:.2f}" if name in scores else "–"
        yield from difference_cells(against.get(name))
