"""Tables of tuners in loops: what each reached on the tuning sentences, its price, and the test."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from luthier.evaluation.comparison import Difference

from .base import between, difference_cells, markdown, mean_and_error


@dataclasses.dataclass(frozen=True)
class LoopRun:
    """One loop.

    Attributes
    ----------
    decoded, tuned : by turn, the score of the decoder's own choice and that on all lists, tuned
    hypotheses : on all lists
    tune_cpu, cpu_seconds : CPU seconds of tuning, and of all, all turns
    """

    decoded: tuple[float, ...]
    tuned: tuple[float, ...]
    hypotheses: int
    tune_cpu: float
    cpu_seconds: float
    ended: str
    higher_is_better: bool

    @property
    def best(self) -> float:
        """The best of all decodings."""
        return max(self.decoded) if self.higher_is_better else min(self.decoded)

    @property
    def astray(self) -> int:
        """How many turns decoded worse than the start."""
        sign = 1.0 if self.higher_is_better else -1.0
        return sum(sign * score < sign * self.decoded[0] for score in self.decoded[1:])


@dataclasses.dataclass(frozen=True)
class TunerLoops:
    """The loops of one tuner for one metric, one for each replica.

    Attributes
    ----------
    starts : in every turn
    before, after : test scores of each replica with the weights of the start and of the end, by metric
    baseline : the tuner that it is compared with
    against : differences from that on the test sentences, by metric; none of the baseline itself
    """

    metric: str
    tuner: str
    starts: int
    runs: tuple[LoopRun, ...]
    before: Mapping[str, Sequence[float]]
    after: Mapping[str, Sequence[float]]
    baseline: str
    against: Mapping[str, Difference]


@dataclasses.dataclass(frozen=True)
class TunerLoopTables:
    """All that the tables of one data set show.

    Attributes
    ----------
    sizes : sentences to tune on, and hypotheses of each in a turn
    loops : in the order of the study
    """

    data: str
    sizes: tuple[tuple[int, int], ...]
    features: int
    loops: tuple[TunerLoops, ...]


def table_parts(tables: TunerLoopTables) -> list[str]:
    """Return the tables of a data set."""
    sentences, k = map(between, zip(*tables.sizes, strict=True))
    return [
        f"## {tables.data}\n\n{sentences} sentences to tune on, {k}-best lists in every turn, {tables.features} "
        "features. Every loop that the tables count has ended.\n",
        f"### On the tuning sentences\n\n{tuning_table(tables)}",
        f"### On the test sentences\n\n{test_table(tables)}",
    ]


def tuning_table(tables: TunerLoopTables) -> str:
    """Return metric × tuner: scores at the first, the best and the last decoding and on all lists, turns, CPU time."""
    head = ["tuned for", "tuner", "replicas", "starts", "turns", "hypotheses"]
    head += ["first decoding", "best decoding", "last decoding", "all lists", "CPU s to tune", "a start", "ended"]
    rows = []
    for loops in tables.loops:
        runs = loops.runs
        starts = math.fsum(len(run.decoded) * loops.starts for run in runs)
        rows.append(
            [
                loops.metric,
                loops.tuner,
                str(len(runs)),
                str(loops.starts),
                between([len(run.decoded) for run in runs]),
                f"{_mean([run.hypotheses for run in runs]):,.0f}",
                f"{_mean([run.decoded[0] for run in runs]):.2f}",
                _mean_and_spread([run.best for run in runs]),
                _mean_and_spread([run.decoded[-1] for run in runs]),
                _mean_and_spread([run.tuned[-1] for run in runs]),
                f"{_mean([run.tune_cpu for run in runs]):.0f}",
                f"{math.fsum(run.tune_cpu for run in runs) / starts:.3f}",
                "; ".join(dict.fromkeys(run.ended for run in runs)),
            ]
        )
    note = (
        "\nMeans over replicas, ± their standard deviation. first decoding: with the weights of the start; last: with "
        "those tuned in the turn before. all lists: tuned, on the lists of all turns together, which differ from tuner "
        "to tuner. a start: CPU seconds of one start in one turn.\n"
    )
    return markdown(head, rows, {0, 1, len(head) - 1}) + note


def test_table(tables: TunerLoopTables) -> str:
    """Return metric × tuner: test scores, and how they differ from the baseline's."""
    names = list(dict.fromkeys(name for loops in tables.loops for name in loops.after))
    head = ["tuned for", "tuner", *(cell for name in names for cell in (name, "Δ", "95 % interval", "p (these runs)"))]
    rows, seen = [], set[str]()
    for loops in tables.loops:
        if loops.metric not in seen:
            seen.add(loops.metric)
            rows.append([loops.metric, "no tuning", *_cells(loops.before, {}, names)])
        rows.append([loops.metric, loops.tuner, *_cells(loops.after, loops.against, names)])
    several = any(len(loops.runs) > 1 for loops in tables.loops)
    scores = "Means over replicas, ± their standard deviation. " if several else ""
    of = "these loops" if several else "one loop each"
    baselines = dict.fromkeys(loops.baseline for loops in tables.loops)
    whom = next(iter(baselines)) if len(baselines) == 1 else "the tuner before it that has no Δ"
    note = (
        f"\n{scores}Δ: mean score less that of {whom}. Intervals by paired bootstrap over "
        "sentences, and over replicas where both have three. p by approximate randomisation: "
        f"of {of}, not of what other seeds would give.\n"
    )
    return markdown(head, rows, {0, 1}) + note


