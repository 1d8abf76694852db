"""How much each feature differs between the derivations of a forest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.segments import rows_of_segments
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.decoding.semirings.base import value_of
from luthier.decoding.semirings.expectation import Expectation

COLUMNS_AT_ONCE = 64


def spread_in_forests(forests: Sequence[Hypergraph], rules: RuleTable) -> Float64:
    """Return the standard deviation of each feature about its mean in a forest, (D,), all derivations counting alike.

    Variances are averaged over forests. A feature that no choice changes has 0, up to rounding.
    """
    variances = np.zeros(len(rules.names))
    for forest in forests:
        alike = np.zeros(forest.n_edges)
        for columns, numbers in _blocks(forest, rules):
            variances[columns] += value_of(forest, Expectation(alike, numbers)).variance
    return np.sqrt(variances / max(len(forests), 1))


def _blocks(forest: Hypergraph, rules: RuleTable) -> Iterator[tuple[Int64, Float64]]:
    """Yield the features of edges that a forest has, dense, some columns at a time: (C,) and (E, C)."""
    features = rules.features
    state = np.arange(features.n_features, len(rules.names))
    dense = np.hstack([features.dense[forest.rules], forest.state_features])
    yield np.concatenate([np.arange(features.n_dense), state]), dense
    used, of_edges = np.unique(forest.rules, return_inverse=True)
    present = np.unique(features.indices[rows_of_segments(features.indptr, used)])
    own = features.take(used)
    for first in range(0, len(present), COLUMNS_AT_ONCE):
        columns = present[first : first + COLUMNS_AT_ONCE]
        block = np.zeros((len(used), len(columns)))
        at = np.searchsorted(columns, own.indices)
        here = (at < len(columns)) & (columns[np.minimum(at, len(columns) - 1)] == own.indices)
        rows = np.repeat(np.arange(len(used)), np.diff(own.indptr))
        block[rows[here], at[here]] = own.values[here]
        yield features.n_dense + columns.astype(np.int64), block[of_edges]
