"""Whether some weights make a given selection from a pool: which selection, the verdict, its proof in words."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, sparse

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import STDIN, display_name
from luthier.core.html import Shown
from luthier.core.segments import segment_of_rows
from luthier.corpus.lines import read_lines
from luthier.geometry.lp.certificates import Feasible, Infeasible, proves_feasible, proves_infeasible
from luthier.geometry.lp.feasibility import closest_rivals, feasibility
from luthier.geometry.lp.lp import irredundant
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.kbest.weights import Weights
from luthier.landscape.dense_rows import varying_rows
from luthier.metrics.base import Metric
from luthier.metrics.oracle import corpus_oracle, sentence_oracle
from luthier.metrics.pools import pool_statistics

ORACLES = {"oracle": corpus_oracle, "sentence-oracle": sentence_oracle}
LEFT_OUT = "-"
MOST_COLUMNS = 200  # exact proofs over more weights take too long


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """A row of each sentence, (N,), −1 where none is wanted; the corpus score where it is an oracle's."""

    name: str
    rows: Int64
    score: float | None = None
    metric: str | None = None


@dataclasses.dataclass(frozen=True)
class Constraint:
    """One of several constraints that cannot all come true: one hypothesis of a sentence is to beat another."""

    sentence: int
    sentence_id: str
    wanted: int
    wanted_text: str
    other: int
    other_text: str
    multiplier: float
    exact_multiplier: str


