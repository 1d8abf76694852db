"""Tables and a figure of conditions: what each reached, what was chosen and by what, and how loops went."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from luthier.evaluation.comparison import Difference
from luthier.report.figure_style import line_looks, make_panels, write_figure

from .base import difference_cells, markdown


@dataclasses.dataclass(frozen=True)
class Setting:
    """A condition with what was chosen for it: bits of bins (0 for none) and parameters of the tuner, as a text."""

    condition: str
    bits: int
    values: str


@dataclasses.dataclass(frozen=True)
class ConditionResult:
    """The loops of one setting that have ended.

    Attributes
    ----------
    features : int
    scores : on the test sentences, by replica
    decoded : for each replica the score of the decoder's choice on the tuning sentences, turn by turn
    wanted : replicas of the study
    s_opt : standard deviation of `scores`, None for fewer than two
    against : baseline → difference, where that has ended too
    seconds : mean of a loop, decoding and tuning
    together : the most loops at a time among these
    """

    setting: Setting
    features: int
    scores: tuple[float, ...]
    decoded: tuple[tuple[float, ...], ...]
    wanted: int
    s_opt: float | None
    against: Mapping[str, Difference]
    seconds: tuple[float, float]
    together: int

    @property
    def mean(self) -> float:
        """The mean score."""
        return sum(self.scores) / len(self.scores)


@dataclasses.dataclass(frozen=True)
class Tries:
    """The points that were tried for a condition, in the order of the file: setting, features, tuned and held-out."""

    condition: str
    points: tuple[tuple[Setting, int, float, float], ...]
    best: Setting


@dataclasses.dataclass(frozen=True)
class ConditionTables:
    """All that the tables of one data set show.

    Attributes
    ----------
    metric : its name and signature
    main : a result for each condition, None where no loop has ended
    baselines : whom they are compared with
    tries : what choices were made among, and what conditions without one reach on the same lists
    longer : loops with more turns, each after the one that it continues
    """

    data: str
    metric: tuple[str, str]
    main: Mapping[str, ConditionResult | None]
    baselines: tuple[str, ...]
    tries: tuple[Tries, ...]
    longer: tuple[ConditionResult, ...] = ()


def table_parts(tables: ConditionTables) -> Iterator[str]:
    """Yield the tables of a data set."""
    label, signature = tables.metric
    yield f"## {tables.data}\n"
    yield f"Metric: {label}, `{signature}`. Every loop that the tables count has ended.\n"
    yield f"### Conditions on the test sentences\n\n{main_table(tables)}"
    for baseline in tables.baselines[1:]:
        if tables.main.get(baseline) is not None:
            yield f"### Differences from {baseline}\n\n{differences_table(tables, baseline)}"
    if tables.longer:
        yield f"### More turns\n\n{longer_table(tables.longer)}"
    yield f"### Scores on the tuning sentences, turn by turn\n\n{turns_table(tables)}"
    if tables.tries:
        yield (
            "### What was chosen among\n\nBy re-ranking lists of pairs that were held out, without decoding; the score "
            "of the best of many points flatters it.\n"
        )
        yield from (f"{tries_table(tries)}" for tries in tables.tries)


def main_table(tables: ConditionTables) -> str:
    """Return the conditions with their means, spreads and differences from the first baseline."""
    first = tables.baselines[:1]
    head = ["condition", "bits", "chosen", "features", "replicas", tables.metric[0], "s_opt"]
    head += [cell for baseline in first for cell in _difference_head(baseline)]
    head += ["s to decode", "s to tune"]
    rows = [_main_row(name, result, first) for name, result in tables.main.items()]
    note = (
        "Means over replicas; s_opt: standard deviation over them. Δ: difference of the means. Intervals by "
        "paired bootstrap over sentences, and over replicas where a condition has three. p by approximate "
        "randomisation of whole systems by sentence: about these runs. Seconds of a loop, all turns"
    )
    if tables.tries:
        note = f"Bits and parameters were chosen by re-ranking, see below. {note}"
    together = max((result.together for result in tables.main.values() if result is not None), default=1)
    note += f"; some ran up to {together} at a time, which makes them longer.\n" if together > 1 else ".\n"
    return f"{markdown(head, rows, range(3))}\n{note}"


def _difference_head(baseline: str) -> list[str]:
    return [f"Δ {baseline}", "95 % interval", "p (these runs)"]


def differences_table(tables: ConditionTables, baseline: str) -> str:
    """Return how the others differ from a baseline that is not the first."""
    found = {name: result.against.get(baseline) for name, result in tables.main.items() if result is not None}
    rows = [[name, *difference_cells(difference)] for name, difference in found.items() if difference is not None]
    return markdown(["condition", *_difference_head(baseline)], rows, range(1))


def _main_row(name: str, result: ConditionResult | None, baselines: Sequence[str]) -> list[str]:
    if result is None:
        return [name, *["–"] * (8 + 3 * len(baselines))]
    cells = [*_setting(result.setting), f"{result.features:,}", f"{len(result.scores)} of {result.wanted}"]
    cells += [f"{result.mean:.2f}", _spread(result)]
    for baseline in baselines:
        cells += difference_cells(result.against.get(baseline))
    return [*cells, *(f"{seconds:.0f}" for seconds in result.seconds)]


def _setting(setting: Setting) -> list[str]:
    return [setting.condition, str(setting.bits) if setting.bits else "–", setting.values or "–"]


def _spread(result: ConditionResult) -> str:
    return "–" if result.s_opt is None else f"{result.s_opt:.2f}"


def longer_table(results: Sequence[ConditionResult]) -> str:
    """Return loops with more turns beside those they continue: the first replica."""
    rows = [
        [*_setting(r.setting), str(len(r.decoded[0])), f"{max(r.decoded[0]):.2f}", f"{r.decoded[0][-1]:.2f}",
         f"{r.scores[0]:.2f}"]
        for r in results
    ]  # fmt: skip
    return markdown(["condition", "bits", "values", "turns", "tuning, best", "tuning, last", "test"], rows, range(3))


def turns_table(tables: ConditionTables) -> str:
    """Return the decoder's own score on the tuning sentences by turn, and how much the last turn brought."""
    done = [result for result in tables.main.values() if result is not None]
    longest = max((len(turns) for result in done for turns in result.decoded), default=0)
    head = ["condition", *map(str, range(1, longest + 1)), "last turn"]
    rows = []
    for result in done:
        cells = []
        for turn in range(longest):
            seen = [turns[turn] for turns in result.decoded if len(turns) > turn]
            cells.append(f"{np.mean(seen):.2f}" if seen else "–")
        gains = [turns[-1] - turns[-2] for turns in result.decoded if len(turns) > 1]
        rows.append([result.setting.condition, *cells, f"{np.mean(gains):+.2f}" if gains else "–"])
    note = "Means over replicas. Turn 1 decodes with the weights of the start, turn n with those tuned in turn n − 1.\n"
    return f"{markdown(head, rows, range(1))}\n{note}"


