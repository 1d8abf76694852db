"""Which run is the answer, and what a held-out set has to say about it.

Few sentences tell the best of many vectors badly: whoever lets everything compete on them takes what they happen to
like. So the ends of runs compete, no state on the way, and a run counts as worse than the best on the held-out
sentences only where it is so by more than one standard error of the difference; among the others the tuning score,
which has seen more sentences, decides [breiman1984].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.rng import child_rng
from luthier.landscape.curve import mean_gains
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units, movable
from luthier.tuning.base import State

CERTAIN = 2.0  # standard errors beyond which a difference is called more than chance


@dataclasses.dataclass(frozen=True, eq=False)
class End:
    """What competes: an end of a run, its gain on the tuning sentences, and on the held-out ones."""

    weights: Float64
    gain: float
    heldout_gain: float


def choose_end(ends: Sequence[End], start: End, heldout: Problem) -> tuple[int, str]:
    """Return the number of the answer, and in a sentence where tuning and held-out sentences disagree, '' if not."""
    seen = np.array([end.heldout_gain for end in ends])
    gains = np.array([end.gain for end in ends])
    top = int(np.argmax(seen))
    # the start is compared too, for the sentence about it; it does not compete
    vectors = np.array([end.weights for end in (*ends, start)])
    to_top = heldout.errors_of_differences(vectors, top)[:-1]
    eligible = np.flatnonzero(seen >= seen[top] - to_top)
    answer = int(eligible[np.argmax(gains[eligible])])
    said = []
    tuned = int(np.argmax(gains))
    if tuned != answer and seen[tuned] < seen[top] - CERTAIN * to_top[tuned]:
        said.append(
            f"the run with the best tuning score is worse on the held-out sentences than another by "
            f"{seen[top] - seen[tuned]:.2f} (standard error {to_top[tuned]:.2f}): it was not taken"
        )
    to_start = float(heldout.errors_of_differences(vectors, len(ends))[answer])
    loss = start.heldout_gain - seen[answer]
    if loss > CERTAIN * to_start and ends[answer].gain > start.gain:
        said.append(
            f"tuning gained {ends[answer].gain - start.gain:.2f} on its own sentences and lost {loss:.2f} on the "
            f"held-out ones (standard error {to_start:.2f}): that is more than chance. hint: more sentences, fewer "
            "features, or a method that stays near its start (mert-regularized, fan-regularized)"
        )
    return answer, "; ".join(said)


# How far the answer of any tuner is from the best weights there are, by a search over boxes of weights.


def refuses_proof(problem: Problem) -> str:
    """Return why nothing can be proven about a problem, or ''."""
    if not isinstance(problem, ListProblem):
        return "a proof needs lists of hypotheses, and this problem has none"
    probe = np.ones(problem.stats.shape[1])
    if problem.metric.majorant(probe, probe, probe) is None:
        return f"the metric {problem.metric.name!r} declares no majorant, so nothing can be proven of it"
    return ""


def proof_note(problem: Problem, answer: State, boxes: int, *, threads: int) -> str:
    """Return what a search of so many boxes proves of an answer among all weights within the bounds."""
    from luthier.landscape.certified.certificate import Proof  # seldom wanted, and slow to load
    from luthier.landscape.certified.certify import CertifyOptions, certify
    from luthier.landscape.certified.windows import WindowOptions, feature_axes

    if not isinstance(problem, ListProblem) or not len(movable(problem)):
        return ""
    space = WindowOptions(whole=True).space(problem, feature_axes(problem, answer.weights, ()))
    found = certify(problem, space, answer.weights, CertifyOptions(gap=0.0, limit=boxes, threads=threads))
    return Proof.of(found, answer.gain).sentence


# The answer that lasts: weights whose gain stays high when each of them is a little off.
#
# What is climbed is the mean gain under Gaussian noise of all weights, in units of a feature's mean effect. Along an
# axis the mean over that weight's own noise is exact (`luthier.landscape.planes.robust`); over the others' it is taken
# from a few draws, the same for every place that is compared.

STREAM = 1 << 40  # a number that no restart has
PLACES = np.linspace(-3.0, 3.0, 25)  # tried along an axis, in deviations
SWEEPS = 3
JUDGES = 4  # times as many draws judge the answer as found it
LEAST = 1e-9


def robust_state(problem: Problem, ends: Sequence[State], *, noise: float, draws: int, seed: int) -> State:
    """Return weights near the ends of runs with a higher mean gain under noise, or the best end as it was.

    The end with the highest mean is where the search begins. Draws that had no part in it judge whether what
    it found is better.
    """
    rng = child_rng(seed, STREAM)
    first = max(ends, key=lambda end: end.gain)
    free = movable(problem)
    if not len(free) or noise <= 0.0:
        return first
    units = np.where(problem.bounds.fixed, 0.0, effect_units(problem.spread, first.weights))
    tried, judging = (_draws(rng, n, units, noise) for n in (draws, JUDGES * draws))
    begin = max(ends, key=lambda end: mean_gain(problem, end.weights, tried))
    here = np.array(begin.weights)
    for _ in range(SWEEPS):
        moved = [_moved(problem, here, int(d), units, tried, noise) for d in free]
        if not any(moved):
            break
    before, after = (mean_gain(problem, weights, judging) for weights in (first.weights, here))
    if after <= before + LEAST:
        return State(first.weights, first.gain, first.did, first.objective, _note(noise, before, None, first.note))
    return State(here, problem.gain(here), "robust", None, _note(noise, before, after, ""))


def _draws(rng: np.random.Generator, n: int, units: Float64, noise: float) -> Float64:
    """Return n moves of the weights, (n, D), in pairs of opposite ones."""
    half = rng.standard_normal(((n + 1) // 2, len(units))) * (noise * units)
    return np.concatenate([half, -half])[:n]


def mean_gain(problem: Problem, weights: Float64, moves: Float64) -> float:
    """Return the mean gain at weights moved by each of n moves, (n, D); what leaves the bounds is brought back."""
    return float(np.mean(problem.gains(problem.bounds.clip(weights + moves))))


def _moved(problem: Problem, here: Float64, d: int, units: Float64, moves: Float64, noise: float) -> bool:
    """Move weight d of `here` to where the mean is highest; return whether it moved."""
    direction = np.zeros((1, len(here)))
    direction[0, d] = units[d]
    others = moves.copy()
    others[:, d] = 0.0
    low, high = problem.bounds.steps_along(here, direction[0])
    places = np.clip(noise * PLACES, low, high)
    total = np.zeros(len(places))
    for start in problem.bounds.clip(here + others):
        for curve in problem.curves(start, direction):
            total += mean_gains(curve, places, noise)
    best, still = int(np.argmax(total)), len(places) // 2
    if total[best] <= total[still] + LEAST * len(moves):
        return False
    here[d] += places[best] * units[d]
    return True


def _note(noise: float, before: float, after: float | None, said: str) -> str:
    mean = f"{before:.4g}" if after is None else f"{before:.4g} → {after:.4g}"
    return "; ".join(filter(None, (said, f"mean gain under noise of {noise:g} mean effects: {mean}")))
