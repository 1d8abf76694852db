"""The exact curve of a metric along a line of weights: its intervals, the best of them, and a proof by re-ranking.

Along ``w0 + t·d`` every list's choice changes at the breakpoints of its upper envelope only, so the score is
constant between two of them [och2003]. Nothing is sampled: all intervals are there. To show it, the lists are
re-ranked at a place inside each interval, as `luthier rerank` would, and the selections compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.files.tables import write_table
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.geometry.lines.envelope import Envelope
from luthier.geometry.subspace import Subspace
from luthier.kbest.rerank import rerank
from luthier.landscape.axes import Axis, axes_of
from luthier.landscape.curve import LineCurve, intervals_of, reach_of
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.lines.stability import LineStability, line_stability
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import slack
from luthier.landscape.subspaces import read_ends

UNIT = 2.0**-53
SHOWN = 8  # best intervals
VECTORS_AT_ONCE = 256


@dataclasses.dataclass(frozen=True)
class Interval:
    """One interval of the line, cut to the window: its ends, a place inside it, and the score on all of it.

    Attributes
    ----------
    low, high : float
        Perhaps infinite.
    position : float
        The middle; in an interval without end, a place as far beyond its other end as w0 is long.
    holds : bool
        Whether the lists, re-ranked at `position`, have that score.
    """

    low: float
    high: float
    position: float
    score: float
    holds: bool

    @property
    def width(self) -> float:
        """How long it is."""
        return self.high - self.low

    def as_dict(self, origin: float = 0.0) -> dict[str, Any]:
        """Return it for JSON, places as `origin` has them; what is infinite is None."""
        places = {"low": self.low + origin, "high": self.high + origin, "position": self.position + origin}
        numbers = {**dataclasses.asdict(self), **places, "width": self.width, "offset": self.position}
        return {name: value if np.isfinite(value) else None for name, value in numbers.items()}


@dataclasses.dataclass(frozen=True)
class Check:
    """How many intervals were re-ranked, and with what outcome.

    Attributes
    ----------
    agreed : int
        Every list selects what the curve says.
    narrow : int
        Some list does not, by no more than the rounding of w·h: no place that floating-point weights can
        express is inside for certain.
    wrong : int
        Some list does not, by more. There are none, or there is a mistake in this program.
    """

    tried: int
    agreed: int
    narrow: int
    wrong: int


@dataclasses.dataclass(frozen=True, eq=False)
class LineReport:
    """A curve within a window, and what was found on it.

    Attributes
    ----------
    line : Subspace with one axis
    low, high, position, scores : (n,)
        The intervals, from left to right; places are offsets from w0.
    start_score : float
        At t = 0, by re-ranking.
    best : the best few intervals, the best first; if scores are equal, the widest
    check : Check
    stability : where the optimum is on resamples of the sentences; None without them
    """

    line: Subspace
    problem: ListProblem
    window: tuple[float, float]
    low: Float64
    high: Float64
    position: Float64
    scores: Float64
    start_score: float
    best: tuple[Interval, ...]
    check: Check
    stability: LineStability | None = None

    @property
    def axis(self) -> Axis:
        """What a place along the line is: the weight of a feature, or an offset."""
        return axes_of(self.line)[0]

    @property
    def optimum(self) -> Interval:
        """The best interval that floating-point weights can reach; if none can be, the best."""
        return next((interval for interval in self.best if interval.holds), self.best[0])

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON, without the curve itself."""
        return {
            "metric": self.problem.metric.signature,
            "axis": self.line.names[0],
            "axis_shows": self.axis.kind,
            "window": [end + self.axis.origin if np.isfinite(end) else None for end in self.window],
            "intervals": len(self.scores),
            "start": self.start_score,
            "optimum": {
                **self.optimum.as_dict(self.axis.origin),
                "weights": dict(
                    zip(self.problem.names, self.line.weights([self.optimum.position]).tolist(), strict=True)
                ),
            },
            "best": [interval.as_dict(self.axis.origin) for interval in self.best],
            "check": dataclasses.asdict(self.check),
            **({} if self.stability is None else {"stability": self.stability.as_dict(self.axis.origin)}),
        }


