"""Minimum Bayes risk over lists: expected utilities as features, and the hypothesis with the highest one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.progress import progress
from luthier.core.segments import offsets_from_counts, segment_blocks, segment_of_rows
from luthier.core.threads import executor
from luthier.features.consensus._gram_kernels import Lists
from luthier.features.consensus.evidence import Block, Evidence, check_norms, list_weights, make_block
from luthier.features.consensus.utilities import Utility, text_batch
from luthier.kbest.pool import Pool
from luthier.metrics.batch import Batch

BLOCK_ROWS = 1 << 14
# Utilities that differ by less than this share of their size are equal: rounding does not decide between hypotheses.
EQUAL = 1e-9
# Numbers that say how much pairs of a matrix count, held at once.
MOST_COUNTED = 1 << 22
Matrices = Callable[[str], Float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Selection:
    """The hypothesis of each sentence with the highest expected utility.

    Attributes
    ----------
    rows : (N,) int64
        −1 for a sentence without hypotheses. Of equal utilities the first row has it.
    utilities : (N,) float64
    pairs, scored : int
        The pairs of distinct texts, and those that were scored: fewer if others were ruled out by limits.
    """

    rows: Int64
    utilities: Float64
    pairs: int
    scored: int


@dataclasses.dataclass(frozen=True)
class UtilityFeature:
    """An expected utility that was added to a pool: its name, what it is of, and its range over all hypotheses."""

    name: str
    utility: str
    low: float
    mean: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Consensus(Shown):
    """What hypotheses agree on.

    Attributes
    ----------
    pool : Pool
        The lists, with a feature for each utility unless one text of each list was wanted.
    features : tuple of UtilityFeature
    texts : list of str, optional
        The text of each sentence that was selected or voted for.
    selection : Selection, optional
        The selected rows, and how many pairs were scored to find them.
    by : str
        What selected: a utility or ``rover``; '' if nothing was selected.
    """

    pool: Pool
    features: tuple[UtilityFeature, ...]
    texts: list[str] | None
    selection: Selection | None
    by: str

    @property
    def rows(self) -> Int64 | None:
        """The selected row of each sentence; None if nothing was selected, or no row of the lists."""
        return None if self.selection is None else self.selection.rows

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        about: dict[str, Any] = {"sentences": self.pool.n_sentences, "hypotheses": self.pool.n_hypotheses}
        if self.features:
            about["features"] = [dataclasses.asdict(feature) for feature in self.features]
        if self.by:
            about["by"] = self.by
        if self.selection is not None:
            first = self.pool.offsets[:-1][self.selection.rows >= 0]
            about |= {
                "not_first": int(np.count_nonzero(self.selection.rows[self.selection.rows >= 0] != first)),
                "mean_utility": float(self.selection.utilities[self.selection.rows >= 0].mean())
                if len(first)
                else None,
                "pairs": self.selection.pairs,
                "scored": self.selection.scored,
            }
        return about


def expected_utilities(
    pool: Pool,
    utilities: Sequence[Utility],
    evidence: Evidence | None = None,
    *,
    aggregate: bool = False,
    threads: int = 1,
) -> Float64:
    """Return the expected utilities of every hypothesis, (U, M, T): more is better.

    The utility of a hypothesis h is Σ p(r)·u(h, r) over the evidence r. With `aggregate` it is the score of h with the
    mean n-gram counts of the evidence as its reference: another number, in time linear in the texts [denero2009].

    Notes
    -----
    Pairs of a list are scored one row after another and summed at once: no K × K matrix is held. Equal texts of a
    list are scored once.
    """
    shown = evidence or Evidence()
    n_ways = 1 if shown.posterior is None else len(shown.temperatures)
    out: Float64 = np.zeros((len(utilities), pool.n_hypotheses, n_ways))

    def work(block: Block, batch: Batch, rows: slice) -> None:
        for k, utility in enumerate(utilities):
            out[k, rows] = utility.aggregated(block, batch) if aggregate else utility.averages(block, batch)

    _over_blocks(pool, shown, work, threads)
    return out


def matrix_utilities(pool: Pool, matrices: Matrices, evidence: Evidence | None = None) -> Float64:
    """Return the expected utilities by matrices of scores from elsewhere, (M, T).

    `matrices` returns that of a sentence by its id: a row for each hypothesis, a column for each hypothesis of the
    evidence's list, more is better. One is held at a time.
    """
    shown = evidence or Evidence()
    weights, shown_offsets, own = list_weights(pool, shown)
    out, norms = np.zeros((2, pool.n_hypotheses, weights.shape[1]))
    for i in range(pool.n_sentences):
        first, last = int(pool.offsets[i]), int(pool.offsets[i + 1])
        if first == last:
            continue
        part = weights[shown_offsets[i] : shown_offsets[i + 1]]
        matrix = _checked(matrices(pool.sentence_ids[i]), last - first, len(part), pool.sentence_ids[i])
        if shown.first is None and matrix.shape[1] > len(part):
            raise _other_shape(last - first, len(part), pool.sentence_ids[i], matrix)
        matrix = matrix[:, : len(part)]
        step = max(1, MOST_COUNTED // max(1, part.size))
        for begin in range(first, last, step):
            rows = np.arange(begin, min(begin + step, last))
            counted = np.repeat(part[None], len(rows), axis=0)  # (rows, R, T)
            itself = np.flatnonzero(rows - first < len(part))
            counted[itself, rows[itself] - first] -= own[rows[itself]]
            norms[rows] = counted.sum(axis=1)
            out[rows] = np.einsum("hr,hrt->ht", matrix[rows - first], counted)
    check_norms(pool, np.arange(pool.n_sentences), pool.offsets, norms)
    return np.divide(out, norms, out=np.zeros_like(out), where=norms > 0)


def select_by(
    pool: Pool,
    utility: Utility,
    evidence: Evidence | None = None,
    *,
    prune: bool = False,
    aggregate: bool = False,
    threads: int = 1,
) -> Selection:
    """Return the hypothesis of each sentence with the highest expected utility.

    With `prune` only those are scored whose limit is not below the best sum so far: the result is the same. Limits
    come from the summed n-grams of the evidence, by Jensen's inequality, or from bags of words for edit distances.
    """
    shown = evidence or Evidence()
    check_one_way(shown, prune=prune, aggregate=aggregate)
    values: Float64 = np.empty(pool.n_hypotheses)
    counts = []

    def work(block: Block, batch: Batch, span: slice) -> None:
        lists, looked = block.lists, np.full(len(block.lists.cand), not aggregate)
        if prune:
            found, looked = _pruned(utility, lists, batch)
            values[span] = found[block.candidates] / block.norms[:, 0] + utility.constant
        else:
            values[span] = (utility.aggregated if aggregate else utility.averages)(block, batch)[:, 0]
        counts.append(_count_pairs(lists, looked))

    _over_blocks(pool, shown, work, threads)
    pairs, scored = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    return first_of_best(pool, values, pairs, scored, utility.constant)


def check_one_way(evidence: Evidence, *, prune: bool, aggregate: bool = False) -> None:
    """Raise where evidence counts in several ways, of which none is the winner's, or where limits would not hold."""
    if len(evidence.temperatures) > 1 and evidence.posterior is not None:
        raise LuthierError("a selection needs one temperature: each has its own winners")
    if prune and (evidence.leave_self_out or aggregate):
        raise LuthierError("limits hold for the scores of pairs with the candidate itself among the evidence")


