"""What each scorer adds: the weights tuned again without it, and with it alone, on sentences that judge neither.

A model without a scorer has the other features and nothing else, so every tuner can be asked. It is tuned from the
weights of the whole model. Where it comes out better on the sentences that were tuned on, the whole model is tuned once
more from there: a model is never behind a part of itself for want of search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError, unwarned
from luthier.core.html import as_table
from luthier.core.progress import progress
from luthier.core.rng import child_rng
from luthier.core.tasks import Engine, Shared, run_units
from luthier.kbest.features import unknown_names
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import Tuner
from luthier.tuning.validation.baselines import baselines

HELPS, HURTS, UNTOLD = "helps", "hurts", "cannot be told"
MOST_SCORERS = 64  # or groups of them: each costs two tunings for every fold
FORWARD = 1 << 32  # numbers of generators that no fold has


@dataclasses.dataclass(frozen=True)
class Effect:
    """What a scorer, or a group of them, adds to the others: Δ is the score with it less the score without.

    Attributes
    ----------
    name, scorers
    score : float
        Without it; of a scorer that was added to others, with it.
    difference, interval
        Δ, and its paired-bootstrap interval over sentences.
    p, corrected
        By approximate randomisation over sentences; and by Holm's method for all that were tested.
    detectable : float
        The size of a Δ that would have been seen in four of five such sets of sentences.
    changed : int
        Sentences whose statistics differ.
    verdict : helps, hurts, or cannot be told
    alone : float or None
        The score with it and nothing else.
    """

    name: str
    scorers: tuple[str, ...]
    score: float
    difference: float
    interval: tuple[float, float]
    p: float
    corrected: float
    detectable: float
    changed: int
    verdict: str
    alone: float | None = None

    @property
    def told(self) -> bool:
        """Whether there is a verdict."""
        return self.verdict != UNTOLD

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**dataclasses.asdict(self), "scorers": list(self.scorers), "interval": list(self.interval)}


@dataclasses.dataclass(frozen=True, eq=False)
class Ablation:
    """What every scorer of some lists adds, cross-validated.

    Attributes
    ----------
    metric, tuner : str
    higher_is_better : bool
    folds : (N,)
        The fold of each sentence.
    by : str
        The column that keeps sentences together; empty if there is none.
    level : float
        The share of sets of sentences in which one of the verdicts is chance, at most.
    score, first : float
        Of all scorers together, each sentence re-ranked by weights that have not seen it; of the first of each list.
    effects : in the order of the scorers
    forward : scorers added one after another, the first to the first of each list; None if they were not
    notes : what is to be known of single scorers, a sentence each
    """

    metric: str
    tuner: str
    higher_is_better: bool
    folds: Int64
    by: str
    level: float
    score: float
    first: float
    effects: tuple[Effect, ...]
    forward: tuple[Effect, ...] | None
    notes: tuple[str, ...]

    @property
    def n_folds(self) -> int:
        """How many folds there are."""
        return int(self.folds.max()) + 1

    def __getitem__(self, name: str) -> Effect:
        """Return the effect of a scorer or group."""
        for effect in self.effects:
            if effect.name == name:
                return effect
        raise LuthierError(f"nothing was said of {name!r}. hint: {', '.join(e.name for e in self.effects)}")

    def __repr__(self) -> str:
        """Return a short sentence."""
        told = ", ".join(f"{effect.name} {effect.verdict}" for effect in self.effects)
        return f"<{self.metric.partition('|')[0]} {self.score:.4g} by {len(self.effects)} scorers: {told}>"

    def _repr_html_(self) -> str:
        """Return the effects for a notebook."""
        rows = [
            (e.name, e.alone, e.difference, f"{e.interval[0]:+.3g} … {e.interval[1]:+.3g}", e.corrected, e.verdict)
            for e in self.effects
        ]
        columns = ("scorer", "alone", "adds to the others", "95 % interval", "p, corrected", "verdict")
        note = f"on unseen sentences: all scorers {self.score:.4g}, first of each list {self.first:.4g}"
        return as_table(self.metric.partition("(")[0], columns, rows, note=note)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "metric": self.metric,
            "tuner": self.tuner,
            "sentences": len(self.folds),
            "folds": self.n_folds,
            "by": self.by or None,
            "level": self.level,
            "score": self.score,
            "first_of_each_list": self.first,
            "effects": [effect.as_dict() for effect in self.effects],
            "forward": None if self.forward is None else [effect.as_dict() for effect in self.forward],
            "notes": list(self.notes),
        }


@dataclasses.dataclass(frozen=True)
class Scorers:
    """What is left out, or stands alone, as one: a scorer by itself, or a named group."""

    name: str
    columns: tuple[int, ...]


def scorers_of(problem: ListProblem, groups: Mapping[str, Sequence[str]]) -> tuple[list[Scorers], list[str]]:
    """Return the groups, and every other scorer by itself; and what is to be known of some of them, a sentence each.

    A scorer that is the same for all hypotheses of every list is left aside.
    """
    names, moving = problem.names, problem.moving
    taken: dict[str, str] = {}
    for group, members in groups.items():
        unknown = [name for name in members if name not in names]
        if unknown:
            raise LuthierError(unknown_names(unknown, names))
        if not members or (group in names and group not in members):
            raise LuthierError(f"expected a name of its own and scorers for a group, found {group!r}: {list(members)}")
        for name in members:
            if name in taken:
                where = f"{taken[name]!r} and {group!r}"
                raise LuthierError(f"expected each scorer in one group, found {name!r} in {where}")
            taken[name] = group
    place = {name: d for d, name in enumerate(names)}
    found = [Scorers(group, tuple(place[name] for name in members)) for group, members in groups.items()]
    found += [Scorers(name, (d,)) for d, name in enumerate(names) if name not in taken]
    kept = [Scorers(one.name, tuple(d for d in one.columns if moving[d])) for one in found]
    kept = [one for one in kept if one.columns]
    if not kept:
        raise LuthierError("expected a scorer that differs within some list, found none")
    if len(kept) > MOST_SCORERS:
        raise LuthierError(
            f"expected at most {MOST_SCORERS} scorers or groups of them, found {len(kept)}. hint: `group` takes "
            "several as one"
        )
    notes = [
        f"{names[d]} is the same for all hypotheses of every list: it can go"
        for d in np.flatnonzero(~moving).tolist()
    ]  # fmt: skip
    return kept, [*notes, *_twins(problem)]


def _twins(problem: ListProblem) -> list[str]:
    """Say which scorers are others over again: one of equal ones may go, and what others make up."""
    moving = {name for name, moves in zip(problem.names, problem.moving.tolist(), strict=True) if moves}
    same = [twins for names in problem.twins() if len(twins := [name for name in names if name in moving]) > 1]
    notes = [
        f"{' and '.join(twins)} are identical: {'either' if len(twins) == 2 else 'all but one'} may go"
        for twins in same
    ]  # fmt: skip
    known = {name for twins in same for name in twins}
    combined = (name for name in problem.redundant() if name not in known)
    return notes + [f"{name} is a combination of others: it may go" for name in combined]


@dataclasses.dataclass(frozen=True, eq=False)
class _Ablating:
    """What all folds share."""

    problem: ListProblem
    tuner: Tuner
    scorers: tuple[Scorers, ...]
    order: tuple[int, ...]  # in which scorers are added; empty if they are not
    folds: Int64
    seed: int


@dataclasses.dataclass(frozen=True, eq=False)
class FoldStatistics:
    """Statistics of what models choose of each of n sentences, none of which they were tuned on.

    Attributes
    ----------
    whole, first : (n, S)
        Of all scorers, and of the first of each list.
    without, alone : (U, n, S)
    forward : (steps, n, S)
    """

    whole: npt.NDArray[Any]
    first: npt.NDArray[Any]
    without: npt.NDArray[Any]
    alone: npt.NDArray[Any]
    forward: npt.NDArray[Any]


def ablate_folds(
    problem: ListProblem,
    tuner: Tuner,
    scorers: Sequence[Scorers],
    folds: Int64,
    *,
    order: Sequence[int] = (),
    seed: int = 0,
    engine: Engine | None = None,
) -> FoldStatistics:
    """Return the statistics of all sentences, each re-ranked by weights that were tuned on the other folds."""
    n_folds = int(folds.max()) + 1
    given = Shared(_Ablating(problem, tuner, tuple(scorers), tuple(order), folds, seed))
    with progress("folds", n_folds) as advance:
        found = run_units(
            ablate_fold, given, {f: f for f in range(n_folds)}, engine=engine, keep=lambda *_: advance(1)
        )  # fmt: skip
    back = np.argsort(np.concatenate([np.flatnonzero(folds == fold) for fold in found]), kind="stable")
    fields = [field.name for field in dataclasses.fields(FoldStatistics)]
    return FoldStatistics(
        *(np.concatenate([getattr(part, name) for part in found.values()], axis=-2)[..., back, :] for name in fields)
    )


def ablate_fold(given: _Ablating, fold: int) -> FoldStatistics:
    """Tune every model on all folds but one, and choose from that one's lists."""
    inside, outside = np.flatnonzero(given.folds == fold), np.flatnonzero(given.folds != fold)
    problem = given.problem
    seen, unseen = (_of_sentences(problem, part) for part in (outside, inside))
    everything = tuple(sorted(d for one in given.scorers for d in one.columns))
    rngs = iter(child_rng(given.seed, fold).spawn(2 + 2 * len(given.scorers) + len(given.order)))
    with unwarned():  # what there is to say was said of all sentences
        whole = tuned(given.tuner, seen, everything, np.zeros(problem.n_features), next(rngs))
        without = [
            tuned(given.tuner, seen, tuple(d for d in everything if d not in one.columns), whole, next(rngs))
            for one in given.scorers
        ]
        best = max(without, key=seen.gain)
        again = next(rngs)
        if given.tuner.monotone and seen.gain(best) > seen.gain(whole):
            whole = tuned(given.tuner, seen, everything, best, again)
        alone = [tuned(given.tuner, seen, one.columns, whole, next(rngs)) for one in given.scorers]
        forward, here = [], np.zeros(problem.n_features)
        for step in range(len(given.order)):
            columns = tuple(d for i in given.order[: step + 1] for d in given.scorers[i].columns)
            here = tuned(given.tuner, seen, columns, here, next(rngs))
            forward.append(here)
    shape = (len(inside), problem.stats.shape[1])
    nothing = np.zeros(problem.n_features)
    parts = ([whole], [nothing], without, alone, forward)
    whole_, first, *rest = (
        unseen.selected(np.array(part)) if part else np.empty((0, *shape), problem.stats.dtype) for part in parts
    )
    return FoldStatistics(whole_[0], first[0], *rest)


