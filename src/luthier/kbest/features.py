"""Features of hypotheses, dense and sparse, behind one `scores(weights)` seam."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int32, Int64, all_finite, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import (
    ascends_in_segments,
    check_offsets,
    check_rows,
    offsets_from_counts,
    rows_of_segments,
)
from luthier.kbest import _score_kernels as kernels
from luthier.kbest.groups import FeatureGroup, Groups, check_groups, join_groups, restrict_groups

Kind = Literal["score", "cost"]
MOST_COMPARED, LONGEST_COMPARED = 2000, 100
ROWS_ABREAST = 64  # taken as one row


@dataclasses.dataclass(frozen=True, eq=False)
class Features:
    """Feature vectors h of M hypotheses; feature d of D is dense (d < dense.shape[1]) or sparse.

    Attributes
    ----------
    names : tuple of D str
        Dense features first, then sparse ones. Any characters.
    dense : (M, Dd) float64, C-contiguous
    indptr, indices, values : (M+1,) int64, (E,) int32, (E,) float64
        The sparse part in CSR form, columns counted from the first sparse feature, ascending within
        a row.
    costs : frozenset of str
        Features the user called costs: lower is better, so their natural weight is negative. Values
        are kept as they came; nothing is negated behind anyone's back.
    groups : tuple of FeatureGroup
        Which columns are the ordered bins of one feature; empty unless somebody said so.
    """

    names: tuple[str, ...]
    dense: Float64
    indptr: Int64
    indices: Int32
    values: Float64
    costs: frozenset[str] = frozenset()
    groups: Groups = ()

    @functools.cached_property
    def largest(self) -> float:
        """The largest absolute value of any feature, 0 if there is none: faster than `sizes` for sparse ones."""
        parts = [part for part in (self.dense, self.values) if part.size]
        return max((max(float(part.max()), -float(part.min())) for part in parts), default=0.0)

    @functools.cached_property
    def sizes(self) -> Float64:
        """The largest absolute value of each feature, (D,)."""
        many, width = len(self.dense) // ROWS_ABREAST, self.n_dense
        wide = self.dense[: many * ROWS_ABREAST].reshape(many, ROWS_ABREAST * width)  # short rows are slow
        rest = self.dense[many * ROWS_ABREAST :]
        low, high = (
            extreme(np.concatenate([extreme(wide, axis=0, initial=0.0).reshape(ROWS_ABREAST, width), rest]), axis=0)
            for extreme in (np.min, np.max)
        )
        sparse = np.zeros(self.n_features - self.n_dense)
        np.maximum.at(sparse, self.indices, np.abs(self.values))
        return np.concatenate([np.maximum(high, -low), sparse])

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise LuthierError(f"feature names must differ, {_first_repeat(self.names)!r} stands twice")
        unknown = self.costs - set(self.names)
        if unknown:
            raise LuthierError(unknown_names(sorted(unknown), self.names))
        if self.groups:
            check_groups(self.groups, set(self.names))
        types = {"dense": np.float64, "indptr": np.int64, "indices": np.int32, "values": np.float64}
        for name, dtype in types.items():
            object.__setattr__(self, name, frozen(np.ascontiguousarray(getattr(self, name), dtype=dtype)))
        self._check()

    def _check(self) -> None:
        """Raise `LuthierError` unless the arrays fit one another: kernels trust them."""
        if self.dense.ndim != 2:
            raise LuthierError(f"expected dense features of shape (M, D), found {self.dense.shape}")
        if self.n_dense > len(self.names):
            raise LuthierError(f"expected names for {self.n_dense} features, found {len(self.names)}")
        if self.indices.ndim != 1 or self.indices.shape != self.values.shape:
            raise LuthierError(f"expected as many values as indices, {self.indices.shape}, found {self.values.shape}")
        check_offsets(self.indptr, len(self.values), "sparse features")
        if len(self.indptr) - 1 != len(self.dense):
            raise LuthierError(f"expected sparse features of {len(self.dense)} rows, found {len(self.indptr) - 1}")
        n_sparse = self.n_features - self.n_dense
        if len(self.indices):
            low, high = int(self.indices.min()), int(self.indices.max())
            if not 0 <= low <= high < n_sparse:
                raise LuthierError(f"expected columns of {n_sparse} sparse features, found {high if low >= 0 else low}")
            if not ascends_in_segments(self.indices, self.indptr):
                raise LuthierError("expected columns that ascend within each row of sparse features, found others")
        if not (all_finite(self.dense) and all_finite(self.values)):
            raise LuthierError(f"expected finite features, found {self._not_finite()}")

    def _not_finite(self) -> str:
        """Return the first value that is not finite, with its name and row."""
        if not all_finite(self.dense):
            row, d = np.argwhere(~np.isfinite(self.dense))[0]
            return f"{self.dense[row, d]} for {self.names[d]!r} in row {row}"
        e = int(np.argmin(np.isfinite(self.values)))
        row = int(np.searchsorted(self.indptr, e, side="right")) - 1
        return f"{self.values[e]} for {self.names[self.n_dense + self.indices[e]]!r} in row {row}"

    @classmethod
    def from_dense(cls, names: Sequence[str], dense: npt.ArrayLike) -> Features:
        """Wrap an (M, D) array."""
        dense = np.asarray(dense, dtype=np.float64)
        if dense.ndim != 2 or dense.shape[1] != len(names):
            raise LuthierError(f"expected features of shape (M, {len(names)}), found {dense.shape}")
        return cls(tuple(names), dense, np.zeros(len(dense) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))

    def __len__(self) -> int:
        return len(self.dense)

    @property
    def n_dense(self) -> int:
        """How many features are dense."""
        return int(self.dense.shape[1])

    @property
    def n_features(self) -> int:
        """How many features there are, D."""
        return len(self.names)

    @property
    def signs(self) -> Float64:
        """+1 for a score, −1 for a cost, (D,)."""
        return np.array([-1.0 if name in self.costs else 1.0 for name in self.names])

    @property
    def arrays(self) -> kernels.FeatureRows:
        """The arrays, as kernels take them."""
        return kernels.FeatureRows(self.dense, self.indptr, self.indices, self.values)

    def scores(self, weights: Float64) -> Float64:
        """Return w·h of every row: (D,) → (M,), or (W, D) → (W, M).

        The order of the sum is fixed, so a vector scores the same alone and among others.
        """
        weights = flat(np.asarray(weights, dtype=np.float64))
        if weights.shape[-1] != self.n_features:
            raise LuthierError(f"expected {self.n_features} weights, found {weights.shape[-1]}")
        out = np.empty((*weights.shape[:-1], len(self)))
        for index in np.ndindex(weights.shape[:-1]):
            vector, row = weights[index], out[index]
            kernels.scores_one(self.dense, self.indptr, self.indices, self.values, vector, 0, row)
        return out

    def column(self, name: str) -> Float64:
        """Return one feature of every row, (M,)."""
        d = self.index(name)
        if d < self.n_dense:
            return self.dense[:, d].copy()
        entries = np.flatnonzero(self.indices == d - self.n_dense)
        out = np.zeros(len(self))
        out[np.searchsorted(self.indptr, entries, side="right") - 1] = self.values[entries]
        return out

    def index(self, name: str) -> int:
        """Return the position of a feature."""
        try:
            return self.names.index(name)
        except ValueError:
            raise LuthierError(unknown_names([name], self.names)) from None

    def take(self, rows: npt.ArrayLike) -> Features:
        """Return the features of the chosen rows."""
        rows = np.asarray(rows, dtype=np.int64)
        check_rows(rows, len(self))
        entries = rows_of_segments(self.indptr, rows) if len(self.indices) else np.zeros(0, np.int64)
        counts = self.indptr[rows + 1] - self.indptr[rows]
        return dataclasses.replace(
            self,
            dense=self.dense[rows],
            indptr=offsets_from_counts(counts),
            indices=self.indices[entries],
            values=self.values[entries],
        )

    def select(self, names: Sequence[str]) -> Features:
        """Return only the named features; dense ones stay before sparse ones."""
        position = {name: d for d, name in enumerate(self.names)}
        unknown = [name for name in names if name not in position]
        if unknown:
            raise LuthierError(unknown_names(unknown, self.names))
        wanted = sorted(position[name] for name in names)
        if len(set(wanted)) != len(wanted):
            raise LuthierError(f"feature names must differ, {_first_repeat(names)!r} stands twice")
        dense = [d for d in wanted if d < self.n_dense]
        sparse = np.array([d - self.n_dense for d in wanted if d >= self.n_dense], dtype=np.int64)
        renumber = np.full(self.n_features - self.n_dense, -1, dtype=np.int32)
        renumber[sparse] = np.arange(len(sparse), dtype=np.int32)
        kept = renumber[self.indices] >= 0
        before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        kept_names = tuple(self.names[d] for d in wanted)
        return Features(
            kept_names,
            self.dense[:, dense],
            before[self.indptr],
            renumber[self.indices[kept]],
            self.values[kept],
            self.costs & set(kept_names),
            restrict_groups(self.groups, set(kept_names)),
        )

    def rename(self, changes: Mapping[str, str]) -> Features:
        """Return the same features under other names."""
        for name in changes:
            self.index(name)
        names = tuple(changes.get(name, name) for name in self.names)
        return dataclasses.replace(
            self,
            names=names,
            costs=frozenset(changes.get(name, name) for name in self.costs),
            groups=tuple(group.renamed(changes) for group in self.groups),
        )

    def scale(self, factors: Mapping[str, float]) -> Features:
        """Return the features multiplied by the given factors."""
        factor = np.ones(self.n_features)
        for name, value in factors.items():
            if not np.isfinite(value) or value == 0:
                raise LuthierError(f"expected a finite factor other than 0 for {name!r}, found {value}")
            factor[self.index(name)] = value
        return dataclasses.replace(
            self,
            dense=self.dense * factor[: self.n_dense],
            values=self.values * factor[self.n_dense :][self.indices],
        )

    def with_columns(self, columns: Mapping[str, Float64]) -> Features:
        """Return the features with more of them, dense, (M,) each."""
        again = [name for name in columns if name in self.names]
        if again:
            raise LuthierError(f"there is a feature {again[0]!r} already. hint: give the new one another name")
        n = self.n_dense
        return dataclasses.replace(
            self,
            names=(*self.names[:n], *columns, *self.names[n:]),
            dense=np.column_stack([self.dense, *columns.values()]) if columns else self.dense,
        )

    def call_costs(self, names: Sequence[str]) -> Features:
        """Return the same features, the named ones (and no others) being costs."""
        return dataclasses.replace(self, costs=frozenset(names))

    def group(self, groups: Sequence[FeatureGroup]) -> Features:
        """Return the same features, of which the given groups (and no others) are bins of one feature each."""
        return dataclasses.replace(self, groups=tuple(groups))


def concatenate_features(parts: Sequence[Features]) -> Features:
    """Put rows of several feature tables one behind another; what a part does not have counts 0.

    A feature is dense in the result if it is dense in any part. Whether it is a cost must agree.
    """
    dense = dict.fromkeys(name for part in parts for name in part.names[: part.n_dense])
    every = dict.fromkeys(name for part in parts for name in part.names)
    names = tuple(dense) + tuple(name for name in every if name not in dense)
    costs: frozenset[str] = frozenset().union(*(part.costs for part in parts))
    for part in parts:
        unlike = (costs & set(part.names)) - part.costs
        if unlike:
            raise LuthierError(f"{min(unlike)!r} is called a cost in one part and a score in another")
    spread = [align_features(part, names, len(dense)) for part in parts]
    return Features(
        names,
        np.concatenate([part.dense for part in spread]),
        offsets_from_counts(np.concatenate([np.diff(part.indptr) for part in spread])),
        np.concatenate([part.indices for part in spread]),
        np.concatenate([part.values for part in spread]),
        costs,
        join_groups([part.groups for part in parts]),
    )


def align_features(part: Features, names: tuple[str, ...], n_dense: int) -> Features:
    """Return the same rows with the features `names`, of which the first `n_dense` are dense.

    What the rows do not have counts 0; features that are not among `names` are left out.
    """
    if part.names == names and part.n_dense == n_dense:
        return part
    position = {name: d for d, name in enumerate(names)}
    target = np.array([position.get(name, -1) for name in part.names], dtype=np.int64)
    dense = np.zeros((len(part), n_dense))
    stays = np.flatnonzero((target[: part.n_dense] >= 0) & (target[: part.n_dense] < n_dense))
    dense[:, target[stays]] = part.dense[:, stays]
    leaves = np.flatnonzero(target[: part.n_dense] >= n_dense)  # dense here, sparse there
    few_rows, few = np.nonzero(part.dense[:, leaves])
    rows = np.concatenate([np.repeat(np.arange(len(part)), np.diff(part.indptr)), few_rows])
    columns = np.concatenate([target[part.n_dense :][part.indices], target[leaves][few]])
    values = np.concatenate([part.values, part.dense[few_rows, leaves[few]]])
    becomes_dense = (columns >= 0) & (columns < n_dense)
    dense[rows[becomes_dense], columns[becomes_dense]] = values[becomes_dense]
    sparse = columns >= n_dense
    rows, columns, values = rows[sparse], columns[sparse], values[sparse]
    order = np.lexsort((columns, rows))
    return Features(
        names,
        dense,
        offsets_from_counts(np.bincount(rows, minlength=len(part))),
        (columns[order] - n_dense).astype(np.int32),
        values[order],
        part.costs & set(names),
        restrict_groups(part.groups, position.keys()),
    )


def unknown_names(names: Sequence[str], known: Sequence[str]) -> str:
    """Return the sentence about names no feature has, with the likeliest intended one."""
    import difflib

    # likeness is quadratic in the length of names, and a file may have as many and as long ones as it likes
    likely = [name for name in known[:MOST_COMPARED] if len(name) <= LONGEST_COMPARED]
    close = difflib.get_close_matches(names[0][:LONGEST_COMPARED], likely, n=1)
    hint = f" hint: did you mean {close[0]!r}?" if close else f" known: {', '.join(known[:12])}"
    return f"no feature is called {', '.join(repr(name) for name in names[:5])}.{hint}"


def _first_repeat(names: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