def first_of_best(pool: Pool, values: Float64, pairs: int, scored: int, constant: float = 0.0) -> Selection:
    """Return the first hypothesis of each list whose utility, of all M given, is equal to the highest."""
    rows: Int64 = np.full(pool.n_sentences, -1, dtype=np.int64)
    found: Float64 = np.zeros(pool.n_sentences)
    for i in np.flatnonzero(np.diff(pool.offsets)).tolist():
        own = values[pool.offsets[i] : pool.offsets[i + 1]]
        best = own.max()
        k = int(np.argmax(own >= best - EQUAL * max(1.0, abs(best - constant))))
        rows[i], found[i] = pool.offsets[i] + k, own[k]
    return Selection(rows, found, pairs, scored)


def _over_blocks(pool: Pool, evidence: Evidence, work: Callable[[Block, Batch, slice], None], threads: int) -> None:
    """Work on consecutive sentences, some at a time, so that memory is bounded."""

    def one(first: int, last: int) -> None:
        block = make_block(pool, evidence, np.arange(first, last))
        work(block, text_batch(block.texts, block.lists.offsets), slice(pool.offsets[first], pool.offsets[last]))

    blocks = segment_blocks(pool.offsets, BLOCK_ROWS)
    with progress("lists scored", pool.n_sentences) as advance:
        if threads == 1 or len(blocks) == 1:
            for first, last in blocks:
                one(first, last)
                advance(last - first)
            return
        with executor(threads) as workers:
            for (first, last), task in [(block, workers.submit(one, *block)) for block in blocks]:
                task.result()
                advance(last - first)


