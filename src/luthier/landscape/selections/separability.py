"""How far lines can tell hypotheses apart: oracles that could win, pairs that could be ranked, and what contradicts.

A *constraint* is that one row beat another, w·h_i > w·h_j. Constraints are *separable* if one w fulfils all of them,
which is the question of `luthier.geometry.lp.feasibility`, and has its proof either way. Constraints that are not
separable need not all be at fault: one is *in conflict* if every w that goes against none of them leaves it undecided.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.geometry.lp.certificates import Feasible, Infeasible, proves_feasible, proves_infeasible, sorted_proof
from luthier.geometry.lp.feasibility import feasibility
from luthier.geometry.lp.lp import MarginProblem
from luthier.geometry.lp.rational import cancelling, exact_difference
from luthier.kbest.pool import Pool
from luthier.landscape.dense_rows import varying_rows

MOST_COLUMNS = 200  # exact proofs over more weights take too long
# In floats, of rows of length 1: a margin that counts as none, and a length that does.
STRICT, SHORT = 1e-9, 1e-9
ROWS_AT_ONCE = 64
MOST_ENTRIES = 1 << 28  # of the table of all constraints: 2 GB
FIELDS = ("better", "worse", "lists")


@dataclasses.dataclass(frozen=True, eq=False)
class Constraints:
    """P constraints that one row of a pool beat another of the same list.

    Attributes
    ----------
    better, worse : (P,) int64
        Rows.
    lists : (P,) int64
        The list of each; ascending.
    """

    better: Int64
    worse: Int64
    lists: Int64

    def __len__(self) -> int:
        return len(self.better)

    def take(self, which: Int64 | Bool) -> Constraints:
        """Return some of them."""
        return Constraints(self.better[which], self.worse[which], self.lists[which])


@dataclasses.dataclass(frozen=True, eq=False)
class Contradiction:
    """Constraints whose differences of features, times the multipliers λ > 0, Σλ = 1, sum to 0, exactly."""

    constraints: Constraints
    exact: tuple[Fraction, ...]

    def as_dict(self, pool: Pool) -> list[dict[str, Any]]:
        """Return a line for each constraint, rows counted within lists."""
        starts = pool.offsets[self.constraints.lists]
        rows = zip(
            self.constraints.lists.tolist(),
            (self.constraints.better - starts).tolist(),
            (self.constraints.worse - starts).tolist(),
            self.exact,
            strict=True,
        )
        return [
            {"sentence": s, "better": i, "worse": j, "multiplier": float(share), "exact_multiplier": str(share)}
            for s, i, j, share in rows
        ]


@dataclasses.dataclass(frozen=True, eq=False)
class Separation:
    """Whether constraints are separable.

    Attributes
    ----------
    weights : (D,) or None
        Those of the largest margin, if they are.
    contradiction : Contradiction or None
        If they are not.
    conflicts : (P,) bool
        Which of them are in conflict, by floats.
    """

    weights: Float64 | None
    contradiction: Contradiction | None
    conflicts: Bool

    @property
    def separable(self) -> bool:
        """Whether one w fulfils all constraints."""
        return self.contradiction is None


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """Separability of the constraints of a pool: within each sentence, and of all together.

    Attributes
    ----------
    constraints : Constraints
    alone : (N,) bool
        Sentences whose constraints are separable by themselves.
    conflicts_alone : (P,) bool
        Constraints in conflict with others of their own sentence.
    proofs : sentence → Contradiction
        For every sentence whose constraints are not separable.
    together : Separation
    """

    constraints: Constraints
    alone: Bool
    conflicts_alone: Bool
    proofs: dict[int, Contradiction]
    together: Separation

    def as_dict(self, pool: Pool) -> dict[str, Any]:
        """Return it as JSON takes it."""
        together = self.together
        return {
            "sentences": len(self.alone),
            "constraints": len(self.constraints),
            "sentences_separable_alone": int(self.alone.sum()),
            "share_in_conflict_alone": _share(self.conflicts_alone),
            "separable_together": together.separable,
            "share_in_conflict_together": _share(together.conflicts),
            "weights": None
            if together.weights is None
            else dict(zip(pool.features.names, together.weights.tolist(), strict=True)),
            "contradiction": None if together.contradiction is None else together.contradiction.as_dict(pool),
            "contradictions_alone": {str(s): proof.as_dict(pool) for s, proof in self.proofs.items()},
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """What a pool's features can tell apart, as given or after an induction.

    Attributes
    ----------
    oracle : Report
        Of the constraints that a best hypothesis of each sentence beat all that are worse.
    pairs : Report
        Of PRO's pairs.
    misordered : float
        The share of these pairs that a logistic fit puts in the wrong order, or leaves tied.
    """

    name: str
    pool: Pool
    oracle: Report
    pairs: Report
    misordered: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "model": self.name,
            "features": self.pool.n_features,
            "oracle": self.oracle.as_dict(self.pool),
            "pairs": self.pairs.as_dict(self.pool) | {"misordered": self.misordered},
        }


def oracle_constraints(pool: Pool, gains: Float64) -> Constraints:
    """Return the constraints that a best hypothesis of each list, by gains (M,), beat all of lower gain.

    Where several are best, the first of those that can do so in their own list, or the first.
    """
    _, rows = varying_rows(pool, MOST_COLUMNS)
    parts = []
    for s, (start, stop) in enumerate(itertools.pairwise(pool.offsets.tolist())):
        here = np.arange(start, stop)
        if not len(here):
            continue
        most = gains[start:stop].max()
        best, lower = here[gains[start:stop] == most], here[gains[start:stop] < most]
        offers = [Constraints(np.full(len(lower), b), lower, np.full(len(lower), s)) for b in best.tolist()]
        able = (offer for offer in offers if len(offers) > 1 and rows.shape[1] and separate(rows, offer).separable)
        parts.append(next(able, offers[0]))
    whole = [np.concatenate([np.zeros(0, np.int64), *(getattr(w, name) for w in parts)]) for name in FIELDS]
    return Constraints(*whole)


def _share(flags: Bool) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def separability(pool: Pool, constraints: Constraints) -> Report:
    """Return whether constraints are separable, sentence by sentence and together, with proofs checked exactly."""
    columns, rows = varying_rows(pool, MOST_COLUMNS)
    if not len(columns):
        columns, rows = np.arange(1), np.zeros((pool.n_hypotheses, 1))
    bounds = np.searchsorted(constraints.lists, np.arange(pool.n_sentences + 1))
    alone, proofs = np.ones(pool.n_sentences, np.bool_), {}
    conflicts = np.zeros(len(constraints), np.bool_)
    with progress("separable sentences", pool.n_sentences) as advance:
        for s in range(pool.n_sentences):
            part = slice(int(bounds[s]), int(bounds[s + 1]))
            found = separate(rows, constraints.take(np.arange(part.start, part.stop)))
            if found.contradiction is not None:
                alone[s], conflicts[part], proofs[s] = False, found.conflicts, found.contradiction
            advance(1)
    together = separate(rows, constraints)
    if together.weights is not None:
        whole = np.zeros(pool.n_features)
        whole[columns] = together.weights
        together = dataclasses.replace(together, weights=whole)
    return Report(constraints, alone, conflicts, proofs, together)


def separate(rows: Float64, constraints: Constraints) -> Separation:
    """Return whether constraints about rows, (M, D), are separable."""
    alike = np.flatnonzero((rows[constraints.better] == rows[constraints.worse]).all(axis=1))
    none = np.zeros(len(constraints), np.bool_)
    if not len(constraints):
        return Separation(np.zeros(rows.shape[1]), None, none)
    if len(alike):  # nothing tells these two apart: a contradiction by itself
        proof = Contradiction(constraints.take(alike[:1]), (Fraction(1),))
        return Separation(None, proof, conflicting(rows[constraints.better] - rows[constraints.worse]))
    if 2 * len(constraints) * rows.shape[1] > MOST_ENTRIES:
        raise LuthierError(
            f"expected constraints that fit into memory, found {len(constraints):,} about {rows.shape[1]} features. "
            "hint: fewer sentences, or shorter lists"
        )
    # each constraint is a list of two rows, of which the first is selected
    table = np.stack([rows[constraints.better], rows[constraints.worse]], axis=1).reshape(2 * len(constraints), -1)
    used = np.flatnonzero((table != table[0]).any(axis=0))
    table, offsets = np.ascontiguousarray(table[:, used]), 2 * np.arange(len(constraints) + 1)
    found = _quick_proof(table) or feasibility(offsets, table, offsets[:-1])
    if isinstance(found, Feasible):
        _require(proves_feasible(found.exact, offsets, table, offsets[:-1]))
        weights = np.zeros(rows.shape[1])
        weights[used] = found.weights
        return Separation(weights, None, none)
    assert isinstance(found, Infeasible)
    _require(proves_infeasible(found, offsets, table, offsets[:-1]))
    proof = Contradiction(constraints.take(found.lists), found.exact)
    return Separation(None, proof, conflicting(table[::2] - table[1::2]))


def _quick_proof(table: Float64) -> Infeasible | None:
    """Return a contradiction where floats find the constraints that cancel, and these do so exactly; else None."""
    differences = table[1::2] - table[::2]
    cancelled = _cancelled(-differences / np.linalg.norm(differences, axis=1, keepdims=True))
    if cancelled is None:
        return None
    exact = [exact_difference(table[2 * p + 1], table[2 * p]) for p in cancelled.tolist()]
    shares = cancelling([vector for vector, _ in exact])
    if shares is None:
        return None
    scaled = [share / scale for share, (_, scale) in zip(shares, exact, strict=True)]
    whole = tuple(share / sum(scaled) for share in scaled)
    return sorted_proof(cancelled, 2 * cancelled + 1, whole)


def conflicting(differences: Float64) -> Bool:
    """Return which of the constraints w·d > 0, (P, D), are in conflict, by floats.

    Constraints that cancel are undecided for every w that goes against none, so w is orthogonal to them; in the space
    that is left others may cancel, and so on, until the rest is separable. Each time at least one dimension goes.
    """
    lengths = np.linalg.norm(differences, axis=1)
    open_ = lengths > 0
    unit = differences[open_] / lengths[open_, None]
    conflict = np.ones(len(unit), np.bool_)
    rest, basis = np.arange(len(unit)), np.eye(differences.shape[1])
    while len(rest) and basis.shape[1]:
        projected = unit[rest] @ basis
        size = np.linalg.norm(projected, axis=1)
        rest, projected, size = rest[size > SHORT], projected[size > SHORT], size[size > SHORT]
        cancelled = _cancelled(projected / size[:, None])
        if cancelled is None:
            conflict[rest] = False
            break
        _, values, right = np.linalg.svd(projected[cancelled], full_matrices=True)
        rank = int(np.count_nonzero(values > SHORT * values.max(initial=0.0)))
        basis = basis @ right[rank:].T
    out = np.ones(len(differences), np.bool_)
    out[open_] = conflict
    return out


def _cancelled(rows: Float64) -> Int64 | None:
    """Return rows of which no w has row·w > 0 for all, (a,); None if some w has that for all rows."""
    if not len(rows):
        return None
    problem, weights, known = MarginProblem(rows.shape[1]), rows.mean(axis=0), np.zeros(0, np.int64)
    while True:
        heights = rows @ weights
        heights[known] = np.inf
        worst = np.argsort(heights, kind="stable")[:ROWS_AT_ONCE]
        new = worst[heights[worst] <= STRICT]
        if not len(new):
            return None
        problem.add(-rows[new])
        known = np.concatenate([known, new])
        margin = problem.solve()
        if margin.margin <= STRICT:
            return known[margin.active[margin.multipliers > STRICT]]  # a share of rounding is none
        weights = margin.weights


def _require(holds: bool) -> None:
    if not holds:
        raise LuthierError("a proof was found that does not hold in exact arithmetic: this is a fault of ours")