def tries_table(tries: Tries) -> str:
    """Return what was tried for a condition, the chosen point marked."""
    rows = [
        [
            setting.condition,
            str(setting.bits),
            setting.values or "–",
            f"{features:,}",
            f"{tuned:.2f}",
            f"{heldout:.2f}",
            "chosen" if setting == tries.best else "",
        ]
        for setting, features, tuned, heldout in tries.points
    ]
    return markdown(["condition", "bits", "values", "features", "tuned", "held out", ""], rows, range(1))


def draw_turns(results: Sequence[ConditionResult], title: str, path: Path) -> None:
    """Draw a curve for each condition, the mean over its replicas, and the range of these."""
    from matplotlib.ticker import MaxNLocator

    figure, axis = make_panels(figsize=(8.6, 4.6), layout="constrained")
    for looks, result in zip(line_looks(), results, strict=False):
        length = min(map(len, result.decoded))
        scores = np.array([turns[:length] for turns in result.decoded])  # (R, turns)
        (line,) = axis.plot(
            np.arange(1, length + 1), scores.mean(axis=0), **looks, markersize=4, label=result.setting.condition
        )
        axis.fill_between(
            np.arange(1, length + 1), scores.min(axis=0), scores.max(axis=0), color=line.get_color(), alpha=0.15
        )
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("turn")
    axis.set_ylabel("decoded tuning sentences")
    axis.set_title(title, fontsize=10)
    axis.grid(visible=True, linewidth=0.3)
    figure.legend(fontsize=8, frameon=False, handlelength=3.5, loc="outside right center")  # dashes need the length
    write_figure(figure, path, dpi=110)
