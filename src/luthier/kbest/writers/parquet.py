"""Parquet: one hypothesis per row, with id, hyp, features, source, refs, derivation and columns."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from luthier.core.files.io import open_output
from luthier.kbest.derivations import Derivations
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool, References
from luthier.kbest.storage.writer import Writer, check_columns, id_array, row_blocks, sentence_of_rows, text_array

TAKEN = ("id", "hyp", "features", "source", "refs", "derivation")


@dataclasses.dataclass(frozen=True)
class Method(Writer):
    """Features are a struct of doubles, or a map from name to double where some are sparse.

    Columns are doubles, null where they are NaN.
    """

    endings: ClassVar[tuple[str, ...]] = (".parquet",)

    def write(self, pool: Pool, path: str | os.PathLike[str]) -> None:
        """Write a pool's lists to `path`."""
        import pyarrow.parquet as pq

        check_columns(pool, TAKEN)
        table = _Table(pool)
        schema = table.batch(0, 0).schema
        with open_output(path) as out, pq.ParquetWriter(out, schema, compression="zstd") as writer:
            for first, last in row_blocks(pool):
                writer.write_batch(table.batch(first, last))


class _Table:
    """A pool as a table, made batch by batch; what rows repeat is converted once."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.sentences = sentence_of_rows(pool)
        self.per_sentence = _sentence_columns(pool)
        self.rules: Any = None if pool.derivations is None else _rule_structs(pool.derivations)

    def batch(self, first: int, last: int) -> pa.RecordBatch:
        """Return the rows ``first:last``."""
        pool, chosen = self.pool, pa.array(self.sentences[first:last])
        repeated = {name: column.take(chosen) for name, column in self.per_sentence.items()}
        columns = {"id": repeated.pop("id"), "hyp": text_array(pool.texts, first, last)}
        columns["features"] = feature_column(pool.features, first, last)
        columns |= repeated
        if pool.derivations is not None:
            bounds = pool.derivations.offsets[first : last + 1]
            used = self.rules.take(pa.array(pool.derivations.rules[bounds[0] : bounds[-1]]))
            offsets = pa.array((bounds - bounds[0]).astype(np.int32))
            columns["derivation"] = pa.ListArray.from_arrays(offsets, used)
        for name, column in pool.columns.items():
            columns[name] = pa.array(column[first:last], from_pandas=True)  # NaN becomes null
        return pa.record_batch(columns)


def _sentence_columns(pool: Pool) -> dict[str, pa.Array]:
    """Return the columns of N sentences that their rows repeat."""
    columns = {"id": id_array(pool)}
    if pool.sources is not None:
        columns["source"] = text_array(pool.sources)
    if pool.references is not None:
        columns["refs"] = _reference_lists(pool.references)
    return columns


def _reference_lists(references: References) -> pa.Array:
    offsets = pa.array(references.offsets.astype(np.int32))
    return pa.ListArray.from_arrays(offsets, text_array(references.texts))


def feature_column(features: Features, first: int, last: int) -> pa.Array:
    """Return the features of the rows ``first:last``: structs if all are dense, else maps."""
    if 0 < features.n_dense == features.n_features:
        columns = [pa.array(np.ascontiguousarray(features.dense[first:last, d])) for d in range(features.n_dense)]
        return pa.StructArray.from_arrays(columns, list(features.names))
    return feature_maps(features, first, last)


def feature_maps(features: Features, first: int, last: int) -> pa.Array:
    """Return the features of the rows ``first:last`` as maps: the dense ones, then the sparse."""
    n, n_dense = last - first, features.n_dense
    bounds = features.indptr[first : last + 1]
    entries = slice(bounds[0], bounds[-1])
    offsets = bounds - bounds[0] + n_dense * np.arange(n + 1)  # (n+1,)
    keys = np.empty(int(offsets[-1]), dtype=np.int32)
    values = np.empty(int(offsets[-1]), dtype=np.float64)
    dense_at = offsets[:-1, None] + np.arange(n_dense)  # (n, Dd)
    keys[dense_at] = np.arange(n_dense, dtype=np.int32)
    values[dense_at] = features.dense[first:last]
    sparse = np.ones(len(keys), dtype=np.bool_)
    sparse[dense_at] = False
    keys[sparse] = features.indices[entries] + n_dense
    values[sparse] = features.values[entries]
    names = pa.array(features.names, pa.string()).take(pa.array(keys))
    return pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32)), names, pa.array(values))


def _rule_structs(derivations: Derivations) -> pa.Array:
    maps = feature_maps(derivations.features, 0, len(derivations.features))
    return pa.StructArray.from_arrays([text_array(derivations.texts), maps], ["rule", "features"])
