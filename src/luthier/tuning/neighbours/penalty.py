"""Penalties on the weights of neighbouring bins: linear (LNR) and monotone (MNR), after [clark2014]."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.params import param
from luthier.kbest.groups import Groups
from luthier.landscape.problem import Problem
from luthier.tuning.base import ListTuner, State
from luthier.tuning.neighbours.smooth_fit import Fit

KINDS = ("lnr", "mnr")
# From here on sech² u is 0 beside any power of u that is a float.
SECH_VANISHES = 350.0
# A weight's distance a from its neighbours' mean, and half their difference b, by (left, itself, right).
BENT, TILTED = (0.5, -1.0, 0.5), (0.5, 0.0, -0.5)


class Damping(NamedTuple):
    """D(u) = tanh^{2γ} u at u = |a / b|, u·D′(u) and u²·D″(u), each (T,)."""

    ratio: Float64
    itself: Float64
    slope: Float64
    bend: Float64


def damping(a: Float64, b: Float64, gamma: float) -> Damping:
    """Return how much of a penalty is left at weights that lie `a` from the mean of neighbours that differ by 2·`b`.

    Between its neighbours (u < 1) a weight is almost free. Where they are equal (b = 0) D is its limit, 1, and
    0 where all three are equal. Powers of u are multiplied by sech² u before either can overflow.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        u = np.abs(a / b)
    u = np.where(a == 0.0, 0.0, np.minimum(u, SECH_VANISHES))
    root = np.tanh(u)
    shrunk = np.exp(-2.0 * u)
    fall = 4.0 * shrunk / (1.0 + shrunk) ** 2  # sech² u
    steep = fall * np.divide(u, root, out=np.ones_like(u), where=root > 0.0)  # u sech² u / tanh u
    d = root ** (2.0 * gamma)
    slope = 2.0 * gamma * d * steep
    bend = 2.0 * gamma * d * ((2.0 * gamma - 1.0) * steep**2 - 2.0 * fall * u**2)
    return Damping(u, d, slope, bend)


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbours:
    r"""β Σ_j D_j · (½(w_{j−1} + w_{j+1}) − w_j)² over the inner bins of each feature (Eq. 9–13 of [clark2014]).

    ``lnr`` has D = 1, so that a straight line costs nothing. ``mnr`` has
    D = tanh^{2γ}(a / b), a = ½(w_{j−1} + w_{j+1}) − w_j and b = ½(w_{j−1} − w_{j+1}): near 0 while w_j lies between its
    neighbours, near 1 outside. Features do not see each other; the first and the last bin have no term of their own.

    Attributes
    ----------
    kind : str
    strength : float
        β, beside a loss that is summed over pairs.
    gamma : float
        γ, how sharply the damping sets in; for ``mnr`` only.
    columns : (B,) int64
        The weights of all bins, feature after feature, lowest bin first.
    inner : (B − 2,) float64
        1 where the bins at places j, j + 1 and j + 2 of `columns` are of one feature, else 0.
    n_weights : int
        D, of the whole weight vector.
    """

    kind: str
    strength: float
    gamma: float
    columns: Int64
    inner: Float64
    n_weights: int

    @classmethod
    def of(cls, groups: Groups, names: Sequence[str], *, kind: str, strength: float, gamma: float) -> Neighbours:
        """Return the penalty on the bins of groups; those of one or two bins have none."""
        position = {name: d for d, name in enumerate(names)}
        parts = [np.array([position[column] for column in g.columns]) for g in groups if len(g.columns) > 2]
        owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        columns = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
        inner = (owner[2:] == owner[:-2]).astype(np.float64)
        return cls(kind, strength, gamma, columns, inner, len(names))

    def with_strength(self, strength: float, kind: str | None = None) -> Neighbours:
        """Return the penalty with another β, and if need be of another kind."""
        return dataclasses.replace(self, strength=strength, kind=kind or self.kind)

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        """Return the value and the gradient, (D,): a bin stands in its own term and in those of both neighbours."""
        gradient = np.zeros(self.n_weights)
        if not len(self.inner):
            return 0.0, gradient
        a, b = self._bends(weights)
        if self.kind == "lnr":
            value, by_a, by_b = float(a @ a), 2.0 * a, np.zeros_like(a)
        else:
            d = damping(a, b, self.gamma)
            value = float(a @ (d.itself * a))
            by_a = a * (2.0 * d.itself + d.slope)
            by_b = -np.sign(b) * np.abs(a) * d.ratio * d.slope
        along = np.zeros(len(self.columns))
        for shift, (bent, tilted) in enumerate(zip(BENT, TILTED, strict=True)):
            along[shift : shift + len(a)] += bent * by_a + tilted * by_b
        gradient[self.columns] = self.strength * along
        return self.strength * value, gradient

    def values(self, weights: Float64) -> Float64:
        """Return the values at many weights at once, (…, D) → (…)."""
        a, b = self._bends(weights)
        d = 1.0 if self.kind == "lnr" else damping(a, b, self.gamma).itself
        return np.asarray(self.strength * (d * a**2).sum(axis=-1))

    def _bends(self, weights: Float64) -> tuple[Float64, Float64]:
        """Return a and b of every inner bin, 0 where the three are not of one feature."""
        w = weights[..., self.columns]
        left, right = 0.5 * w[..., :-2], 0.5 * w[..., 2:]
        return self.inner * (left + right - w[..., 1:-1]), self.inner * (left - right)

    def straight(self, weights: Float64, direction: Float64) -> Float64:
        """Return the steps along a line at which a bin comes to the mean of its neighbours, in ascending order."""
        (here, _), (slope, _) = self._bends(weights), self._bends(direction)
        moves = slope != 0.0
        return np.unique(-here[moves] / slope[moves])

    def band(self, weights: Float64, least: float) -> Float64:
        """Return second derivatives at `weights` as three diagonals, (3, B): entry [k, j] is that of bins j and j + k.

        Terms that curve downwards do not count there, and each keeps a share `least` of LNR's own curvature, so
        that the matrix is positive semidefinite: what a search may be scaled by.
        """
        band = np.zeros((3, len(self.columns)))
        if not len(self.inner):
            return band
        n = len(self.inner)
        aa, ab, bb = self._curves(weights, least)
        for i in range(3):
            for k in range(i + 1):
                band[i - k, k : k + n] += (
                    BENT[i] * BENT[k] * aa
                    + (BENT[i] * TILTED[k] + TILTED[i] * BENT[k]) * ab
                    + TILTED[i] * TILTED[k] * bb
                )
        return self.strength * band

    def _curves(self, weights: Float64, least: float) -> tuple[Float64, Float64, Float64]:
        """Return the second derivatives of each term by a and b, as the nearest ones that do not curve downwards."""
        if self.kind == "lnr":
            none = np.zeros_like(self.inner)
            return 2.0 * self.inner, none, none
        a, b = self._bends(weights)
        u, d, slope, bend = damping(a, b, self.gamma)
        aa = 2.0 * d + 4.0 * slope + bend
        ab = -np.sign(a) * np.sign(b) * u * (3.0 * slope + bend)
        bb = u**2 * (2.0 * slope + bend)
        mean, half = 0.5 * (aa + bb), np.hypot(0.5 * (aa - bb), ab)
        high, low = np.maximum(mean + half, 0.0), np.maximum(mean - half, 0.0)
        turn = 0.5 * np.arctan2(2.0 * ab, aa - bb)
        c, s = np.cos(turn), np.sin(turn)
        steep = high * c**2 + low * s**2 + 2.0 * least
        return self.inner * steep, self.inner * (high - low) * c * s, self.inner * (high * s**2 + low * c**2)

    def curvature(self, weights: Float64 | None = None) -> Float64:  # noqa: ARG002
        """Return the second derivatives of LNR, (D,), which those of MNR are not far above."""
        out = np.zeros(self.n_weights)
        out[self.columns] = self.with_strength(self.strength, "lnr").band(out, 0.0)[0]
        return out


