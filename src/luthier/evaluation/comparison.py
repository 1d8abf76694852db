"""Systems compared with a baseline under several metrics, replicas and test set taken into account."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import param, validate
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine
from luthier.evaluation.bootstrap import Interval, bootstrap_scores, difference_interval, sampling_spread
from luthier.evaluation.randomisation import EXCHANGES, TOLERANCE, Contrast, randomisation_ps
from luthier.evaluation.systems import System
from luthier.metrics.base import Metric

# More splits than this (10 against 10 are 184,756) are sampled, not enumerated.
MAX_SPLITS = 200_000
SAMPLED_SPLITS = 99_999
SIGNIFICANCE = 0.05


@dataclasses.dataclass(frozen=True)
class ReplicaTest:
    """What the scores of the replicas alone, one number each, say about a difference.

    Attributes
    ----------
    permutation_p
        Share of the ways to split all replicas into two groups of the same sizes whose means differ
        at least as much, two-sided.
    smallest_p
        The least that `permutation_p` can be with so few replicas: 0.1 for 3 against 3.
    splits
        How many ways there are.
    welch_p
        Of Welch's t-test, two-sided; None with a single replica, or where no replica differs from
        the others of its system.
    least_significant_difference
        The difference that Welch's test needs, with these spreads, to be significant at 5 %; None as above.
    """

    permutation_p: float
    smallest_p: float
    splits: int
    welch_p: float | None
    least_significant_difference: float | None


def optimizer_spread(scores: npt.ArrayLike) -> float | None:
    """Return s_opt: the standard deviation of the scores (R,) of replicas, R − 1 in the denominator.

    None for a single replica, which says nothing about the optimizer.

    References
    ----------
    [clark2011], s_Test there.
    """
    scores = np.asarray(scores, dtype=np.float64)
    return float(scores.std(ddof=1)) if len(scores) > 1 else None


def compare_replicas(
    first: npt.ArrayLike, second: npt.ArrayLike, *, seed: int | np.random.Generator = 0
) -> ReplicaTest:
    """Return the tests between the scores of two systems' replicas, (A,) and (B,).

    Unlike stratified randomisation these hold when replicas differ by more than the chances of
    single sentences; they ask for more replicas in return.

    >>> compare_replicas([18.4, 18.5, 18.6], [18.8, 18.9, 19.1]).permutation_p
    0.1
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not (first.size and second.size) or first.ndim != 1 or second.ndim != 1:
        raise LuthierError(f"expected scores of replicas, found shapes {first.shape} and {second.shape}")
    n_splits = math.comb(len(first) + len(second), len(first))
    # Groups of equal size can change names, so the most extreme split always has a twin.
    smallest = (2 if len(first) == len(second) else 1) / n_splits
    observed = abs(first.mean() - second.mean())
    scores = np.concatenate([first, second])
    least = observed - TOLERANCE * float(np.abs(scores).max())
    if n_splits <= MAX_SPLITS:
        differences = _all_differences(scores, len(first))
        p = float(np.mean(differences >= least))
    else:
        differences = _sampled_differences(scores, len(first), make_rng(seed))
        smallest = max(smallest, 1 / (SAMPLED_SPLITS + 1))
        p = float((np.sum(differences >= least) + 1) / (SAMPLED_SPLITS + 1))
    return ReplicaTest(p, smallest, n_splits, *_welch(first, second))


def _all_differences(scores: Float64, size: int) -> Float64:
    """Return |difference of means| for every split into `size` scores and the rest."""
    n_splits = math.comb(len(scores), size)
    chosen = itertools.chain.from_iterable(itertools.combinations(range(len(scores)), size))
    members = np.fromiter(chosen, dtype=np.int64, count=n_splits * size).reshape(n_splits, size)
    return _differences(scores[members].sum(axis=1), scores, size)


def _sampled_differences(scores: Float64, size: int, rng: np.random.Generator) -> Float64:
    """Return |difference of means| for splits drawn at random."""
    rows = np.tile(scores, (SAMPLED_SPLITS, 1))
    rng.permuted(rows, axis=1, out=rows)
    return _differences(rows[:, :size].sum(axis=1), scores, size)


