"""Which run is the answer, and what a held-out set has to say about it.

Few sentences tell the best of many vectors badly: whoever lets everything compete on them takes what they happen to
like. So the ends of runs compete, no state on the way, and a run counts as worse than the best on the held-out
sentences only where it is so by more than one standard error of the difference; among the others the tuning score,
which has seen more sentences, decides [breiman1984].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.rng import child_rng
from luthier.kbest.weights import Weights
from luthier.landscape.curve import mean_gains
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem, effect_units, movable
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


Watch = Callable[[int, int, State, float | None], None]  # number of the run, step, state, gain on the held-out set


def unwatched(run: int, step: int, state: State, heldout_gain: float | None) -> None:
    """Tell nobody."""


@dataclasses.dataclass(frozen=True, eq=False)
class RestartTrace:
    """All states of one run, the gain of each on the held-out set, and which of them is its answer.

    Attributes
    ----------
    early : bool
        Whether the held-out set chooses among the states, instead of taking the last.
    process, cpu_seconds
        Who ran it, and what it took there.
    """

    restart: int
    states: tuple[State, ...]
    heldout_gains: tuple[float, ...]
    finished: bool
    early: bool = False
    process: int = 0
    cpu_seconds: float = 0.0

    @property
    def chosen(self) -> int:
        """Number of the answer: the last state, or the best on the held-out set.

        If several are as good, it is the earliest of them.
        A run that was interrupted had no time to come back to its best state: that one is taken.
        """
        if self.heldout_gains and self.early:
            return int(np.argmax(self.heldout_gains))
        if not self.finished:
            return int(np.argmax([state.gain for state in self.states]))
        return len(self.states) - 1

    @property
    def key(self) -> float:
        """What runs are compared by."""
        return self.heldout_gains[self.chosen] if self.heldout_gains else self.states[self.chosen].gain

    def tell(self, watch: Watch) -> None:
        """Tell somebody of all states, in order."""
        for step, state in enumerate(self.states):
            watch(self.restart, step, state, self.heldout_gains[step] if self.heldout_gains else None)


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """Weights, and how they were found.

    Attributes
    ----------
    weights : (D,)
    gain, heldout_gain
        At `weights`; the latter None without a held-out set.
    start_gain, start_heldout_gain
        At the start of the first run.
    best_restart, agreed
        Which run it was, and how many runs ended at the same gain.
    note, record : what the answer's state says of itself
    heldout_note : where the held-out sentences disagree with it by more than chance; '' if they do not
    traces : one for each run, in order
    interrupted : bool
    seconds : CPU seconds of this process while it ran, and of others for their runs; wall-clock seconds of this
        process; both without what compiling took
    """

    weights: Float64
    gain: float
    heldout_gain: float | None
    start_gain: float
    start_heldout_gain: float | None
    best_restart: int
    agreed: int
    note: str
    traces: tuple[RestartTrace, ...]
    interrupted: bool
    seconds: tuple[float, float]
    heldout_note: str = ""
    record: Mapping[str, float] = dataclasses.field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def weights_by_name(self) -> Weights:
        """The weights under the names of their features."""
        return Weights.from_vector(self.names, self.weights)

    def __repr__(self) -> str:
        """Return a short sentence."""
        held = "" if self.heldout_gain is None else f", held out {self.heldout_gain:.4g}"
        runs = f", {self.agreed} of {len(self.traces)} runs agree" if len(self.traces) > 1 else ""
        return f"<Result: gain {self.start_gain:.4g} → {self.gain:.4g}{held}{runs}; {len(self.weights)} weights>"
