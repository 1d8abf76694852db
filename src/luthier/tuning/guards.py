"""What a user should know about a problem or an answer, each in one clear sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from luthier.core.arithmetic import Formula
from luthier.core.arrays import Float64
from luthier.kbest.derived import derived_of
from luthier.kbest.inspection import linear_relations
from luthier.kbest.rerank import rerank
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem

SCALE_RATIO = 1e3  # features whose spreads differ by more are called unscaled
SMALL_EFFECT, LARGE_EFFECT = 1e-4, 1e4


def warnings_before(problem: Problem) -> list[str]:
    """Return what is odd about a problem before anything is tuned; of lists only where they can be looked into."""
    if not isinstance(problem, ListProblem):
        return [*_about_spreads(problem)]
    return [
        *_about_cheating(problem), *_about_lists(problem), *_about_spreads(problem), *_about_twins(problem),
        *_about_relations(problem),
    ]  # fmt: skip


def _about_cheating(problem: ListProblem) -> Iterator[str]:
    """Tell of formulas that use the very score that is tuned for."""
    judged = getattr(problem.metric, "column", None)
    made = [name for name, formula in derived_of(problem.pool).items() if judged in Formula(formula).names]
    if made:
        yield f"made of the column {judged!r}, which is tuned for, so that tuning on it cheats: {_listed(made)}"


def _about_lists(problem: ListProblem) -> Iterator[str]:
    starts = problem.offsets[:-1]
    same = np.all(
        np.maximum.reduceat(problem.stats, starts, axis=0) == np.minimum.reduceat(problem.stats, starts, axis=0), axis=1
    )
    n = int(np.count_nonzero(same))
    if n == len(same):
        yield "all hypotheses of every list have the same statistics: no weights can change the score"
    elif n > 0.2 * len(same):
        yield f"in {n} of {len(same)} lists all hypotheses have the same statistics: these cannot guide the tuning"


def _about_spreads(problem: Problem) -> Iterator[str]:
    spread = problem.spread
    still = [name for name, s in zip(problem.names, spread, strict=True) if s == 0]
    if still:
        yield f"the same within each list, so that its weight cannot matter: {_listed(still)}"
    moving = spread[spread > 0]
    if len(moving) and moving.max() / SCALE_RATIO > moving.min():
        ratio = moving.max() / moving.min()
        yield f"features differ in scale by a factor of {ratio:,.0f}; standardizing them evens that out"


def _about_twins(problem: ListProblem) -> Iterator[str]:
    """Tell of features that have the same number in every hypothesis."""
    dense = problem.pool.features.dense
    same: dict[bytes, list[str]] = {}
    for d, name in enumerate(problem.names[: dense.shape[1]]):
        same.setdefault(hashlib.blake2b(dense[:, d].tobytes()).digest(), []).append(name)
    for names in same.values():
        if len(names) > 1:
            yield f"the same number in every hypothesis: {_listed(names)}; only the sum of their weights counts"


def _about_relations(problem: ListProblem) -> Iterator[str]:
    relations = {} if problem.pool.features.n_dense < problem.n_features else linear_relations(problem.pool)
    if relations:
        yield f"{_listed(list(relations))} can be computed from the other features: their weights are not unique"


def warnings_after(problem: Problem, start: Float64, weights: Float64, *, unbeaten: bool = False) -> list[str]:
    """Return what is odd about an answer; `unbeaten` is a start that scores as the oracle does."""
    ties = _about_ties(problem, weights) if isinstance(problem, ListProblem) else ()
    return [*_about_movement(start, weights, unbeaten=unbeaten), *_about_effects(problem, start, weights), *ties]


def _about_movement(start: Float64, weights: Float64, *, unbeaten: bool) -> Iterator[str]:
    if np.array_equal(start, weights) and unbeaten:
        yield "the answer is the start itself: it scores as the oracle does, and there is nothing to tune"
    elif np.array_equal(start, weights):
        yield "the answer is the start itself: nothing better was found from there; try restarts or another start"


def _about_effects(problem: Problem, start: Float64, weights: Float64) -> Iterator[str]:
    spread = problem.spread
    before, after = np.abs(start) * spread, np.abs(weights) * spread
    others, ruled = after.sum() - after, LARGE_EFFECT * (before.sum() - before)
    names = np.array(problem.names, dtype=object)
    if not after.any():
        if weights.any():  # no feature differs within a list, which was said before
            return
        yield "all weights are zero: every list is one tie, and its first hypothesis is selected"
        return
    vanished = (before > 0) & (after < SMALL_EFFECT * after.max()) & ~problem.bounds.fixed
    if vanished.any():
        yield f"the weight of {_listed(list(names[vanished]))} was driven to zero: the feature hardly counts any more"
    ruling = (after > LARGE_EFFECT * np.maximum(others, np.finfo(float).tiny)) & (before <= ruled)
    if ruling.any() and len(after) > 1:
        yield f"the weight of {_listed(list(names[ruling]))} grew until nothing else counts; a bound may help"


def _about_ties(problem: ListProblem, weights: Float64) -> Iterator[str]:
    """Tell when many winners are tied with hypotheses of other statistics: the first one is taken then."""
    winners = rerank(problem.pool, weights)
    scores = problem.pool.scores(weights)
    segments = np.repeat(winners, problem.pool.list_lengths)
    rivals = (scores == scores[segments]) & np.any(problem.stats != problem.stats[segments], axis=1)
    tied = int(np.count_nonzero(np.logical_or.reduceat(rivals, problem.offsets[:-1])))
    if tied > 0.01 * len(winners):
        yield f"in {tied} of {len(winners)} lists the winner is tied with others: the score rests on their order"


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
