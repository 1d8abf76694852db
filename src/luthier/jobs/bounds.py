"""How constrained a linear model is by its lists: ``luthier.bounds`` reports what one weight vector can select."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.jit import Stopwatch
from luthier.core.params import DEFAULT_SEED, checked
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.geometry.lp.feasible_subset import SelectionTests
from luthier.geometry.polytopes.counting import Counts, count_bounds
from luthier.jobs.opening import AnyPool, AnyWeights, cores, weighted
from luthier.kbest.pool import Pool
from luthier.landscape.dense_rows import dense_rows, varying_rows
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.constraints import (
    ConstraintCurves,
    Cost,
    CurveSettings,
    GeometryReport,
    GeometrySettings,
    Share,
    bounds_dict,
    report_geometry,
)
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run_tuner

# How constraints tighten: the share of oracle selections that can be made, and what the best one costs to find.
#
# Few sentences and many features leave a linear model free to select what the metric would; many sentences and
# few features do not [waite2015]. For features and sentences drawn at random it is decided whether one weight
# vector can make the oracle's selection. If it can on some sentences it can on any of them, so one draw
# of an order of sentences tells for every number of sentences at once.

AXES = ("dims", "sentences")
SOLVER = "lp-mert"
MOST_VALUES = 8  # different numbers of features
_WARMED_LISTS = 3  # lists, and hypotheses of each, of the run before the first timed one


def parse_axes(text: str) -> tuple[str, ...]:
    """Read ``dims``, ``sentences`` or both, comma separated.

    >>> parse_axes("dims,sentences")
    ('dims', 'sentences')
    """
    axes = tuple(word.strip() for word in text.split(","))
    if not axes or len(set(axes)) < len(axes) or set(axes) - set(AXES):
        raise LuthierError(f"expected dims, sentences or dims,sentences, found {text!r}. hint: see `against`")
    return axes


def constraint_curves(
    problem: ListProblem, features: Float64, oracle: Int64, axes: Sequence[str], settings: CurveSettings, *, seed: int
) -> ConstraintCurves:
    """Return how feasibility and lp-mert's time change with the numbers of features and sentences."""
    share_rng, cost_rng = make_rng(seed).spawn(2)
    sizes = feature_numbers(features.shape[1])
    shares = tuple(_shares(problem.offsets, features, oracle, sizes, settings.draws, share_rng))
    costs = tuple(_costs(problem, sizes, axes, settings, cost_rng)) if settings.timed_draws else ()
    return ConstraintCurves(tuple(axes), shares, costs, settings.timed_k, settings.time_limit)


def feature_numbers(n_features: int) -> list[int]:
    """Return a few numbers of features from 1 to all of them, evenly spread.

    >>> feature_numbers(15), feature_numbers(3)
    ([1, 3, 5, 7, 9, 11, 13, 15], [1, 2, 3])
    """
    count = min(MOST_VALUES, n_features)
    return sorted({round(x) for x in np.linspace(1, n_features, count).tolist()})


def sentence_numbers(n_sentences: int) -> list[int]:
    """Return 1, 2, 3, 4, 6, 8, 12, 16, … up to all sentences.

    >>> sentence_numbers(10)
    [1, 2, 3, 4, 6, 8, 10]
    """
    steps = sorted({max(1, factor << e >> 1) for factor in (2, 3) for e in range(n_sentences.bit_length() + 1)})
    return [*(n for n in steps if n < n_sentences), n_sentences]


def _shares(
    offsets: Int64, features: Float64, oracle: Int64, sizes: Sequence[int], draws: int, rng: np.random.Generator
) -> Iterator[Share]:
    """Yield the shares; each draw adds features, and sentences, to those it had."""
    tests, n_sentences = SelectionTests(offsets, features), len(offsets) - 1
    reached = np.empty((len(sizes), draws), np.int64)
    with progress("draws of features and sentences", draws * len(sizes)) as advance:
        for draw in range(draws):
            columns, order = rng.permutation(features.shape[1]), rng.permutation(n_sentences)
            for row, size in enumerate(sizes):
                chosen = np.sort(columns[:size])
                most = order[: tests.reached(oracle, order, chosen)]
                reached[row, draw] = _first_of_equals(offsets, features, oracle, most, chosen)
                advance(1)
    numbers = sentence_numbers(n_sentences)
    beyond = int(np.searchsorted(numbers, reached.max(), side="right"))  # the first that no draw reaches
    for row, size in enumerate(sizes):
        for n in numbers[: beyond + 1]:
            yield Share(size, n, int(np.count_nonzero(reached[row] >= n)), draws)