def tuned(
    tuner: Tuner, problem: ListProblem, columns: Sequence[int], start: Float64, rng: np.random.Generator
) -> Float64:
    """Return the weights of a model of some features, (D,) with 0 for all others, tuned from a start, (D,).

    Where the start has no weight for any of them it is the best baseline of these features.
    """
    found = np.zeros(problem.n_features)
    if not columns:
        return found  # the first of each list
    kept = sorted(columns)
    part = restricted(problem, kept)
    begin = part.bounds.clip(start[kept])
    if not begin.any():
        begin = baselines(part).start_weights()
    for state in tuner.steps(part, begin, rng):
        found[kept] = state.weights
    return found


def restricted(problem: ListProblem, columns: Sequence[int]) -> ListProblem:
    """Return the problem with some of its features only."""
    kept = list(columns)
    features = problem.pool.features.select([problem.names[d] for d in kept])
    bounds = Bounds(problem.bounds.low[kept], problem.bounds.high[kept])
    return dataclasses.replace(problem, pool=problem.pool.with_features(features), bounds=bounds, file=None)


def _of_sentences(problem: ListProblem, sentences: Int64) -> ListProblem:
    """Return the problem of some of the sentences; its pool has statistics."""
    return ListProblem.of(problem.pool.take_sentences(sentences), problem.metric, bounds=problem.bounds)


