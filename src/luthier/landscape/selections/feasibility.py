"""Whether some weights make a given selection from a pool: which selection, the verdict, its proof in words."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import STDIN, display_name
from luthier.core.html import Shown
from luthier.corpus.lines import read_lines
from luthier.geometry.lp.certificates import Feasible, Infeasible, proves_feasible, proves_infeasible
from luthier.geometry.lp.feasibility import closest_rivals, feasibility
from luthier.geometry.lp.lp import irredundant
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.kbest.weights import Weights
from luthier.landscape.dense_rows import varying_columns, varying_rows
from luthier.landscape.selections.sparse_feasibility import sparse_feasibility
from luthier.metrics.base import Metric
from luthier.metrics.oracle import corpus_oracle, sentence_oracle
from luthier.metrics.pools import pool_statistics

ORACLES = {"oracle": corpus_oracle, "sentence-oracle": sentence_oracle}
LEFT_OUT = "-"
MOST_COLUMNS = 200  # programs in rationals over more weights take too long


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
    largest : bool
        Whether the weights are those of the largest margin; with more than 200 features they need not be.
    """

    pool: Pool
    choice: Choice
    proof: Feasible | Infeasible
    selects: bool | None
    largest: bool = True

    @property
    def weights(self) -> Weights | None:
        """The weights by name; None if there are none."""
        if not isinstance(self.proof, Feasible):
            return None
        return Weights.from_vector(self.pool.features.names, self.proof.weights)

    @property
    def proven(self) -> str:
        """What was proven, in words."""
        if isinstance(self.proof, Infeasible) and self.proof.epsilon:
            return f"no weights have a margin above {self.proof.epsilon:.2g}, of features that differ by at most 1"
        return "checked exactly"

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
                exact_multiplier=str(share) if not self.proof.epsilon else repr(float(share)),
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
            "proof": self.proven,
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
    if len(varying_columns(pool)) > MOST_COLUMNS:
        proof = sparse_feasibility(pool, choice.rows)
        return Verdict(pool, choice, proof, _selects(pool, proof) if isinstance(proof, Feasible) else None, False)
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
    return Verdict(pool, choice, proof, _selects(pool, proof))


def _selects(pool: Pool, proof: Feasible) -> bool:
    wanted = proof.rows >= 0
    return bool((rerank(pool, proof.weights)[wanted] == proof.rows[wanted]).all())


def _rows_that_matter(pool: Pool) -> tuple[Int64, Float64]:
    """Return the features that differ within a list, (c,) and (M, c); the first one where none does."""
    columns, rows = varying_rows(pool, MOST_COLUMNS)
    return (columns, rows) if len(columns) else (np.arange(1), np.zeros((pool.n_hypotheses, 1)))


def _require(holds: bool) -> None:
    if not holds:
        raise LuthierError("a proof was found that does not hold in exact arithmetic: this is a fault of ours")
