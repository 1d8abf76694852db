"""Tables and a figure of what each tuner reaches from the same starts, and what that is worth on unseen text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.report.figure_style import line_looks, make_panels, write_figure

from .base import markdown, mean_and_error

UNTUNED = -1  # number of the start that represents the weights about which starts are drawn
COLUMNS = 2
MARKED = 12  # of a curve's points


@dataclasses.dataclass(frozen=True)
class Reached:
    """One tuner on one metric from one start, on the tuning lists and on the test lists.

    Attributes
    ----------
    gain, start_gain : float
        At the end and at the start; more is better.
    test : scores on the test lists, by metric
    """

    metric: str
    tuner: str
    start: int
    gain: float
    start_gain: float
    higher_is_better: bool
    steps: int = 0
    cpu_seconds: float = 0.0
    test: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Reached:
        """Return what a line of units.jsonl says."""
        return cls(**{field.name: record[field.name] for field in dataclasses.fields(cls)})

    @property
    def score(self) -> float:
        """The score at the end."""
        return self.gain if self.higher_is_better else -self.gain

    @property
    def start_score(self) -> float:
        """The score at the start."""
        return self.start_gain if self.higher_is_better else -self.start_gain


def table_parts(label: str, units: Sequence[Reached], chosen: str) -> list[str]:
    """Return the tables of a data set; `chosen` is the metric whose best weights are tested."""
    return [
        f"## {label}\n\n{starts_table(units)}",
        f"At equal CPU time:\n\n{equal_time_table(units)}",
        f"The best weights for {chosen}, on unseen lists:\n\n{unseen_table(units, chosen)}",
    ]


def starts_table(units: Sequence[Reached]) -> str:
    """Return metric × tuner: final scores over all starts, how often a tuner is the best, and its times."""
    rows = []
    for metric in _names(r.metric for r in units):
        own = [r for r in units if r.metric == metric]
        finals = {t: _by_start([r for r in own if r.tuner == t]) for t in _tuners(own)}
        wins = _wins(finals)
        for tuner, gains in finals.items():
            records = [r for r in own if r.tuner == tuner]
            scores = np.array([r.score for r in records])
            best = scores.max() if records[0].higher_is_better else scores.min()
            worst = scores.min() if records[0].higher_is_better else scores.max()
            cpu = np.array([r.cpu_seconds for r in records])
            steps = np.mean([r.steps for r in records])
            begin = np.mean([r.start_score for r in records])
            rows.append(
                f"| {metric} | {tuner} | {len(gains)} | {begin:.2f} | {scores.mean():.2f} | {scores.std(ddof=0):.2f} | "
                f"{worst:.2f} | {best:.2f} | {wins[tuner]:.0%} | {steps:.0f} | {cpu.mean():.3f} | {cpu.sum():.1f} |"
            )
    head = (
        "| metric | tuner | starts | mean at start | mean at end | s.d. | worst | best | wins | steps | CPU s "
        "| all CPU s |\n"
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"
    )
    note = "\nwins: of all starts, the share from which this tuner ends highest (ties are shared).\n"
    return head + "\n".join(rows) + "\n" + note


def equal_time_table(units: Sequence[Reached]) -> str:
    """Return metric × tuner: the best of as many starts as fit into the time that the quickest tuner takes for all."""
    rows = []
    for metric in _names(r.metric for r in units):
        own = {t: [r for r in units if (r.metric, r.tuner) == (metric, t)] for t in _tuners(units)}
        spent = {t: math.fsum(r.cpu_seconds for r in records) for t, records in own.items() if records}
        budget = min(spent.values(), default=0.0)
        for tuner, seconds in spent.items():
            records = own[tuner]
            fit = max(1, int(len(records) * (budget / seconds if seconds > 0 else 1.0) + 1e-9))
            best = expected_best([r.gain for r in records], fit)
            score = best if records[0].higher_is_better else -best
            rows.append(f"| {metric} | {tuner} | {budget:.1f} | {fit} of {len(records)} | {score:.2f} |")
    head = "| metric | tuner | CPU s | starts | expected best |\n| --- | --- | --: | --: | --: |\n"
    note = "\nCPU s: of the quickest tuner, all starts. expected best: over all choices of so many of its starts.\n"
    return head + "\n".join(rows) + "\n" + note


def expected_best(gains: Sequence[float], n: int) -> float:
    """Return the expected greatest of n numbers drawn without replacement.

    Of N numbers in descending order the i-th, from 0, is the greatest with probability C(N−1−i, n−1) / C(N, n).

    >>> round(expected_best([1.0, 2.0, 3.0], 2), 6)
    2.666667
    """
    ordered: Float64 = np.sort(np.array(gains))[::-1]
    left = len(ordered) - np.arange(len(ordered) - 1)  # the i-th and those after it
    chances = np.cumprod(np.append(n / len(ordered), np.maximum(left - n, 0) / np.maximum(left - 1, 1)))
    return float(ordered @ chances)


def unseen_table(units: Sequence[Reached], metric: str) -> str:
    """Return for each tuner the test scores of the weights that were best for `metric`, and means over starts."""
    own = [r for r in units if r.metric == metric]
    names = list(own[0].test) if own else []
    rows = []
    for record in [r for r in own if r.start == UNTUNED]:
        cells = " | ".join(f"{record.test[name]:.2f}" for name in names)
        rows.append(f"| {record.tuner} | {record.score:.2f} | {cells} |{' |' * len(names)}")
    for tuner in _tuners(own):
        records = [r for r in own if r.tuner == tuner]
        best = max(records, key=lambda r: (r.gain, -r.start))
        cells = " | ".join(f"{best.test[name]:.2f}" for name in names)
        means = " | ".join(_mean([r.test[name] for r in records]) for name in names)
        rows.append(f"| {tuner}, start {best.start} | {best.score:.2f} | {cells} | {means} |")
    head = ["weights", "tuning", *(f"test {name}" for name in names), *(f"mean {name}" for name in names)]
    lines = [f"| {' | '.join(head)} |", f"| --- {'| --: ' * (len(head) - 1)}|", *rows]
    return "\n".join(lines) + "\n\nmean: over all starts, ± one standard deviation.\n"


def together_table(sets: Sequence[Sequence[Reached]]) -> str:
    """Return metric × tuner: differences over several data sets, each of which counts once.

    "X, changed" is compared with "X", any other tuner with the first.
    """
    tests = _names(name for units in sets for r in units for name in r.test)
    rows = []
    for metric in _names(r.metric for units in sets for r in units):
        means = [_mean_scores([r for r in units if r.metric == metric], tests) for units in sets]
        names = _names(tuner for found in means for tuner in found)
        for tuner in names[1:]:
            base = next((name for name in names if tuner.startswith(f"{name}, ")), names[0])
            both = [(found[base], found[tuner]) for found in means if base in found and tuner in found]
            if len(both) > 1:
                changes = np.array([own - before for before, own in both])  # (sets, 1 + tests)
                rows.append([metric, tuner, base, str(len(both)), *map(mean_and_error, changes.T.tolist())])
    head = ["metric", "tuner", "compared with", "data sets", "at end", *(f"test {name}" for name in tests)]
    note = "\nDifferences of two tuners: means over data sets, each a mean over all starts, ± their standard error.\n"
    return markdown(head, rows, {0, 1, 2}) + note


def _mean_scores(units: Sequence[Reached], tests: Sequence[str]) -> dict[str, Float64]:
    """Return for each tuner its means over all starts: at the end, and by each test, (1 + tests,)."""
    found: dict[str, Float64] = {}
    for tuner in _tuners(units):
        scores = [[r.score, *(r.test[name] for name in tests)] for r in units if r.tuner == tuner]
        found[tuner] = np.mean(scores, axis=0)
    return found


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def _names(names: Iterable[str]) -> list[str]:
    """Return each name once, in the order they come."""
    return list(dict.fromkeys(names))


def _tuners(units: Sequence[Reached]) -> list[str]:
    return _names(r.tuner for r in units if r.start != UNTUNED)


def _by_start(records: Sequence[Reached]) -> dict[int, float]:
    return {r.start: r.gain for r in records}


def _wins(finals: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    """Return each tuner's share of the starts that all tuners have, ties divided among the winners."""
    common = sorted(set.intersection(*(set(gains) for gains in finals.values()))) if finals else []
    if not common:
        return dict.fromkeys(finals, 0.0)
    table: Float64 = np.array([[gains[s] for s in common] for gains in finals.values()])  # (T, starts)
    top = table >= table.max(axis=0) - 1e-9
    shares = (top / top.sum(axis=0)).mean(axis=1)
    return dict(zip(finals, shares.tolist(), strict=True))