# In which order scorers are added: each time the one with which the tuning sentences gain most.


@dataclasses.dataclass(frozen=True, eq=False)
class _Adding:
    problem: ListProblem
    tuner: Tuner
    scorers: tuple[Scorers, ...]
    chosen: tuple[int, ...]
    here: Float64
    seed: int


def forward_order(
    problem: ListProblem, tuner: Tuner, scorers: Sequence[Scorers], *, seed: int = 0, engine: Engine | None = None
) -> list[int]:
    """Return the scorers in the order in which the gain on all sentences grows fastest; if equal, the first."""
    chosen: list[int] = []
    here = np.zeros(problem.n_features)
    with progress("scorers added", len(scorers)) as advance:
        while len(chosen) < len(scorers):
            given = Shared(_Adding(problem, tuner, tuple(scorers), tuple(chosen), here, seed))
            units = {i: i for i in range(len(scorers)) if i not in chosen}
            found = run_units(add_scorer, given, units, engine=engine)
            best = max(found, key=lambda i: (found[i][0], -i))
            here = found[best][1]
            chosen.append(best)
            advance(1)
    return chosen


def add_scorer(given: _Adding, candidate: int) -> tuple[float, Float64]:
    """Return the gain, and the weights, of what was chosen before and one scorer more."""
    columns = [d for i in (*given.chosen, candidate) for d in given.scorers[i].columns]
    rng = child_rng(given.seed, FORWARD + len(given.chosen) * MOST_SCORERS + candidate)
    with unwarned():
        weights = tuned(given.tuner, given.problem, columns, given.here, rng)
    return given.problem.gain(weights), weights
