"""Features of rows as they are read: dense while names are few, else entries that are sorted out last."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, GrowingArray, Int32, Int64
from luthier.core.errors import InputError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.features import Features
from luthier.kbest.reading.names import NameTable, collision

# Values that a table lacks, where a column has most of them: an error, or filled as the user says.
#
# An absent log-probability would otherwise count 0, the best there is, and win. A feature that more than half of a
# table's rows have is *dense*, and what it lacks is missing; rarer names are sparse, and 0 where they are absent.

ERROR, ZERO, WORST, MEAN = POLICIES = ("error", "zero", "worst", "mean")
DENSE_SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class Filling:
    """What is done about missing values, and for which features lower values are better.

    `values` are those of single features, whatever the policy: weights may say what a missing one counts.
    """

    policy: str = ERROR
    costs: Collection[str] = ()
    values: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def fill(self, name: str, column: Float64, holes: Bool) -> float:
        """Write a value where a column has none, (M,) each; return it."""
        present = column[~holes]
        if name in self.values:
            value = self.values[name]
        elif self.policy == MEAN:
            value = float(present.mean())
        elif self.policy == WORST:
            value = float(present.max() if name in self.costs else present.min())
        else:
            assert self.policy == ZERO, self.policy
            value = 0.0
        column[holes] = value
        return value


def missing_values_error(counts: Sequence[tuple[str, int]], n_rows: int, first_row: int, path: str) -> InputError:
    """Return the complaint about features that some rows lack."""
    name, missing = counts[0]
    more = f", and {len(counts) - 1} more features like it" if len(counts) > 1 else ""
    return InputError(
        expected=f"the feature {name!r} on every row, as most have it",
        found=f"{missing:,} of {n_rows:,} rows without it, row {first_row + 1:,} the first{more}",
        path=path,
        kind="missing",
        hint="`missing` worst or mean fills it in; `missing` zero counts it 0, which is the best log-probability",
    )


# Rows left out in place, for arrays that nobody else has seen yet.
#
# A pool never changes; but while one is being built, copying half a gigabyte to lose a few repeated rows
# would cost more than reading them did. The arrays given here are used up: only what is returned is valid.


def compact_features(features: Features, keep: Bool) -> Features:
    """Return the features of the rows that are kept, (M,) of them True where they are."""
    dense = _owned(features.dense)
    n = kernels.compact_rows(dense.reshape(-1), dense.shape[1], keep)
    values_indptr, values = _owned(features.indptr).copy(), _owned(features.values)
    kernels.compact_spans(values, values_indptr, keep)
    indptr, indices = _owned(features.indptr), _owned(features.indices)
    kernels.compact_spans(indices, indptr, keep)
    used = int(indptr[n])
    return dataclasses.replace(
        features,
        dense=dense[:n],
        indptr=indptr[: n + 1],
        indices=indices[:used],
        values=values[:used],
    )


def compact_texts(texts: Texts, keep: Bool) -> Texts:
    """Return the texts that are kept."""
    return Texts(*_compact(texts.offsets, texts.data, keep))


def compact_tokens(tokens: Tokens, keep: Bool) -> Tokens:
    """Return the token sequences that are kept."""
    return Tokens(*_compact(tokens.offsets, tokens.ids, keep))


def _compact(
    offsets: npt.NDArray[Any], data: npt.NDArray[Any], keep: Bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    offsets, data = _owned(offsets), _owned(data)
    n = kernels.compact_spans(data, offsets, keep)
    return offsets[: n + 1], data[: offsets[n]]


def _owned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array that a read-only view looks at, to be written to; a copy where it cannot be had."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner.flags.writeable and owner.size == array.size and owner.flags.c_contiguous:
        return owner.reshape(array.shape)
    return array.copy()


# With at most so many names all are dense; beyond, only those that a tenth of the rows have.
DENSE_LIMIT = 64
STORED_DENSE_SHARE = 0.1


class FeatureRows:
    """Takes the features of more and more rows, and makes one table of them in the end.

    A dense row is half the size of its entries, so rows are laid out densely as they come for as long
    as that may be their final form.
    """

    def __init__(self, table: NameTable) -> None:
        self._table = table
        self._n_rows = 0
        self._used = np.zeros(0, dtype=np.bool_)  # which numbers of the table any row has
        self._width: int | None = 0  # of the dense rows; None once there are too many names
        self._dense = GrowingArray(np.float64)
        self._counts, self._names = GrowingArray(np.int64), GrowingArray(np.int32)
        self._values = GrowingArray(np.float64)
        self._gaps = GrowingArray(np.bool_)  # of rows in which an absent dense feature is missing
        self.filled: dict[str, int] = {}
        self.filled_with: dict[str, float] = {}

    def append(self, row_starts: Int64, names: Int32, values: Float64, *, gaps: bool = False) -> None:
        """Take rows; row r has the entries ``row_starts[r]:row_starts[r+1]``; `gaps` as in `Block`."""
        n_rows = len(row_starts) - 1
        self._gaps.append(np.full(n_rows, gaps))
        self._note_used(names)
        if self._width is not None and len(self._table) > self._width:
            self._widen()
        if self._width is None:
            self._append_entries(row_starts, names, values)
        else:
            dense = self._dense.place(n_rows * self._width).reshape(n_rows, self._width)
            dense[:] = np.nan if gaps else 0.0
            n_sparse = np.empty(n_rows, np.int64)
            places = np.arange(max(n_rows, self._width))
            kernels.scatter(row_starts, names, values, places[:n_rows], places[: self._width], dense, n_sparse)
        self._n_rows += n_rows

    def expect(self, growth: float) -> None:
        """Say about how many times as many rows there will be as there are."""
        for column in (self._gaps, self._dense, self._counts, self._names, self._values):
            column.expect(growth * len(column))

    def _note_used(self, names: Int32) -> None:
        if len(self._table) > len(self._used):
            self._used = np.append(self._used, np.zeros(len(self._table) - len(self._used), dtype=np.bool_))
        if not self._used.all():
            self._used[names] = True

    def _append_entries(self, row_starts: Int64, names: Int32, values: Float64) -> None:
        self._counts.append(np.diff(row_starts))
        self._names.append(names)
        self._values.append(values)

    def _widen(self) -> None:
        """Make room for new names, or go over to entries when they have become too many."""
        assert self._width is not None
        before = self._dense.finish().reshape(self._n_rows, self._width)
        if len(self._table) <= DENSE_LIMIT:
            wider = np.zeros((self._n_rows, len(self._table)))
            wider[self._gaps.peek()[: self._n_rows]] = np.nan
            wider[:, : self._width] = before
            self._dense.append(wider.reshape(-1))
            self._width = len(self._table)
            return
        # a written 0 is not missing
        given = np.where(self._gaps.peek()[: self._n_rows, None], ~np.isnan(before), before != 0)
        rows, columns = np.nonzero(given)
        counts = np.bincount(rows, minlength=self._n_rows)
        self._append_entries(offsets_from_counts(counts), columns.astype(np.int32), before[rows, columns])
        self._width = None

    def finish(self, order: Int64 | None, path: str, filling: Filling | None = None) -> Features:
        """Return the features of all rows, in the given order of rows (None: as they came).

        Missing values are filled in, or complained of, as `filling` says; `filled` then counts them by name.
        """
        self._note_used(np.zeros(0, dtype=np.int32))
        names, mapping = self._table.resolve(path, self._used)
        filling = filling or Filling()
        if self._width is None:
            return self._from_entries(names, mapping, order, path, filling)
        dense = self._dense.finish().reshape(self._n_rows, self._width)
        if not np.array_equal(mapping, np.arange(len(names))):
            dense = _joined(names, mapping, dense, path)
        if self._gaps.peek().any():
            self._fill(names, dense, np.isnan(dense), path, filling)
        return Features.from_dense(names, dense if order is None else dense[order])

    def _fill(self, names: Sequence[str], dense: Float64, holes: Bool, path: str, filling: Filling) -> None:
        """Fill the missing values of dense features, (M, D), in place; rarer ones count 0."""
        gaps = self._gaps.peek()
        n_gaps = int(np.count_nonzero(gaps))
        counts = np.count_nonzero(holes, axis=0)
        with_holes = np.flatnonzero(counts).tolist()
        dense_with_holes = [d for d in with_holes if counts[d] < DENSE_SHARE * n_gaps or names[d] in filling.values]
        unfilled = [d for d in dense_with_holes if names[d] not in filling.values]
        if filling.policy == ERROR and unfilled:
            first = int(np.argmax(holes[:, unfilled[0]]))
            raise missing_values_error([(names[d], int(counts[d])) for d in unfilled], n_gaps, first, path)
        for d in dense_with_holes:
            self.filled_with[names[d]] = filling.fill(names[d], dense[:, d], holes[:, d])
            self.filled[names[d]] = int(counts[d])
        if counts.any():
            self.filled_with |= {names[d]: 0.0 for d in with_holes if d not in dense_with_holes}
            dense[np.isnan(dense)] = 0.0

    def _from_entries(
        self, final: list[str], mapping: Int32, order: Int64 | None, path: str, filling: Filling
    ) -> Features:
        row_starts = offsets_from_counts(self._counts.finish())
        names, values = mapping[self._names.finish()], self._values.finish()
        repeated = np.empty(self._n_rows, dtype=np.int64)
        kernels.repeated_name(row_starts, names, np.full(len(final) + 1, -1), repeated)
        if np.any(repeated >= 0):
            raise collision(final[names[repeated.max()]], path)
        # a written 0 counts as absent, as it does where rows were dense at first
        present = np.bincount(names[values != 0], minlength=len(final))
        is_dense = present >= STORED_DENSE_SHARE * self._n_rows
        gaps = self._gaps.peek()
        n_gaps = int(np.count_nonzero(gaps))
        given = np.bincount(names[np.repeat(gaps, np.diff(row_starts))], minlength=len(final)) if n_gaps else present
        said = np.array([filling.values.get(name, 0.0) != 0 for name in final], dtype=np.bool_)
        with_holes = (given < n_gaps) & ((given > DENSE_SHARE * n_gaps) | said)
        is_dense |= with_holes
        place = _places(is_dense)
        rows = np.arange(self._n_rows)
        if order is not None:
            rows[order] = np.arange(self._n_rows)
        dense = np.zeros((self._n_rows, int(is_dense.sum())))
        for d in np.flatnonzero(with_holes):
            dense[rows[gaps], place[d]] = np.nan
        n_sparse = np.zeros(self._n_rows, dtype=np.int64)
        kernels.scatter(row_starts, names, values, rows, place, dense, n_sparse)
        if n_gaps:
            self._fill([final[d] for d in np.flatnonzero(is_dense)], dense, np.isnan(dense), path, filling)
        indptr = offsets_from_counts(n_sparse)
        indices, sparse = np.empty(int(indptr[-1]), dtype=np.int32), np.empty(int(indptr[-1]))
        kernels.gather_sparse(row_starts, names, values, rows, place, indptr, indices, sparse)
        ordered = [final[d] for d in [*np.flatnonzero(is_dense), *np.flatnonzero(~is_dense)]]
        return Features(tuple(ordered), dense, indptr, indices, sparse)


def _joined(names: Sequence[str], mapping: Int32, dense: Float64, path: str) -> Float64:
    """Return rows in which the numbers of one name stand in one column."""
    joined = np.full((len(dense), len(names)), np.nan)
    for number in np.flatnonzero(mapping >= 0):
        own, column = dense[:, number], joined[:, mapping[number]]
        has, had = ~np.isnan(own), ~np.isnan(column)
        if np.any((np.nan_to_num(column) != 0) & (np.nan_to_num(own) != 0)):
            raise collision(names[mapping[number]], path)
        joined[:, mapping[number]] = np.where(has & had, column + own, np.where(has, own, column))
    return joined


def _places(is_dense: Bool) -> Int64:
    """Return for each name its dense column, or −1 − its sparse column."""
    return np.where(is_dense, np.cumsum(is_dense) - 1, 0 - np.cumsum(~is_dense)).astype(np.int64)
