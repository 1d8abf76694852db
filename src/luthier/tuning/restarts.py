"""Where runs start: the given weights, and others drawn about them or anywhere."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.tuning.options import RESTART_KINDS

PERTURBED_FEATURES = 3


def draw_start(kind: str, start: Float64, scale: Float64, bounds: Bounds, rng: np.random.Generator) -> Float64:
    """Return a start of one more run, inside the bounds, (D,).

    Parameters
    ----------
    kind
        ``random``: every free weight anew, normal, in units of `scale`. ``perturbed``: every free weight
        moved by a normal amount. ``few``: three free weights moved, as [zhao2009] do. ``walk``: as
        ``perturbed``, from where the run before ended [moore2008]; `start` is then that end.
    scale : (D,)
        How much of each weight counts as one unit: weights whose features spread little are larger.
    """
    if kind not in RESTART_KINDS:
        raise LuthierError(f"expected one of {', '.join(RESTART_KINDS)}, found {kind!r}")
    noise = rng.standard_normal(len(start)) * scale
    if kind == "random":
        moved = noise
    elif kind == "few":
        free = np.flatnonzero(~bounds.fixed)
        chosen = rng.choice(free, size=min(PERTURBED_FEATURES, len(free)), replace=False)
        moved = start.copy()
        moved[chosen] += noise[chosen]
    else:
        moved = start + noise
    return bounds.clip(np.where(bounds.fixed, start, moved))


# The length of a start: free for selections, and not for methods that compare scores with gains or pay for distance.
#
# A selection depends on the direction of the weights only. All scaling here is by a power of two, which changes no
# selection. A start that its bounds hold in place, and one whose scores are all equal, is returned as it is.


def rescaled(problem: ListProblem, start: Float64, gains: Float64) -> Float64:
    """Return the start at a length at which scores spread within lists about as gains in words do.

    Where scores spread far more than gains, no margin is ever violated; where far less, every one is, and the first
    steps drown the start.

    Parameters
    ----------
    gains : (M,) of all hypotheses, in words
    """
    return with_spread(problem, start, _spread_of(gains, problem.offsets))


def with_spread(problem: ListProblem, start: Float64, wanted: float) -> Float64:
    """Return the start at a length at which scores spread within lists about as much as wanted."""
    return _scaled(problem, start, wanted, _spread_of(problem.pool.scores(start), problem.offsets))


def with_effect(problem: Problem, start: Float64, wanted: float) -> Float64:
    """Return the start at a length at which the effects |w|·s of its features have about such a root of their squares.

    s is the spread of a feature, which every problem knows, lists or not; were features independent, scores would
    spread by as much.
    """
    return _scaled(problem, start, wanted, float(np.linalg.norm(start * problem.spread)))


def _scaled(problem: Problem, start: Float64, wanted: float, found: float) -> Float64:
    if not (np.isfinite([wanted, found]).all() and min(wanted, found) > 0.0):
        return start
    power = np.rint(np.log2(wanted) - np.log2(found))
    scaled: Float64 = np.ldexp(start, int(np.clip(power, -900, 900)))
    fits = np.isfinite(scaled).all() and not problem.bounds.fixed.any() and problem.bounds.allow(scaled)
    return scaled if fits else start


def _spread_of(values: Float64, offsets: Int64) -> float:
    """Return the standard deviation of values about the means of their lists."""
    means = np.add.reduceat(values, offsets[:-1]) / np.diff(offsets)
    return float(np.sqrt(np.mean((values - np.repeat(means, np.diff(offsets))) ** 2)))
