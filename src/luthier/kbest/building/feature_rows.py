"""Features of rows as they are read: dense while names are few, else entries that are sorted out last."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Bool, Float64, GrowingArray, Int32, Int64
from luthier.core.segments import offsets_from_counts
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.building.names import NameTable, collision
from luthier.kbest.features import Features

# With at most so many names all are dense; beyond, only those that a tenth of the rows have.
DENSE_LIMIT = 64
DENSE_SHARE = 0.1


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

    def append(self, row_starts: Int64, names: Int32, values: Float64) -> None:
        """Take rows; row r has the entries ``row_starts[r]:row_starts[r+1]``."""
        n_rows = len(row_starts) - 1
        self._note_used(names)
        if self._width is not None and len(self._table) > self._width:
            self._widen()
        if self._width is None:
            self._append_entries(row_starts, names, values)
        else:
            dense, n_sparse = np.zeros((n_rows, self._width)), np.empty(n_rows, np.int64)
            places = np.arange(max(n_rows, self._width))
            kernels.scatter(row_starts, names, values, places[:n_rows], places[: self._width], dense, n_sparse)
            self._dense.append(dense.reshape(-1))
        self._n_rows += n_rows

    def _note_used(self, names: Int32) -> None:
        if len(self._table) > len(self._used):
            self._used = np.append(self._used, np.zeros(len(self._table) - len(self._used), dtype=np.bool_))
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
            wider[:, : self._width] = before
            self._dense.append(wider.reshape(-1))
            self._width = len(self._table)
            return
        rows, columns = np.nonzero(before)
        counts = np.bincount(rows, minlength=self._n_rows)
        self._append_entries(offsets_from_counts(counts), columns.astype(np.int32), before[rows, columns])
        self._width = None

    def finish(self, order: Int64 | None, path: str) -> Features:
        """Return the features of all rows, in the given order of rows (None: as they came)."""
        self._note_used(np.zeros(0, dtype=np.int32))
        names, mapping = self._table.resolve(path, self._used)
        if self._width is None:
            return self._from_entries(names, mapping, order, path)
        dense = self._dense.finish().reshape(self._n_rows, self._width)
        if not np.array_equal(mapping, np.arange(len(names))):
            joined = np.zeros((len(dense), len(names)))
            for number in np.flatnonzero(mapping >= 0):
                column = mapping[number]
                if np.any((joined[:, column] != 0) & (dense[:, number] != 0)):
                    raise collision(names[column], path)
                joined[:, column] += dense[:, number]
            dense = joined
        return Features.from_dense(names, dense if order is None else dense[order])

    def _from_entries(self, final: list[str], mapping: Int32, order: Int64 | None, path: str) -> Features:
        row_starts = offsets_from_counts(self._counts.finish())
        names, values = mapping[self._names.finish()], self._values.finish()
        repeated = np.empty(self._n_rows, dtype=np.int64)
        kernels.repeated_name(row_starts, names, np.full(len(final) + 1, -1), repeated)
        if np.any(repeated >= 0):
            raise collision(final[names[repeated.max()]], path)
        # a written 0 counts as absent, as it does where rows were dense at first
        present = np.bincount(names[values != 0], minlength=len(final))
        is_dense = present >= DENSE_SHARE * self._n_rows
        place = _places(is_dense)
        rows = np.arange(self._n_rows)
        if order is not None:
            rows[order] = np.arange(self._n_rows)
        dense = np.zeros((self._n_rows, int(is_dense.sum())))
        n_sparse = np.zeros(self._n_rows, dtype=np.int64)
        kernels.scatter(row_starts, names, values, rows, place, dense, n_sparse)
        indptr = offsets_from_counts(n_sparse)
        indices, sparse = np.empty(int(indptr[-1]), dtype=np.int32), np.empty(int(indptr[-1]))
        kernels.gather_sparse(row_starts, names, values, rows, place, indptr, indices, sparse)
        ordered = [final[d] for d in [*np.flatnonzero(is_dense), *np.flatnonzero(~is_dense)]]
        return Features(tuple(ordered), dense, indptr, indices, sparse)


def _places(is_dense: Bool) -> Int64:
    """Return for each name its dense column, or −1 − its sparse column."""
    return np.where(is_dense, np.cumsum(is_dense) - 1, 0 - np.cumsum(~is_dense)).astype(np.int64)