NONE = "none"


@dataclasses.dataclass(frozen=True)
class NeighbourTuner(ListTuner):
    """Base of the tuners that can add a penalty on neighbouring bins, of the groups the problem knows.

    Beside a tuner's own sum β is what it is: with twice as many pairs in the sum it counts half as much.
    """

    size_means: ClassVar[str] = "the tuner has a penalty on their size"

    neighbours: str = param(NONE, choices=(NONE, *KINDS), help="penalty on weights of neighbouring bins")
    beta: float = param(1000.0, low=0.0, high=1e15, help="weight of that penalty, beside the sum over all pairs")
    gamma: float = param(2.0, low=0.5, high=100.0, help="how sharply mnr sets in where a bin leaves its neighbours")

    def refuses(self, problem: Problem) -> str:
        """Return why this method cannot work on a problem, or '' if it can."""
        reason = super().refuses(problem)
        return reason or ("" if self.neighbours == NONE else no_bins(problem, self.neighbours))

    def penalty_on_neighbours(self, problem: Problem) -> Neighbours | None:
        """Return the penalty on the problem's bins; None where there is none, or nothing of it."""
        if self.neighbours == NONE or not self.beta:
            return None
        return Neighbours.of(problem.groups, problem.names, kind=self.neighbours, strength=self.beta, gamma=self.gamma)


def no_bins(problem: Problem, kind: str) -> str:
    """Return why a penalty on neighbours has nothing to hold, or '' if it has."""
    if any(len(group.columns) > 2 for group in problem.groups):
        return ""
    return (
        f"{kind} is a penalty on three or more neighbouring bins of a feature, and no features are known to be such "
        "bins. hint: 'luthier engine discretize' makes them, `bins` names their file"
    )


def reported(state: State, fit: Fit, neighbours: Neighbours, n_pairs: int) -> State:
    """Return the state with what its penalty on neighbours was, beside so many pairs."""
    each = neighbours.strength / max(n_pairs, 1)
    note = f"{neighbours.kind} with β = {neighbours.strength:g}, {each:.4g} for each of {n_pairs:,} pairs"
    if not fit.converged:
        note += "; the fit did not converge"
    record = {"beta": neighbours.strength, "pairs": float(n_pairs), "beta_per_pair": each}
    return dataclasses.replace(state, note=note, record=record)
