"""What each scorer adds: ``luthier.ablate(pool, metric="bleu")`` leaves one after another out, and tunes again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import DEFAULT_SEED, checked
from luthier.core.tasks import Threads
from luthier.evaluation.bootstrap import BOOTSTRAP_DRAWS, bootstrap_scores
from luthier.evaluation.randomisation import Contrast, detectable_effect, holm, randomisation_ps
from luthier.jobs.opening import AnyPool, cores, pool_at
from luthier.kbest.pool import Pool
from luthier.landscape.bounds import Bounds, parse_range
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric
from luthier.metrics.pools import with_statistics
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.validation.ablation import (
    HELPS,
    HURTS,
    UNTOLD,
    Ablation,
    Effect,
    FoldStatistics,
    Scorers,
    ablate_folds,
    forward_order,
    scorers_of,
)
from luthier.tuning.validation.folds import folds_of

CONFIDENCE = 0.95

Pair = tuple[npt.NDArray[Any], npt.NDArray[Any]]  # statistics of each sentence without a scorer, and with it


@checked
def ablate(
    pool: AnyPool,
    metric: str | Metric = "bleu",
    method: str | Tuner = "auto",
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    folds: int = 5,
    fold_by: str = "",
    forward: bool = False,
    bound: Mapping[str, tuple[float, float] | str] | None = None,
    level: float = 0.05,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    **options: Any,
) -> Ablation:
    """Say whether each scorer of some lists helps, hurts, or cannot be told.

    Each is left out, and the others are tuned again from the weights of all. Every sentence is re-ranked by weights
    that were tuned on other folds. The statistics of all sentences make one score of each model.

    Parameters
    ----------
    pool : Pool or path
        K-best lists.
    metric, method
        As `luthier.tune` takes them; `auto` chooses once, by all scorers.
    groups
        Scorers that are left out together, by the name of their group; the others are left out one by one.
    folds, fold_by
        How many, and a column whose equal numbers (documents) stay in one.
    forward
        Also add scorers one after another, each time the one with which the tuning sentences gain most.
    bound
        Limits of some weights by name: ``{"lm": (0, 1)}`` or ``{"lm": "0:1"}``.
    level
        The share of sets of sentences in which a verdict, helps or hurts, on any scorer is chance, at most.
    options
        Of the tuner.

    Examples
    --------
    >>> frame = {"id": [0, 0, 1, 1], "hyp": ["a", "b", "c", "d"], "lm": [1.0, 2, 1, 2], "comet": [0.9, 0.1, 0.8, 0.2]}
    >>> from luthier import pool_from_frame
    >>> lists = pool_from_frame(frame, columns=["comet"])
    >>> ablate(lists, metric="column:comet", method="mert", folds=2)["lm"].verdict  # two sentences tell nothing
    'cannot be told'
    """
    if not 0.0 < level < 1.0:
        raise LuthierError(f"expected a level between 0 and 1, found {level:g}")
    if isinstance(method, Tuner) and options:
        raise LuthierError(f"expected parameters inside the tuner that was given, found {', '.join(options)}")
    chosen = method if isinstance(method, Tuner) else tuner(method, **options)
    problem = _problem(pool_at(pool), as_metric(metric), bound)
    parts = folds_of(problem.pool, folds, by=fold_by, seed=seed)
    scorers, notes = scorers_of(problem, groups or {})
    by = _settled(chosen, problem)
    refused = by.refuses(problem)
    if refused:
        raise LuthierError(f"{by.name} cannot be used here: {refused}")
    engine = Threads(cores(threads))
    order = forward_order(problem, by, scorers, seed=seed, engine=engine) if forward else []
    found = ablate_folds(problem, by, scorers, parts, order=order, seed=seed, engine=engine)
    judge = _Judge(problem.metric, level, seed, engine)
    alone = [judge.score(stats) for stats in found.alone]
    effects = judge.effects(scorers, problem.names, [(stats, found.whole) for stats in found.without])
    return Ablation(
        metric=problem.metric.signature, tuner=by.spec, higher_is_better=bool(problem.metric.higher_is_better),
        folds=parts, by=fold_by, level=level, score=judge.score(found.whole), first=judge.score(found.first),
        effects=tuple(dataclasses.replace(e, alone=score) for e, score in zip(effects, alone, strict=True)),
        forward=_forward(judge, found, [scorers[i] for i in order], problem.names) if forward else None,
        notes=tuple(notes),
    )  # fmt: skip


def _problem(
    pool: Pool, metric: Metric, bound: Mapping[str, tuple[float, float] | str] | None
) -> ListProblem:  # fmt: skip
    ranges = {name: parse_range(ends) if isinstance(ends, str) else ends for name, ends in (bound or {}).items()}
    bounds = Bounds.from_names(pool.features.names, ranges) if ranges else None
    problem = ListProblem.of(pool, metric, bounds=bounds)  # without empty lists
    return dataclasses.replace(problem, pool=with_statistics(problem.pool, metric))


def _settled(chosen: Tuner, problem: ListProblem) -> Tuner:
    """Return the tuner that `auto` chooses for the whole model: all models are tuned by one."""
    choose = getattr(chosen, "choose", None)
    return chosen if choose is None else choose(problem)[0]


def _forward(
    judge: _Judge, found: FoldStatistics, added: Sequence[Scorers], names: Sequence[str]
) -> tuple[Effect, ...]:
    """Return what each scorer adds to those before it, the first to the first of each list."""
    pairs = list(zip([found.first, *found.forward[:-1]], found.forward, strict=True))
    effects = judge.effects(added, names, pairs)
    return tuple(
        dataclasses.replace(effect, score=judge.score(stats))
        for effect, stats in zip(effects, found.forward, strict=True)
    )


@dataclasses.dataclass(frozen=True)
class _Judge:
    """How differences are tested: at which level, by which draws."""

    metric: Metric
    level: float
    seed: int
    engine: Threads

    def score(self, stats: npt.NDArray[Any]) -> float:
        """Return the score of the statistics of all sentences, (N, S)."""
        return float(self.metric.score(stats.sum(axis=0)))

    def effects(self, scorers: Sequence[Scorers], names: Sequence[str], pairs: Sequence[Pair]) -> list[Effect]:
        """Return what scorers change, from statistics without and with each, (N, S) twice."""
        contrasts = [Contrast(without[None], with_it[None], self.metric.score) for without, with_it in pairs]
        ps = randomisation_ps(contrasts, seed=self.seed, engine=self.engine)
        corrected, tail = holm(ps), (1 - CONFIDENCE) / 2
        found = []
        for i, (one, (without, with_it)) in enumerate(zip(scorers, pairs, strict=True)):
            draws = self._differences(without, with_it)
            difference = self.score(with_it) - self.score(without)
            low, high = np.quantile(draws, [tail, 1 - tail])
            better = float(self.metric.gain(np.array(difference))) > 0
            found.append(
                Effect(
                    name=one.name, scorers=tuple(names[d] for d in one.columns), score=self.score(without),
                    difference=difference, interval=(float(low), float(high)), p=float(ps[i]),
                    corrected=float(corrected[i]),
                    detectable=detectable_effect(float(draws.std(ddof=1)), level=self.level, tests=len(pairs)),
                    changed=int(np.count_nonzero(np.any(without != with_it, axis=1))),
                    verdict=UNTOLD if corrected[i] > self.level else HELPS if better else HURTS,
                )
            )  # fmt: skip
        return found

    def _differences(self, without: npt.NDArray[Any], with_it: npt.NDArray[Any]) -> Float64:
        """Return the difference on each resample of the sentences."""
        systems = [without[None], with_it[None]]
        scores = bootstrap_scores(
            systems, self.metric.score, draws=BOOTSTRAP_DRAWS, seed=self.seed, engine=self.engine
        )  # fmt: skip
        return np.asarray(scores[1][0] - scores[0][0])