@dataclasses.dataclass(frozen=True, eq=False)
class Verdict(Shown):
    """What was asked of a pool, and what came out.

    Attributes
    ----------
    selects : bool or None
        If feasible, whether a re-rank of the pool with the weights selects the wanted vectors.
    """

    pool: Pool
    choice: Choice
    proof: Feasible | Infeasible
    selects: bool | None

    @property
    def weights(self) -> Weights | None:
        """The weights by name; None if there are none."""
        if not isinstance(self.proof, Feasible):
            return None
        return Weights.from_vector(self.pool.features.names, self.proof.weights)

    def constraints(self) -> tuple[list[str], Float64]:
        """Return constraints in words, and how much of each feature the wanted row has more than the other, (n, D).

        The contradicting ones, times their multipliers; if all can come true, the hardest one of each sentence, and
        with two features those that bound the cone of weights.
        """
        columns, h = _rows_that_matter(self.pool)
        if isinstance(self.proof, Infeasible):
            lists, rows, shares = self.proof.lists, self.proof.rows, self.proof.multipliers
        else:
            _, closest = closest_rivals(self.pool.offsets, h, self.choice.rows, self.proof.weights[columns])
            rows = closest[closest >= 0]
            if self.pool.n_features == len(columns) == 2:
                rows = np.union1d(rows, self._bounding(h, self.proof.weights))
            lists = np.searchsorted(self.pool.offsets, rows, side="right") - 1
            shares = np.ones(len(rows))
        starts, wanted = self.pool.offsets[lists], self.choice.rows[lists]
        names = [
            f"sentence {s}: {i} above {j}"
            for s, i, j in zip(lists.tolist(), (wanted - starts).tolist(), (rows - starts).tolist(), strict=True)
        ]
        differences = np.zeros((len(rows), self.pool.n_features))
        differences[:, columns] = shares[:, None] * (h[wanted] - h[rows])
        return names, differences

    def _bounding(self, h: Float64, weights: Float64) -> Int64:
        """Return the rows whose constraints bound the cone."""
        wanted = np.repeat(self.choice.rows, np.diff(self.pool.offsets))
        rows = np.flatnonzero((wanted >= 0) & (h != h[wanted]).any(axis=1))
        return rows[irredundant(h[rows] - h[wanted[rows]], weights)] if len(rows) else rows

    def contradiction(self) -> list[Constraint]:
        """Return the constraints that cannot all come true, by sentence and hypothesis; none if all can."""
        if isinstance(self.proof, Feasible):
            return []
        pool, starts = self.pool, self.pool.offsets
        return [
            Constraint(
                sentence=s,
                sentence_id=pool.sentence_ids[s],
                wanted=int(self.choice.rows[s] - starts[s]),
                wanted_text=pool.texts[int(self.choice.rows[s])],
                other=int(row - starts[s]),
                other_text=pool.texts[row],
                multiplier=float(share),
                exact_multiplier=str(share),
            )
            for s, row, share in zip(self.proof.lists.tolist(), self.proof.rows.tolist(), self.proof.exact, strict=True)
        ]

    @property
    def n_sentences(self) -> int:
        """How many sentences a hypothesis was chosen of."""
        return int(np.count_nonzero(self.choice.rows >= 0))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it."""
        told: dict[str, Any] = {
            "feasible": isinstance(self.proof, Feasible),
            "proof": "checked exactly",
            "selection": self.choice.name,
        }
        if self.choice.score is not None:
            told |= {"metric": self.choice.metric, "score": self.choice.score}
        told["sentences"] = self.n_sentences
        if isinstance(self.proof, Feasible):
            margin = self.proof.margin if np.isfinite(self.proof.margin) else None
            told |= {"margin": margin, "selects": self.selects, "weights": dict(self.weights or {})}
        else:
            told["contradiction"] = [dataclasses.asdict(constraint) for constraint in self.contradiction()]
        return told


def choose(pool: Pool, select: str, metric: Metric) -> Choice:
    """Return the selection that a name or a file represents."""
    filled = np.diff(pool.offsets) > 0
    rows = np.full(pool.n_sentences, -1, np.int64)
    if select in ORACLES:
        found = ORACLES[select](metric, pool_statistics(pool, metric), pool.offsets)
        rows[filled] = found.rows
        return Choice(select, rows, found.score, metric.signature)
    if select == "first":
        rows[filled] = pool.offsets[:-1][filled]
        return Choice(select, rows)
    if select != STDIN and not Path(select).exists():
        raise LuthierError(
            f"expected the selection {', '.join(ORACLES)}, first or a file of hypothesis numbers, found {select!r}, "
            f"which is no file"
        )
    return Choice(display_name(select), read_selection(pool, select))


def read_selection(pool: Pool, path: str) -> Int64:
    """Read one hypothesis number for each sentence, from 0; '-' leaves a sentence out.

    A sentence without hypotheses has an empty line or '-'.
    """
    lines, name = list(read_lines(path)), display_name(path)
    if len(lines) != pool.n_sentences:
        raise InputError(
            expected=f"{pool.n_sentences:,} lines, one for each sentence",
            found=f"{len(lines):,}",
            path=name,
            line=min(len(lines), pool.n_sentences + 1),
            hint="each line is the number of a hypothesis in its list, from 0",
        )
    rows = np.full(pool.n_sentences, -1, np.int64)
    for s, (text, size) in enumerate(zip(lines, np.diff(pool.offsets).tolist(), strict=True)):
        word = text.strip()
        if word == LEFT_OUT or (not word and not size):
            continue
        if not (word.isascii() and word.isdigit()) or int(word) >= size:
            wanted = f"a number from 0 to {size - 1}" if size else "an empty line, as there are no hypotheses"
            raise InputError(
                expected=f"{wanted} for sentence {s}, or '-' to leave it out", found=repr(word), path=name, line=s + 1
            )
        rows[s] = pool.offsets[s] + int(word)
    return rows


def judge(pool: Pool, choice: Choice) -> Verdict:
    """Decide whether some weights select the choice, check the proof exactly, and let a re-rank confirm weights."""
    columns, rows = _rows_that_matter(pool)
    proof = feasibility(pool.offsets, rows, choice.rows)
    if isinstance(proof, Infeasible):
        _require(proves_infeasible(proof, pool.offsets, rows, choice.rows))
        return Verdict(pool, choice, proof, None)
    _require(proves_feasible(proof.exact, pool.offsets, rows, choice.rows))
    weights, exact = np.zeros(pool.n_features), [Fraction(0)] * pool.n_features
    for at, value, fraction in zip(columns.tolist(), proof.weights.tolist(), proof.exact, strict=True):
        weights[at], exact[at] = value, fraction
    proof = dataclasses.replace(proof, weights=weights, exact=tuple(exact))
    wanted = proof.rows >= 0
    selects = bool((rerank(pool, proof.weights)[wanted] == proof.rows[wanted]).all())
    return Verdict(pool, choice, proof, selects)


def _rows_that_matter(pool: Pool) -> tuple[Int64, Float64]:
    """Return the features that differ within a list, (c,) and (M, c); the first one where none does."""
    columns, rows = varying_rows(pool, MOST_COLUMNS)
    return (columns, rows) if len(columns) else (np.arange(1), np.zeros((pool.n_hypotheses, 1)))


def _require(holds: bool) -> None:
    if not holds:
        raise LuthierError("a proof was found that does not hold in exact arithmetic: this is a fault of ours")


MOST_ROUNDS, FEW_ROUNDS = 60, 12
JOINING = 4  # constraints of a list that join a programme at a time
REACH = 1e4  # of weights, of columns scaled to at most 1, where a margin is 1
CLEAR = 1e-7  # a margin, of columns scaled to at most 1, below which constraints count as contradicting


def weights_that_select(pool: Pool, rows: Int64) -> Float64 | None:
    """Return weights, (D,), whose re-rank selects the features of the given row of each list, (N,); None if none were
    found, in floating point.

    Constraints join the programme as its answers hurt them: of every list the four that are hurt most.
    """
    constraints = _Wishes(pool, rows)
    weights, chosen = np.zeros(constraints.n_columns), np.zeros(pool.n_hypotheses, np.bool_)
    for _ in range(MOST_ROUNDS):
        hurt = constraints.hurt(weights, CLEAR / 2)
        if not len(hurt):
            selects = constraints.selects(weights)
            return weights / constraints.scale if np.all(selects) else None
        new = constraints.worst(weights, hurt[~chosen[hurt]])
        chosen[new] = True
        margin, weights = _largest_margin(constraints.table[np.flatnonzero(chosen)])
        if not len(new) or margin <= CLEAR:
            return None
    raise LuthierError(f"the linear program of {constraints.n_columns:,} weights did not end in {MOST_ROUNDS} rounds")


def lists_followed(pool: Pool, rows: Int64) -> Bool:
    """Return lists, (N,), in which one weight vector selects the features of the given row, as many as were found.

    The weights hurt the constraints of lists as little as they can, summed over lists: a hinge for each. A re-rank
    says in which lists nothing is hurt. More lists may be possible.
    """
    constraints = _Wishes(pool, rows)
    weights, chosen = np.zeros(constraints.n_columns), np.zeros(pool.n_hypotheses, np.bool_)
    best = constraints.selects(weights)
    for _ in range(FEW_ROUNDS):
        hurt = constraints.hurt(weights, 1.0 - CLEAR)
        new = constraints.worst(weights, hurt[~chosen[hurt]])
        if not len(new):
            break
        chosen[new] = True
        asked = np.flatnonzero(chosen)
        weights = _least_hurt(constraints.table[asked], constraints.lists[asked], pool.n_sentences)
        found = constraints.selects(weights)
        best = found if found.sum() > best.sum() else best
    return best


class _Wishes:
    """That the given row of each list beats all others with other features: differences, (M, D), scaled by column."""

    def __init__(self, pool: Pool, rows: Int64) -> None:
        self.pool, self.rows = pool, rows
        self.features = _table(pool)
        self.lists = segment_of_rows(pool.offsets)
        differences = (self.features[rows[self.lists]] - self.features).tocsr()
        differences.eliminate_zeros()
        self.asked = np.flatnonzero(np.diff(differences.indptr) > 0)
        largest = np.asarray(np.abs(differences).max(axis=0).todense()).ravel()
        self.scale = np.where(largest > 0, largest, 1.0)
        self.table = (differences @ sparse.diags_array(1.0 / self.scale)).tocsr()
        self.n_columns = int(self.table.shape[1])

    def hurt(self, weights: Float64, least: float) -> Int64:
        """Return the constraints that scaled weights fulfil by no more than `least`."""
        return np.asarray(self.asked[(self.table @ weights)[self.asked] <= least])

    def worst(self, weights: Float64, hurt: Int64) -> Int64:
        """Return the constraints of each list that are hurt most, of those given."""
        order = hurt[np.lexsort(((self.table @ weights)[hurt], self.lists[hurt]))]
        owner = self.lists[order]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        return np.asarray(order[rank < JOINING])

    def selects(self, weights: Float64) -> Bool:
        """Return in which lists scaled weights fulfil every constraint, and a re-rank selects what is wanted, (N,)."""
        rest = (self.features[rerank(self.pool, weights / self.scale)] - self.features[self.rows]).tocsr()
        rest.eliminate_zeros()
        found = np.asarray(np.diff(rest.indptr) == 0)
        found[self.lists[self.hurt(weights, CLEAR / 2)]] = False  # a tie that the first row wins is no choice
        return found


def _table(pool: Pool) -> sparse.csr_array:
    f = pool.features
    many = sparse.csr_array((f.values, f.indices, f.indptr), shape=(len(f), f.n_features - f.n_dense))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(f.dense), many], format="csr"))


def _largest_margin(constraints: sparse.csr_array) -> tuple[float, Float64]:
    """Return the largest t with constraints·w ≥ t, t ≤ 1, |w_k| ≤ 1, and such a w."""
    n_rows, n_columns = constraints.shape
    matrix = sparse.hstack([-constraints, sparse.csr_array(np.ones((n_rows, 1)))], format="csr")
    aim = np.zeros(n_columns + 1)
    aim[-1] = -1.0
    limits = [(-1.0, 1.0)] * n_columns + [(None, 1.0)]
    found = optimize.linprog(aim, A_ub=matrix, b_ub=np.zeros(n_rows), bounds=limits, method="highs")
    if found.x is None:
        raise LuthierError(f"the linear program has no answer: {found.message}")
    return float(found.x[-1]), np.asarray(found.x[:-1])


def _least_hurt(constraints: sparse.csr_array, lists: Int64, n_lists: int) -> Float64:
    """Return the w, |w_k| ≤ `REACH`, for which the sum over lists of max(0, 1 − least constraint·w) is least."""
    n_rows, n_columns = constraints.shape
    slack = sparse.csr_array((np.ones(n_rows), (np.arange(n_rows), lists)), shape=(n_rows, n_lists))
    matrix = sparse.hstack([-constraints, -slack], format="csr")
    aim = np.concatenate([np.zeros(n_columns), np.ones(n_lists)])
    limits = [(-REACH, REACH)] * n_columns + [(0.0, None)] * n_lists
    found = optimize.linprog(aim, A_ub=matrix, b_ub=-np.ones(n_rows), bounds=limits, method="highs-ipm")
    if found.x is None:
        raise LuthierError(f"the linear program has no answer: {found.message}")
    return np.asarray(found.x[:n_columns])