def _pruned(utility: Utility, lists: Lists, batch: Batch) -> tuple[Float64, Bool]:
    """Return the sums of those candidates that may be best, −∞ for the others, and which were scored; (C,) each."""
    sentence = segment_of_rows(lists.cand_offsets)
    limits = utility.limits(lists, batch)
    whole = np.diff(np.concatenate([[0.0], np.cumsum(lists.weights[:, 0])])[lists.evid_offsets])  # (N,)
    limits = limits + EQUAL * np.maximum(whole[sentence], np.abs(limits))
    order = np.lexsort((-limits, sentence))
    values, looked = np.full(len(limits), -np.inf), np.zeros(len(limits), dtype=bool)
    best, n = np.full(len(lists.offsets) - 1, -np.inf), 1
    while True:
        slack = 2 * EQUAL * np.maximum(whole, np.abs(np.where(np.isfinite(best), best, 0.0)))
        open_ = order[~looked[order] & (limits[order] >= (best - slack)[sentence[order]])]
        if not len(open_):
            return values, looked
        begins = np.searchsorted(sentence[open_], np.arange(len(lists.offsets) - 1))
        rank = np.arange(len(open_)) - begins[sentence[open_]]
        chosen = np.sort(open_[rank < n])
        values[chosen] = utility.sums(_some_candidates(lists, chosen), batch)
        looked[chosen] = True
        np.maximum.at(best, sentence[chosen], values[chosen])
        n *= 2


def _some_candidates(lists: Lists, chosen: Int64) -> Lists:
    counts = np.bincount(segment_of_rows(lists.cand_offsets)[chosen], minlength=len(lists.offsets) - 1)
    return lists._replace(
        cand_offsets=offsets_from_counts(counts),
        cand=lists.cand[chosen],
        same=lists.same[chosen],
        symmetric=np.zeros_like(lists.symmetric),
    )


def _count_pairs(lists: Lists, looked: Bool) -> tuple[int, int]:
    """Return the pairs of candidates and evidence, and those of the candidates that were looked at."""
    shown = np.diff(lists.evid_offsets)[segment_of_rows(lists.cand_offsets)]
    return int(shown.sum()), int(shown[looked].sum())


def _checked(matrix: Any, n_rows: int, n_columns: int, name: str) -> Float64:
    found = np.asarray(matrix, dtype=np.float64)
    if found.ndim != 2 or len(found) != n_rows or found.shape[1] < n_columns:
        raise _other_shape(n_rows, n_columns, name, found)
    if not np.isfinite(found).all():
        raise LuthierError(f"expected finite scores of pairs for the sentence {name!r}, found NaN or an infinity")
    return found


def _other_shape(n_rows: int, n_columns: int, name: str, found: Float64) -> LuthierError:
    wanted = f"a matrix of {n_rows} × {n_columns} scores for the sentence {name!r}"
    return LuthierError(f"expected {wanted}, found shape {found.shape}")
