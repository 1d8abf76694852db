"""Whether some weights make a given selection where features are many, with a proof either way.

With a few hundred features linear programs in rationals take too long (`luthier.landscape.selections.feasibility`).
Here floats search, and what they find is checked without rounding: weights against every row, multipliers λ by the
exact size of Σλd. Where few rows contradict each other their exact multipliers are found too, and the sum is 0.

The search is for the largest margin, by interior points (`luthier.geometry.lp.interior`). Of each list a few rows are
in the program at first; others join it as its answers hurt them. A contradiction of some rows is one of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy import optimize, sparse

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.geometry.lp.certificates import Feasible, Infeasible
from luthier.geometry.lp.interior import CLOSED, MarginProgram, contradicting
from luthier.geometry.lp.rational import cancelling
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank

MOST_ROUNDS, FEW_ROUNDS = 200, 12
EPOCHS = 60  # of the perceptron
JOINING = 4  # constraints of a list that join a program at a time
ENOUGH = 0.5  # of the largest margin, where other constraints are looked at
LARGEST_WEIGHT = 1e4  # of weights, of columns scaled to at most 1, where a margin is 1
CLEAR = 1e-7  # a margin, of columns scaled to at most 1, below which constraints count as contradicting
UNIT = 2.0**-53
MOST_EXACT = 200  # rows of a contradiction whose exact multipliers are looked for


def sparse_feasibility(pool: Pool, rows: Int64) -> Feasible | Infeasible:
    """Decide whether some weights select the features of the given row of each list, (N,), −1 for no choice.

    Weights that are found need not have the largest margin. A no says by its `epsilon` what it proves.

    Raises
    ------
    LuthierError
        If the margin is too small for floats to find weights, and too large for a contradiction.
    """
    constraints = _Constraints(pool, rows)
    program, used = MarginProgram(constraints.n_columns), np.zeros(0, np.int64)
    for _ in range(MOST_ROUNDS):
        new = constraints.joining(program, used)
        if len(new):
            used = np.concatenate([used, new])
            program.add(constraints.table[new])
            program.solve(ENOUGH)
            if program.margin >= ENOUGH * max(program.bound, CLOSED):
                continue
            return constraints.contradiction(program, used)
        proof = constraints.feasible(program.weights)
        if proof is not None:
            return proof
        break
    raise LuthierError(
        f"the {constraints.n_columns:,} weights that floats found do not select it when checked exactly: "
        "the margin is beyond them"
    )


def weights_that_select(pool: Pool, rows: Int64) -> Float64 | None:
    """Return weights, (D,), that select the features of the given row of each list, (N,); None if there are none."""
    proof = sparse_feasibility(pool, rows)
    return proof.weights if isinstance(proof, Feasible) else None


def lists_followed(pool: Pool, rows: Int64) -> Bool:
    """Return lists, (N,), in which one weight vector selects the features of the given row, as many as were found.

    First a perceptron's weights and their average, epoch after epoch. Then weights that hurt the constraints of lists
    as little as they can, summed over lists: a hinge for each. A re-rank says in which lists nothing is hurt. More
    lists may be possible.
    """
    constraints = _Constraints(pool, rows)
    weights, chosen = np.zeros(constraints.n_columns), np.zeros(pool.n_hypotheses, np.bool_)
    best = constraints.selects(weights)
    for one, total in constraints.epochs():
        best = max(best, constraints.selects(one), constraints.selects(total), key=np.count_nonzero)
    for _ in range(FEW_ROUNDS):
        hurt = constraints.hurt(weights, 1.0 - CLEAR)
        new = constraints.worst(constraints.table @ weights, hurt[~chosen[hurt]])
        if not len(new):
            break
        chosen[new] = True
        asked = np.flatnonzero(chosen)
        weights = _least_hurt(constraints.table[asked], constraints.lists[asked], pool.n_sentences)
        best = max(best, constraints.selects(weights), key=np.count_nonzero)
    return best


class _Constraints:
    """That the given row of each list beats all others with other features: differences, (M, n), scaled by column.

    Columns are those in which any row differs from the wanted one. Scaled weights are of these, plain ones of all.
    """

    def __init__(self, pool: Pool, rows: Int64) -> None:
        self.pool, self.rows = pool, rows
        self.features = _table(pool)
        self.lists = segment_of_rows(pool.offsets)
        wanted = rows[self.lists]
        self.wanted = np.where(wanted >= 0, wanted, np.arange(len(wanted)))  # a list without a choice asks for nothing
        table = (self.features[self.wanted] - self.features).tocsr()
        table.eliminate_zeros()
        self.asked = np.flatnonzero(np.diff(table.indptr) > 0)
        largest = np.zeros(table.shape[1])
        np.maximum.at(largest, table.indices, np.abs(table.data))
        self.columns = np.flatnonzero(largest)
        self.scale = largest[self.columns]
        table.data /= largest[table.indices]
        place = np.cumsum(largest > 0, dtype=table.indices.dtype) - 1
        self.n_columns = len(self.columns)
        self.table = sparse.csr_array(
            (table.data, place[table.indices], table.indptr), shape=(len(wanted), self.n_columns)
        )

    def plain(self, weights: Float64) -> Float64:
        """Return scaled weights as those of the pool's features, (D,)."""
        plain = np.zeros(self.pool.n_features)
        plain[self.columns] = weights / self.scale
        return plain

    def epochs(self) -> Iterator[tuple[Float64, Float64]]:
        """Yield after each epoch of a perceptron its weights, and their sum over all steps."""
        weights, total = np.zeros(self.n_columns), np.zeros(self.n_columns)
        ends = np.searchsorted(self.lists[self.asked], np.arange(self.pool.n_sentences + 1)).tolist()
        tables = [self.table[self.asked[a:b]] for a, b in itertools.pairwise(ends)]
        for _ in range(EPOCHS):
            wrong = False
            for table in tables:
                margins = table @ weights
                if len(margins) and margins.min() <= CLEAR:
                    at = int(np.argmin(margins))
                    row = slice(table.indptr[at], table.indptr[at + 1])
                    weights[table.indices[row]] += table.data[row]
                    wrong = True
                total += weights
            yield weights, total
            if not wrong:
                break

    def joining(self, program: MarginProgram, used: Int64) -> Int64:
        """Return constraints to join a program: of every list the four that its weights hurt most; none if none is."""
        ahead = self.table @ program.weights
        ahead[used] = np.inf
        if not np.any(ahead[self.asked] <= 0):
            return np.zeros(0, np.int64)
        least = ENOUGH * program.margin if len(used) else 0.0
        return self.worst(ahead, self.asked[ahead[self.asked] <= least])

    def contradiction(self, program: MarginProgram, rows: Int64) -> Infeasible:
        """Return rows whose differences cancel, exactly if their multipliers are found, else as nearly as they do."""
        few, shares = contradicting(program)
        order = np.argsort(rows[few])
        rows, shares, exact, epsilon = rows[few][order], shares[order], None, 0.0
        if len(rows) <= MOST_EXACT:
            exact = cancelling(self._whole(rows))
        if exact is None:
            total = sum(map(Fraction, shares.tolist()), Fraction(0))
            exact = tuple(Fraction(share) / total for share in shares.tolist())
            epsilon = self._size(rows, exact)
        if epsilon > CLEAR:
            raise LuthierError(
                f"the rows that floats found leave a margin of {epsilon:.2g} open when checked exactly: "
                "whether some weights select it is beyond them"
            )
        return Infeasible(self.lists[rows], rows, np.array([float(share) for share in exact]), exact, epsilon)

    def _exact(self, row: int) -> dict[int, Fraction]:
        """Return the wanted features less those of a row, without rounding, by column."""
        found: dict[int, Fraction] = {}
        for one, sign in ((int(self.wanted[row]), 1), (row, -1)):
            part = slice(self.features.indptr[one], self.features.indptr[one + 1])
            for column, value in zip(
                self.features.indices[part].tolist(), self.features.data[part].tolist(), strict=True
            ):
                found[column] = found.get(column, Fraction(0)) + sign * Fraction(value)
        return {column: value for column, value in found.items() if value}

    def _whole(self, rows: Int64) -> list[list[int]]:
        """Return the differences of rows as whole numbers over the columns that any has, each by its column's unit."""
        table = [self._exact(row) for row in rows.tolist()]
        columns = sorted({column for row in table for column in row})
        units = {
            c: int(np.lcm.reduce([row[c].denominator for row in table if c in row], dtype=object)) for c in columns
        }
        return [[int(row.get(column, Fraction(0)) * units[column]) for column in columns] for row in table]

    def _size(self, rows: Int64, exact: tuple[Fraction, ...]) -> float:
        """Return Σ_k |Σ_j λ_j d_jk| / s_k, rounded up."""
        sums: dict[int, Fraction] = {}
        for row, share in zip(rows.tolist(), exact, strict=True):
            for column, value in self._exact(row).items():
                sums[column] = sums.get(column, Fraction(0)) + share * value
        scale = dict(zip(self.columns.tolist(), map(Fraction, self.scale.tolist()), strict=True))
        total = sum((abs(value) / scale[column] for column, value in sums.items()), Fraction(0))
        return float(np.nextafter(float(total), np.inf)) if total else 0.0

    def feasible(self, weights: Float64) -> Feasible | None:
        """Return the proof that scaled weights select what is wanted, every row having been compared exactly."""
        plain = self.plain(weights)
        scores, sizes = self.features @ plain, abs(self.features) @ np.abs(plain)
        gaps = scores[self.wanted] - scores
        longest = int(np.diff(self.features.indptr).max(initial=0))
        clear = gaps > 4.0 * (longest + 4) * UNIT * (sizes[self.wanted] + sizes) + 2.0**-1000
        doubtful = self.asked[~clear[self.asked]]
        exact = tuple(map(Fraction, plain.tolist()))
        for row in doubtful[np.argsort(gaps[doubtful], kind="stable")].tolist():  # the first that fails ends it
            gap = sum((exact[c] * value for c, value in self._exact(row).items()), Fraction(0))
            if gap <= 0:
                return None
            gaps[row] = float(gap)
        lowest = self.rows.copy()  # the lowest row of the list that equals the wanted one
        same = np.ones(self.pool.n_hypotheses, np.bool_)
        same[self.asked] = False
        first = np.flatnonzero(same & (self.rows[self.lists] >= 0))
        lowest[self.lists[first[::-1]]] = first[::-1]
        margin = float(gaps[self.asked].min(initial=np.inf))
        return Feasible(plain, margin, lowest, not len(doubtful), exact)

    def hurt(self, weights: Float64, least: float) -> Int64:
        """Return the constraints that scaled weights fulfil by no more than `least`."""
        return np.asarray(self.asked[(self.table @ weights)[self.asked] <= least])

    def worst(self, ahead: Float64, hurt: Int64) -> Int64:
        """Return the constraints of each list that are hurt most, of those given; `ahead`, (M,), says how much."""
        order = hurt[np.lexsort((ahead[hurt], self.lists[hurt]))]
        owner = self.lists[order]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        return np.asarray(order[rank < JOINING])

    def selects(self, weights: Float64) -> Bool:
        """Return in which lists scaled weights fulfil every constraint, and a re-rank selects what is wanted, (N,)."""
        rest = (self.features[rerank(self.pool, self.plain(weights))] - self.features[self.rows]).tocsr()
        rest.eliminate_zeros()
        found = np.asarray(np.diff(rest.indptr) == 0) | (self.rows < 0)
        found[self.lists[self.hurt(weights, CLEAR / 2)]] = False  # a tie that the first row wins is no choice
        return found


def _table(pool: Pool) -> sparse.csr_array:
    f = pool.features
    many = sparse.csr_array((f.values, f.indices, f.indptr), shape=(len(f), f.n_features - f.n_dense))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(f.dense), many], format="csr"))


def _least_hurt(constraints: sparse.csr_array, lists: Int64, n_lists: int) -> Float64:
    """Return the w, |w_k| ≤ `LARGEST_WEIGHT`, of the least sum over lists of max(0, 1 − least constraint·w)."""
    n_rows, n_columns = constraints.shape
    slack = sparse.csr_array((np.ones(n_rows), (np.arange(n_rows), lists)), shape=(n_rows, n_lists))
    matrix = sparse.hstack([-constraints, -slack], format="csr")
    aim = np.concatenate([np.zeros(n_columns), np.ones(n_lists)])
    limits = [(-LARGEST_WEIGHT, LARGEST_WEIGHT)] * n_columns + [(0.0, None)] * n_lists
    found = optimize.linprog(aim, A_ub=matrix, b_ub=-np.ones(n_rows), bounds=limits, method="highs-ipm")
    if found.x is None:
        raise LuthierError(f"the linear program has no answer: {found.message}")
    return np.asarray(found.x[:n_columns])
