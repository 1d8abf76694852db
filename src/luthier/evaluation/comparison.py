"""Systems compared with a baseline under several metrics, replicas and test set taken into account."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import param, validate
from luthier.core.progress import progress
from luthier.core.tasks import Engine
from luthier.evaluation.bootstrap import Interval, bootstrap_scores, difference_interval, sampling_spread
from luthier.evaluation.randomisation import Contrast, randomisation_ps
from luthier.evaluation.replicas import ReplicaTest, compare_replicas, optimizer_spread
from luthier.evaluation.systems import System
from luthier.metrics.base import Metric


@dataclasses.dataclass(frozen=True)
class Settings:
    """How much to draw."""

    draws: int = param(1000, low=2, high=10_000_000, help="bootstrap resamples of the test set")
    shuffles: int = param(10_000, low=1, high=1_000_000_000, help="shuffles of approximate randomisation")
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
        Mean of the system minus mean of the baseline.
    randomisation_p
        Of stratified approximate randomisation, given these replicas.
    replica_test
        Between the replicas' scores.
    interval
        Of `difference`, by paired bootstrap over sentences, given these replicas.
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

    `as_dict` has only what JSON has.
    """

    systems: tuple[str, ...]
    replicas: tuple[int, ...]
    sentences: int
    settings: Settings
    metrics: tuple[MetricResults, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, strings and numbers."""
        return dataclasses.asdict(self)


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
        ps = {}
        for system in systems[1:]:
            contrasts = [
                Contrast(systems[0].stats[name], system.stats[name], metric.score) for name, metric in metrics.items()
            ]
            found = randomisation_ps(contrasts, shuffles=settings.shuffles, seed=settings.seed, engine=engine)
            ps.update({(system.name, name): p for name, p in zip(metrics, found.tolist(), strict=True)})
            advance(1)
        results = []
        for name, metric in metrics.items():
            rows = _results(systems, name, metric, settings, ps, engine=engine)
            results.append(MetricResults(name, metric.signature, metric.higher_is_better, rows))
            advance(1)
    return Comparison(
        tuple(system.name for system in systems),
        tuple(system.n_replicas for system in systems),
        systems[0].n_sentences,
        settings,
        tuple(results),
    )


def _results(
    systems: Sequence[System],
    name: str,
    metric: Metric,
    settings: Settings,
    ps: Mapping[tuple[str, str], float],
    *,
    engine: Engine | None,
) -> tuple[Result, ...]:
    """Return the rows of one metric; `ps` are the p-values by system and metric."""
    stats = [system.stats[name] for system in systems]
    draws, seed = settings.draws, settings.seed
    resampled = bootstrap_scores(stats, metric.score, draws=draws, seed=seed, engine=engine)  # (R, B) each
    scores = [metric.score(array.sum(axis=1)) for array in stats]  # (R,) each
    differences: list[Difference | None] = [None]
    for k in range(1, len(systems)):
        interval = difference_interval(
            resampled[0],
            resampled[k],
            higher_is_better=metric.higher_is_better,
            confidence=settings.confidence,
        )
        test = compare_replicas(scores[0], scores[k], seed=settings.seed)
        distance = float(scores[k].mean() - scores[0].mean())
        differences.append(Difference(distance, ps[systems[k].name, name], test, interval))
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