def together_table(sets: Sequence[TunerLoopTables]) -> str:
    """Return metric × tuner: differences from the baseline over several data sets, each of which counts once."""
    found: dict[tuple[str, str], list[tuple[TunerLoops, TunerLoops]]] = {}
    for tables in sets:
        known = {(loops.metric, loops.tuner): loops for loops in tables.loops}
        for (metric, tuner), loops in known.items():
            if (metric, loops.baseline) in known:
                found.setdefault((metric, tuner), []).append((loops, known[metric, loops.baseline]))
    names = list(dict.fromkeys(name for pairs in found.values() for own, _ in pairs for name in own.after))
    head = ["tuned for", "tuner", "data sets", "loops", "less", "Δ best decoding", *(f"Δ test {n}" for n in names)]
    head += ["turns", "worse than the start", "CPU s"]
    rows = []
    for (metric, tuner), pairs in found.items():
        runs = [run for own, _ in pairs for run in own.runs]
        baseline = pairs[0][0].baseline
        bests = [_mean([r.best for r in own.runs]) - _mean([r.best for r in base.runs]) for own, base in pairs]
        tests = [[_mean(own.after[n]) - _mean(base.after[n]) for own, base in pairs] for n in names]
        changes = ["–"] * (1 + len(names)) if tuner == baseline else [mean_and_error(d) for d in (bests, *tests)]
        turns = sum(len(run.decoded) for run in runs)
        astray = f"{sum(run.astray for run in runs)} of {turns - len(runs)}"
        cells = [metric, tuner, str(len(pairs)), str(len(runs)), "–" if tuner == baseline else baseline, *changes]
        rows.append([*cells, f"{turns / len(runs):.1f}", astray, f"{_mean([r.cpu_seconds for r in runs]):.1f}"])
    note = (
        "\nΔ: means over data sets, each a mean over its replicas, ± their standard error. worse than the start: turns "
        "after the first whose decoding scores below the first. CPU s: of a loop, decoding and tuning.\n"
    )
    return markdown(head, rows, {0, 1, 4}) + note


def _cells(
    scores: Mapping[str, Sequence[float]], against: Mapping[str, Difference], names: Sequence[str]
) -> Iterator[str]:
    for name in names:
        yield _mean_and_spread(scores[name]) if name in scores else "–"
        yield from difference_cells(against.get(name))


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _mean_and_spread(numbers: Sequence[float]) -> str:
    """Return a mean and, of several different numbers, their standard deviation."""
    several = len(set(numbers)) > 1
    return f"{_mean(numbers):.2f}" + (f" ± {statistics.stdev(numbers):.2f}" if several else "")
