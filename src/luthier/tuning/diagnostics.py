"""What a user should know about a problem or an answer, each in one clear sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.kbest.serving.formula import Formula
from luthier.landscape.problem import Problem

SCALE_RATIO = 1e3  # features whose spreads differ by more are called unscaled
SAME_SCORE = 0.999  # correlation from which on a feature knows what is tuned for
SMALL_EFFECT, LARGE_EFFECT = 1e-4, 1e4


def warnings_before(problem: Problem, meant: Collection[str] = ()) -> list[str]:
    """Return what is odd about a problem before anything is tuned; `meant` are features that are to be trusted."""
    return [
        *_about_cheating(problem),
        *_about_leaks(problem, meant),
        *_about_lists(problem),
        *_about_spreads(problem),
        *_about_twins(problem),
        *_about_relations(problem),
    ]


def _about_cheating(problem: Problem) -> Iterator[str]:
    """Tell of formulas that use the very score that is tuned for."""
    judged = getattr(problem.metric, "column", None)
    made = [name for name, formula in problem.derived.items() if judged in Formula(formula).names]
    if made:
        yield f"made of the column {judged!r}, which is tuned for, so that tuning on it cheats: {_listed(made)}"


def _about_leaks(problem: Problem, meant: Collection[str]) -> Iterator[str]:
    """Tell of features that must have been made with the references: by their name, or because they know the score."""
    metric = problem.metric
    judged = {getattr(part, "column", part.name) for part in (metric, *getattr(metric, "parts", ()))}
    plain = {_plain(name) for name in judged}
    hint = "if it was made without the references, say so: `feature`"
    named = [name for name in problem.names if _plain(name) in plain and name not in meant]
    if named:
        yield f"the feature {_listed(named)} has the name of what is tuned for, and tuning on it would cheat; {hint}"
    for name, r in problem.correlations().items():
        if abs(r) >= SAME_SCORE and name not in (*meant, *named, *problem.derived):
            yield f"the feature {name!r} agrees with what is tuned for (correlation {r:.4f}); {hint}"


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _about_lists(problem: Problem) -> Iterator[str]:
    alike = problem.lists_alike()
    if alike is None:
        return
    if alike == problem.n_sentences:
        yield "all hypotheses of every list have the same statistics: no weights can change the score"
    elif alike > 0.2 * problem.n_sentences:
        yield (
            f"in {alike} of {problem.n_sentences} lists all hypotheses have the same statistics: these cannot guide "
            "the tuning"
        )


def _about_spreads(problem: Problem) -> Iterator[str]:
    spread = problem.spread
    still = [name for name, s in zip(problem.names, spread, strict=True) if s == 0]
    if still:
        yield f"the same within each list, so that its weight cannot matter: {_listed(still)}"
    moving = spread[spread > 0]
    if len(moving) and moving.max() / SCALE_RATIO > moving.min():
        ratio = moving.max() / moving.min()
        yield f"features differ in scale by a factor of {ratio:,.0f}; standardizing them evens that out"


def _about_twins(problem: Problem) -> Iterator[str]:
    """Tell of features that have the same number in every hypothesis."""
    for names in problem.twins():
        yield f"the same number in every hypothesis: {_listed(names)}; only the sum of their weights counts"


def _about_relations(problem: Problem) -> Iterator[str]:
    redundant = problem.redundant()
    if redundant:
        yield f"{_listed(redundant)} can be computed from the other features: their weights are not unique"


def warnings_after(problem: Problem, start: Float64, weights: Float64, *, unbeaten: bool = False) -> list[str]:
    """Return what is odd about an answer; `unbeaten` is a start that scores as the oracle does."""
    return [
        *_about_movement(start, weights, unbeaten=unbeaten),
        *_about_effects(problem, start, weights),
        *_about_ties(problem, weights),
    ]


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


def _about_ties(problem: Problem, weights: Float64) -> Iterator[str]:
    """Tell when many winners are tied with hypotheses of other statistics: the first one is taken then."""
    tied, lists = problem.lists_tied(weights), problem.n_sentences
    if tied is not None and tied > 0.01 * lists:
        yield f"in {tied} of {lists} lists the winner is tied with others: the score rests on their order"


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