def draw_starts(units: Sequence[Reached], title: str, path: Path) -> None:
    """Draw the final score from each start, every curve in order of its own scores, the better the higher up."""
    metrics = list(dict.fromkeys(r.metric for r in units))
    tuners = dict.fromkeys(r.tuner for r in units if r.start != UNTUNED)
    looks = dict(zip(tuners, line_looks(), strict=False))  # a tuner looks the same in all panels
    rows = -(-len(metrics) // COLUMNS)
    figure, axes = make_panels(rows, COLUMNS, figsize=(11, 3.6 * rows + 0.8), squeeze=False, layout="constrained")
    for axis, metric in zip(axes.flat, metrics, strict=False):
        own = [r for r in units if r.metric == metric]
        _draw_panel(axis, [r for r in own if r.start != UNTUNED], looks)
        axis.set_title(f"{metric}\n{_beginnings(own)}", fontsize=9)
        axis.set_xlabel("starts, sorted by the score at the end", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(visible=True, linewidth=0.3)
        if not own[0].higher_is_better:
            axis.invert_yaxis()
    for axis in axes.flat[len(metrics) :]:
        axis.set_visible(False)
    drawn = {line.get_label(): line for axis in axes.flat[: len(metrics)] for line in axis.lines}
    shown = [drawn[tuner] for tuner in looks if tuner in drawn]
    figure.legend(handles=shown, loc="outside lower center", ncols=6, fontsize=9, frameon=False)
    figure.suptitle(title, fontsize=11)
    write_figure(figure, path, dpi=110)


def _beginnings(units: Sequence[Reached]) -> str:
    """Return what there was before tuning, as words."""
    untuned = [f"before tuning {r.score:.2f}" for r in units if r.start == UNTUNED]
    begin = [r.start_score for r in units if r.start != UNTUNED]
    return ", ".join([*untuned, *([f"mean of the starts {np.mean(begin):.2f}"] if begin else [])])


def _draw_panel(axis: Any, units: Sequence[Reached], looks: Mapping[str, Mapping[str, Any]]) -> None:
    for tuner in dict.fromkeys(r.tuner for r in units):
        own = sorted((r for r in units if r.tuner == tuner), key=lambda r: r.gain)
        axis.plot(
            np.arange(len(own)),
            [r.score for r in own],
            **looks.get(tuner, {}),
            markersize=4,
            markevery=1 + len(own) // MARKED,
            linewidth=1.5,
            label=tuner,
        )