def _differences(sums: Float64, scores: Float64, size: int) -> Float64:
    return np.asarray(np.abs(sums / size - (scores.sum() - sums) / (len(scores) - size)))


def _welch(first: Float64, second: Float64) -> tuple[float | None, float | None]:
    """Return the p-value of Welch's test and the difference it needs; None where it is undefined."""
    if len(first) < 2 or len(second) < 2:
        return None, None
    squares = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    error = math.sqrt(sum(squares))
    if error <= TOLERANCE * max(np.abs(first).max(), np.abs(second).max()):
        return None, None
    # Not scipy.stats, which does the same and takes half a second to import.
    from scipy.special import stdtr, stdtrit

    freedom = sum(squares) ** 2 / (squares[0] ** 2 / (len(first) - 1) + squares[1] ** 2 / (len(second) - 1))
    p = 2 * stdtr(freedom, -abs(first.mean() - second.mean()) / error)
    return float(p), float(stdtrit(freedom, 1 - SIGNIFICANCE / 2) * error)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How much to draw."""

    draws: int = param(1000, low=2, high=10_000_000, help="bootstrap resamples of the test set")
    shuffles: int = param(10_000, low=1, high=1_000_000_000, help="shuffles of approximate randomisation")
    exchange: str = param(
        "systems", choices=EXCHANGES, help="what shuffles exchange per sentence: systems, or replicas as MultEval does"
    )
    confidence: float = param(0.95, low=0.5, high=0.9999, help="share of resamples inside an interval")
    seed: int = param(0, low=0, help="of resamples and shuffles")

    def __post_init__(self) -> None:
        validate(self)


@dataclasses.dataclass(frozen=True)
class Difference:
    """A system against the baseline under one metric.

    Attributes
    ----------
    difference
        The system's mean score minus the baseline's: what `randomisation_p` is of.
    randomisation_p
        Of approximate randomisation by sentence: about these runs on other sentences.
    replica_test
        Between the replicas' scores: about other runs.
    interval
        Of `difference`, by paired bootstrap over sentences, and over replicas where they are three or more.
    """

    difference: float
    randomisation_p: float
    replica_test: ReplicaTest
    interval: Interval


@dataclasses.dataclass(frozen=True)
class Result:
    """A system under one metric.

    Attributes
    ----------
    system
        Its name.
    scores : R numbers
        Of the replicas.
    mean
        Of `scores`.
    s_sel
        Standard deviation over resamples of the test set, averaged over replicas.
    s_opt
        Standard deviation over replicas; None if there is one only.
    against_baseline
        None for the baseline itself.
    """

    system: str
    scores: tuple[float, ...]
    mean: float
    s_sel: float
    s_opt: float | None
    against_baseline: Difference | None


@dataclasses.dataclass(frozen=True)
class MetricResults:
    """All systems under one metric, the baseline first."""

    metric: str
    signature: str
    higher_is_better: bool | None
    results: tuple[Result, ...]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Systems, the first being the baseline, under one or more metrics.

    `warnings` are sentences about replicas that are equal. `as_dict` has only what JSON has.
    """

    systems: tuple[str, ...]
    replicas: tuple[int, ...]
    sentences: int
    settings: Settings
    metrics: tuple[MetricResults, ...]
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, strings and numbers, and what the p of shuffles is about."""
        return {**dataclasses.asdict(self), "randomisation_p_is_about": "these runs on other sentences, not other runs"}


def compare(
    systems: Sequence[System],
    metrics: Mapping[str, Metric],
    settings: Settings | None = None,
    *,
    engine: Engine | None = None,
) -> Comparison:
    """Compare systems with the first of them, under each metric.

    All metrics and systems see the same resamples, and all metrics of a pair of systems the same
    shuffles; a number depends neither on `engine` nor on what else is compared, and is the one that
    `bootstrap_scores` or `randomisation_ps` gives by itself with the same seed.

    Parameters
    ----------
    systems
        The baseline first; statistics of the same sentences, whose number of replicas may differ.
    metrics
        By the names under which the systems have their statistics.

    References
    ----------
    [clark2011].
    """
    settings = settings or Settings()
    _check(systems, metrics)
    with progress("comparing systems", len(systems) - 1 + len(metrics)) as advance:
        tested: dict[tuple[str, str], tuple[float, float]] = {}
        for system in systems[1:]:
            contrasts = [
                Contrast(systems[0].stats[name], system.stats[name], metric.score) for name, metric in metrics.items()
            ]
            found = randomisation_ps(
                contrasts, shuffles=settings.shuffles, seed=settings.seed, exchange=settings.exchange, engine=engine
            )
            for name, contrast, p in zip(metrics, contrasts, found.tolist(), strict=True):
                tested[system.name, name] = contrast.difference(), p
            advance(1)
        results = []
        for name, metric in metrics.items():
            rows = _results(systems, name, metric, settings, tested, engine=engine)
            results.append(MetricResults(name, metric.signature, metric.higher_is_better, rows))
            advance(1)
    return Comparison(
        tuple(system.name for system in systems),
        tuple(system.n_replicas for system in systems),
        systems[0].n_sentences,
        settings,
        tuple(results),
        tuple(_warnings(systems)),
    )


def _warnings(systems: Sequence[System]) -> Iterator[str]:
    """Say which systems have replicas that are copies of each other."""
    for system in systems:
        distinct = system.distinct_replicas()
        if distinct < system.n_replicas:
            yield (
                f"{system.name}: {system.n_replicas} replicas, {distinct} without copies; "
                "an equal one adds no run, and makes s_opt, the interval and the tests between runs too sure"
            )


def _results(
    systems: Sequence[System],
    name: str,
    metric: Metric,
    settings: Settings,
    tested: Mapping[tuple[str, str], tuple[float, float]],
    *,
    engine: Engine | None,
) -> tuple[Result, ...]:
    """Return the rows of one metric; `tested` are differences and p-values by system and metric."""
    stats = [system.stats[name] for system in systems]
    draws, seed = settings.draws, settings.seed
    resampled = bootstrap_scores(stats, metric.score, draws=draws, seed=seed, engine=engine)
    scores = [metric.score(array.sum(axis=1)) for array in stats]  # (R,) each
    differences: list[Difference | None] = [None]
    for k in range(1, len(systems)):
        interval = difference_interval(
            resampled[0],
            resampled[k],
            higher_is_better=metric.higher_is_better,
            confidence=settings.confidence,
            seed=seed,
        )
        test = compare_replicas(scores[0], scores[k], seed=settings.seed)
        differences.append(Difference(*tested[systems[k].name, name], test, interval))
    return tuple(map(_result, systems, scores, resampled, differences))


def _result(system: System, scores: Float64, resampled: Float64, difference: Difference | None) -> Result:
    return Result(
        system.name,
        tuple(scores.tolist()),
        float(scores.mean()),
        sampling_spread(resampled),
        optimizer_spread(scores),
        difference,
    )


def _check(systems: Sequence[System], metrics: Mapping[str, Metric]) -> None:
    """Raise `LuthierError` unless the systems can be compared."""
    if not systems or not metrics:
        raise LuthierError("a comparison needs at least one system and one metric")
    names = [system.name for system in systems]
    for name in names:
        if names.count(name) > 1:
            raise LuthierError(f"expected systems of different names, found {names.count(name)} called {name!r}")
    for system in systems:
        if system.n_sentences != systems[0].n_sentences:
            raise LuthierError(
                f"expected {systems[0].n_sentences} sentences of system {system.name!r}, as of "
                f"{names[0]!r}, found {system.n_sentences}"
            )
        missing = [name for name in metrics if name not in system.stats]
        if missing:
            raise LuthierError(f"system {system.name!r} has no statistics of {', '.join(missing)}")