def _first_of_equals(offsets: Int64, features: Float64, oracle: Int64, order: Int64, columns: Int64) -> int:
    """Return how many lists of `order` come before the first whose oracle is hidden by an equal row above it.

    With few features many hypotheses look the same; then the first of them is selected.
    """
    for done, i in enumerate(order.tolist()):
        above = features[offsets[i] : oracle[i]][:, columns]
        if np.any(np.all(above == features[oracle[i], columns], axis=1)):
            return done
    return len(order)


def _costs(
    problem: ListProblem, sizes: Sequence[int], axes: Sequence[str], settings: CurveSettings, rng: np.random.Generator
) -> Iterator[Cost]:
    """Time lp-mert along each axis; once no draw of a size ends in time, larger ones are not tried."""
    numbers = sentence_numbers(min(settings.timed_sentences, problem.pool.n_sentences))
    fixed_size, fixed_number = sizes[len(sizes) // 2], numbers[len(numbers) // 2]
    ways = {"dims": [(size, fixed_number) for size in sizes], "sentences": [(fixed_size, n) for n in numbers]}
    for size in sorted({sizes[0], fixed_size}):  # one feature takes a way of its own
        # Loads the kernels, or compiles them where they are new: that is nothing a run took, and no limit ends it.
        most = math.inf if size == 1 else _WARMED_LISTS  # more than one feature takes its time
        few = _part(problem.pool, size, int(min(fixed_number, most)), int(min(settings.timed_k, most)), rng)
        _timed(few, problem.metric, math.inf)
    with progress("runs of lp-mert", sum(len(ways[axis]) for axis in axes) * settings.timed_draws) as advance:
        for axis in axes:
            for size, n in ways[axis]:
                runs = [
                    _timed(_part(problem.pool, size, n, settings.timed_k, rng), problem.metric, settings.time_limit)
                    for _ in range(settings.timed_draws)
                ]
                advance(settings.timed_draws)
                yield Cost(axis, size, n, tuple(seconds for seconds, _ in runs), sum(ended for _, ended in runs))
                if not any(ended for _, ended in runs):
                    break


def _part(pool: Pool, size: int, n_sentences: int, k: int, rng: np.random.Generator) -> Pool:
    """Return some of the features, sentences and first hypotheses of a pool, drawn at random."""
    names = [pool.features.names[d] for d in rng.choice(pool.n_features, size=size, replace=False)]
    part = pool.take_sentences(np.sort(rng.choice(pool.n_sentences, size=n_sentences, replace=False)))
    rank = np.arange(part.n_hypotheses) - np.repeat(part.offsets[:-1], part.list_lengths)
    part = part.take(np.flatnonzero(rank < k))
    return dataclasses.replace(part, features=part.features.select(names))


def _timed(pool: Pool, metric: Metric, limit: float) -> tuple[float, bool]:
    """Run lp-mert to its end or until time is up; return CPU seconds and whether it ended."""
    problem, method = ListProblem.of(pool, metric), tuner(SOLVER, max_lps=0)  # no end but the proof
    reason = method.refuses(problem)
    if reason:
        raise LuthierError(f"{SOLVER} cannot be timed by this metric: {reason}. hint: `timed_draws` 0 leaves it out")
    stopwatch = Stopwatch()
    for _ in method.steps(problem, problem.default_start(), make_rng(0)):
        if stopwatch.seconds()[0] > limit:
            return stopwatch.seconds()[0], False
    return stopwatch.seconds()[0], True


# Where no weights are given, those it finds are near to the oracle's selection.
CLIMBER = "mert"
MOST_LISTS, MOST_LENGTH, MOST_FEATURES = 20_000, 1_000_000, 2_000  # of bounds by sizes alone: the numbers are long
MOST_COLUMNS = 100  # many index vectors are put to a linear program over so many weights each


@dataclasses.dataclass(frozen=True, eq=False)
class SelectionBounds(Shown):
    """The report on all lists, and how it changes with features and sentences, where `against` names them."""

    report: GeometryReport
    curves: ConstraintCurves | None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return self.report.as_dict() | ({} if self.curves is None else {"against": self.curves.as_dict()})


@dataclasses.dataclass(frozen=True)
class SizeBounds(Shown):
    """What the numbers of sentences, hypotheses and features alone say of how many selections weights can make."""

    counts: Counts

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        c = self.counts
        sizes = {"sentences": c.n_lists, "features": c.n_dimensions, "log10_index_vectors": c.log10_index_vectors}
        return {**sizes, **bounds_dict(c)}


def size_bounds(sizes: str, features: int) -> SizeBounds:
    """Return the bounds for lists that nobody needs to have: `sizes` is ``1502x1000``, several joined by commas.

    >>> size_bounds("1502x1000", 12).counts.theorem.least_dimensions
    493
    """
    lengths: list[int] = []
    for word in sizes.split(","):
        numbers = word.strip().split("x")
        if len(numbers) != 2 or not all(number.isascii() and number.isdigit() for number in numbers):
            raise LuthierError(f"expected sentences x hypotheses, such as 1502x1000, found {word.strip()!r}")
        n, k = map(int, numbers)
        if not 1 <= n <= MOST_LISTS - len(lengths) or not 1 <= k <= MOST_LENGTH:
            raise LuthierError(
                f"expected from 1 to {MOST_LISTS:,} lists in all, of 1 to {MOST_LENGTH:,} rows, found {word.strip()!r}"
            )
        lengths += [k] * n
    if not 1 <= features <= MOST_FEATURES:
        raise LuthierError(f"expected from 1 to {MOST_FEATURES:,} features, found {features:,}")
    return SizeBounds(count_bounds(lengths, features))


@checked
def bounds(
    pool: AnyPool,
    metric: str | Metric = "bleu",
    *,
    weights: AnyWeights | None = None,
    against: str = "",
    sample: int = 100,
    orders: int = 5,
    draws: int = 20,
    timed_sentences: int = 64,
    timed_k: int = 20,
    time_limit: float = 5.0,
    timed_draws: int = 3,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
) -> SelectionBounds:
    """Report how constrained a linear model is by its lists: what one weight vector can select, and what it cannot.

    Parameters
    ----------
    pool, metric
        Lists, or where they are; a metric or its name.
    weights
        Sentences where they nearly select the oracle are tried first (default: weights tuned by ``mert``).
    against
        ``dims``, ``sentences`` or ``dims,sentences``: also how the share of feasible oracles, and the time of
        ``lp-mert``, change with their number.
    sample, orders
        Random index vectors to test, and orders of sentences in which a feasible subset is sought.
    draws, timed_sentences, timed_k, time_limit, timed_draws
        Of `against`: draws, sizes given to ``lp-mert``, seconds of a run, and runs for each size (0: none).
    """
    axes = parse_axes(against) if against else ()
    settings = GeometrySettings(sample=sample, orders=orders)
    curve_settings = CurveSettings(
        draws=draws, timed_sentences=timed_sentences, timed_k=timed_k, time_limit=time_limit, timed_draws=timed_draws
    )
    metric, n_threads = as_metric(metric), cores(threads)
    lists, start = weighted(pool, weights)
    kept, (columns, _) = lists, varying_rows(lists, MOST_COLUMNS)
    if lists.features.n_features > lists.features.n_dense:  # of sparse features those that matter
        kept = lists.with_features(lists.features.select([lists.features.names[column] for column in columns]))
        start = None if start is None else start[columns]
    problem = ListProblem.of(kept, metric)
    start = run_tuner(tuner(CLIMBER), problem, options=RunOptions(seed=seed)).weights if start is None else start
    features = dense_rows(problem.pool.features)
    report = report_geometry(problem, features, start, settings, seed=seed, threads=n_threads)
    # the problem has left out sentences without hypotheses
    report = dataclasses.replace(report, sentences=np.flatnonzero(lists.list_lengths > 0))
    curves = None
    if axes:
        curves = constraint_curves(problem, features, report.oracle.rows, axes, curve_settings, seed=seed)
    return SelectionBounds(report, curves)