def read_window(text: str, line: Subspace) -> tuple[float, float]:
    """Read ``lo:hi`` or, with the axis's name, ``axis=lo:hi``, as offsets; an end that is left out is infinite.

    The ends are weights, or offsets along an axis that combines features (`luthier.landscape.axes`).
    """
    name, equals, ends = text.rpartition("=")
    if equals and name != line.names[0]:
        raise LuthierError(f"the window {text!r} is of {name!r}, the line along {line.names[0]!r}")
    (low, high), origin = read_ends(text, ends), axes_of(line)[0].origin
    return low - origin, high - origin


def follow_line(
    problem: ListProblem,
    line: Subspace,
    window: tuple[float, float] = (-np.inf, np.inf),
    *,
    check: int | None = None,
    resamples: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> LineReport:
    """Return the exact curve along a line, cut to a window.

    `check` is how many intervals are re-ranked, drawn at random; None is all of them. With `resamples` the report has
    the optimum on so many resamples of the sentences.
    """
    if check is not None and check < 0:
        raise LuthierError(f"expected to check 0 intervals or more, found {check}")
    report, curve, inside = _within(problem, line, window)
    tried, position = inside, report.position
    if check is not None and check < len(inside):
        tried = np.sort(make_rng(seed).choice(inside, size=check, replace=False))
    outcome = _check(problem, line, curve, tried, position[tried - inside[0]], threads)
    moved = None if resamples is None else line_stability(problem, line, window, resamples=resamples, seed=seed)
    return dataclasses.replace(report, best=tuple(_best(report, problem)), check=outcome, stability=moved)


def see_line(sighted: ProjectionCache, line: Subspace, window: tuple[float, float] = (-np.inf, np.inf)) -> LineReport:
    """Return the same curve as `follow_line` at once: no interval is re-ranked but the best, until one holds.

    `best` ends with that interval, so that `optimum` is the same; `check` says that none was tried.
    """
    report = _within(sighted, line, window)[0]
    best: list[Interval] = []
    for interval in _best(report, sighted):
        best.append(interval)
        if interval.holds:
            break
    return dataclasses.replace(report, best=tuple(best))


def _within(
    asked: ListProblem | ProjectionCache, line: Subspace, window: tuple[float, float]
) -> tuple[LineReport, LineCurve, Int64]:
    """Return the curve cut to a window, before anything is re-ranked; and its intervals among all of the line's."""
    if line.n_axes != 1:
        raise LuthierError(f"expected a line, which has one axis, found {line.n_axes} axes")
    if not window[0] < window[1]:
        raise LuthierError(f"expected a window lo:hi with lo below hi, found {window[0]:g}:{window[1]:g}")
    problem = asked.problem if isinstance(asked, ProjectionCache) else asked
    curve = next(asked.curves(line.start, line.directions))
    reach = reach_of(line.start, line.directions[0])
    low, high = intervals_of(curve, window)
    inside = np.flatnonzero(low < high)
    report = LineReport(
        line=line,
        problem=problem,
        window=window,
        low=low[inside],
        high=high[inside],
        position=_interiors(low[inside], high[inside], reach),
        scores=problem.metric.gain(curve.gains[inside]),
        start_score=_score(problem, asked.gain(line.start)),
        best=(),
        check=Check(0, 0, 0, 0),
    )
    return report, curve, inside


def write_curve(report: LineReport, path: str) -> None:
    """Write every interval with its ends, a place inside and the score, as .tsv, .json or .arrow.

    Places are weights, or offsets along an axis that combines features.
    """
    origin = report.axis.origin
    ends = {"low": report.low + origin, "high": report.high + origin}
    columns = {**ends, "position": report.position + origin, "score": report.scores}
    write_table(path, columns, report.as_dict())


def _score(problem: ListProblem, gain: float) -> float:
    return float(problem.metric.gain(np.array(gain)))


def _interiors(low: Float64, high: Float64, reach: float) -> Float64:
    """Return a place in each interval: the middle, `reach` beyond its one end, or 0 where it has none."""
    left, right = np.isinf(low), np.isinf(high)
    start = np.where(left, np.where(right, 0.0, high - reach), low)
    stop = np.where(right, np.where(left, 0.0, low + reach), high)
    middle: Float64 = np.where(left | right, np.where(left, start, stop), start / 2 + stop / 2)
    return middle


def _best(report: LineReport, asked: ListProblem | ProjectionCache) -> Iterator[Interval]:
    """Yield the best few intervals, each tried by re-ranking; if gains are equal, the widest, then the nearest."""
    problem, gains = report.problem, report.problem.metric.gain(report.scores)
    order = np.lexsort((np.abs(report.position), report.low - report.high, -gains))
    for i in order[:SHOWN].tolist():
        position, gain = float(report.position[i]), float(gains[i])
        found = asked.gain(report.line.weights([position]))
        yield Interval(
            low=float(report.low[i]),
            high=float(report.high[i]),
            position=position,
            score=_score(problem, gain),
            holds=abs(found - gain) <= slack(gain),
        )


def _check(
    problem: ListProblem, line: Subspace, curve: LineCurve, tried: Int64, positions: Float64, threads: int
) -> Check:
    """Re-rank at a place inside each of the intervals `tried`, ascending, and compare the selections."""
    (envelope,) = problem.lines.envelopes(line.start, line.directions)
    selections = _selections(problem, envelope, curve, tried)
    agreed = narrow = 0
    with progress("re-ranking every interval", len(tried)) as advance:
        for first in range(0, len(tried), VECTORS_AT_ONCE):
            at = positions[first : first + VECTORS_AT_ONCE]
            found = rerank(problem.pool, line.weights(at[:, None]), threads=threads)  # (W, N)
            for position, rows in zip(at.tolist(), found, strict=True):
                said = next(selections)
                differ = np.flatnonzero(said != rows)
                if not len(differ):
                    agreed += 1
                elif _within_rounding(problem, line, position, said[differ], rows[differ]):
                    narrow += 1
            advance(len(at))
    return Check(len(tried), agreed, narrow, len(tried) - agreed - narrow)


def _selections(problem: ListProblem, envelope: Envelope, curve: LineCurve, tried: Int64) -> Iterator[Int64]:
    """Yield what the envelopes say is selected on each interval of `tried`: (N,), changed in place."""
    order = np.argsort(envelope.breakpoints, kind="stable")  # of one list's equal breakpoints the last counts
    after = envelope.after[order]
    lists = np.searchsorted(problem.offsets, after, side="right") - 1
    # interval i holds what changed up to and at breakpoint i − 1
    ends = np.searchsorted(envelope.breakpoints[order], curve.breakpoints, side="right")
    selection, done = envelope.first.copy(), 0
    for i in tried.tolist():
        end = int(ends[i - 1]) if i else 0
        for event in range(done, end):
            selection[lists[event]] = after[event]
        done = end
        yield selection


def _within_rounding(problem: ListProblem, line: Subspace, position: float, said: Int64, rows: Int64) -> bool:
    """Return whether rows that should have been selected score as high as those that were, up to rounding.

    A score at ``fl(w0 + t·d)`` is off by at most γ(D+2)·Σ (|w0_j| + |t d_j|) |h_j| ([higham2002] section 3.1), the
    two heights that set a breakpoint by no more than γ(D+6) of the same sum: together below 4 γ(D+8).
    """
    weights = line.weights([position])
    size = np.abs(line.start) + np.abs(position * line.directions[0])
    gaps, bounds = np.zeros(len(said)), np.zeros(len(said))
    n = problem.n_features + 8
    for part, sign in ((said, -1.0), (rows, 1.0)):
        features = problem.pool.features.take(part)
        gaps += sign * features.scores(weights)
        sizes = dataclasses.replace(features, dense=np.abs(features.dense), values=np.abs(features.values))
        bounds += sizes.scores(size)
    return bool(np.all(np.abs(gaps) <= 4 * n * UNIT / (1 - n * UNIT) * bounds))
