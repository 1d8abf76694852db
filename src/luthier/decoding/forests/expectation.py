"""What a value of derivations is, and the one recursion that finds it for a whole forest.

A semiring says what an edge is worth (`edge`), how the parts of a derivation go together (`times`, ⊗) and how several
derivations do (`plus`, ⊕). If ⊗ distributes over ⊕, the value of all derivations of a node follows from those of the
nodes below:

    value(v) = ⊕ over edges e of v:  edge(e) ⊗ value(tail 1) ⊗ value(tail 2)

A new value is one class with three methods. Where it must be fast, `inside` is overridden by a kernel.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.segments import rows_of_segments
from luthier.decoding.forests import _forest_kernels as kernels
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable

Value = TypeVar("Value")


class Semiring(abc.ABC, Generic[Value]):
    """A value of derivations."""

    @abc.abstractmethod
    def edge(self, e: int) -> Value:
        """Return the value of an edge, without what is in its gaps."""

    @abc.abstractmethod
    def times(self, first: Value, second: Value) -> Value:
        """Return the value of two parts that stand in one derivation; `first` is the upper one, or in gap 1."""

    @abc.abstractmethod
    def plus(self, first: Value, second: Value) -> Value:
        """Return the value of derivations of either kind; those of `first` have earlier edges."""

    def inside(self, graph: Hypergraph) -> list[Value]:
        """Return the value of the derivations of each node."""
        values: list[Value] = []
        offsets, tails = graph.edge_offsets.tolist(), graph.tails.tolist()
        for node in range(graph.n_nodes):
            value: Value | None = None
            for e in range(offsets[node], offsets[node + 1]):
                way = self.edge(e)
                for tail in tails[e]:
                    if tail >= 0:
                        way = self.times(way, values[tail])
                value = way if value is None else self.plus(value, way)
            assert value is not None  # a node has an edge
            values.append(value)
        return values


def value_of(graph: Hypergraph, semiring: Semiring[Value]) -> Value:
    """Return the value of all derivations of the goal."""
    if not graph.n_nodes:
        raise LuthierError("expected a forest with a derivation, found one without")
    return semiring.inside(graph)[-1]


# Means and variances of what edges add up to, when derivations are drawn by their scores [li2009].
#
# A derivation d has the chance exp(score(d)) / Z. Each edge has C numbers; those of a derivation are their sums. Values
# are kept as log Z, mean and variance, which stay of moderate size, instead of the sums of exp(score) · number that
# they follow from.


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """Logarithm of the sum of exp(score), and mean and variance, (C,), of the numbers of a derivation."""

    log_sum: float
    mean: Float64
    variance: Float64


@dataclasses.dataclass(frozen=True, eq=False)
class Expectation(Semiring[Moments]):
    """⊗ adds all three, because parts are drawn independently; ⊕ mixes by the share that each has of the sum."""

    scores: Float64  # (E,)
    numbers: Float64  # (E, C)

    def edge(self, e: int) -> Moments:
        """Return its own numbers, which do not vary."""
        return Moments(float(self.scores[e]), self.numbers[e], np.zeros(self.numbers.shape[1]))

    def times(self, first: Moments, second: Moments) -> Moments:
        """Return the moments of sums."""
        return Moments(first.log_sum + second.log_sum, first.mean + second.mean, first.variance + second.variance)

    def plus(self, first: Moments, second: Moments) -> Moments:
        """Return the moments of a mixture."""
        log_sum = float(np.logaddexp(first.log_sum, second.log_sum))
        a, b = np.exp(first.log_sum - log_sum), np.exp(second.log_sum - log_sum)
        mean = a * first.mean + b * second.mean
        spread = a * (first.mean - mean) ** 2 + b * (second.mean - mean) ** 2
        return Moments(log_sum, mean, a * first.variance + b * second.variance + spread)

    def inside(self, graph: Hypergraph) -> list[Moments]:
        """Return the moments of each node, by a kernel."""
        shape = (graph.n_nodes, self.numbers.shape[1])
        logs, means, variances = np.empty(graph.n_nodes), np.zeros(shape), np.zeros(shape)
        kernels.moments(
            graph.edge_offsets,
            graph.tails,
            flat(np.asarray(self.scores, np.float64)),
            flat(np.asarray(self.numbers, np.float64)),
            logs,
            means,
            variances,
        )
        return [Moments(*parts) for parts in zip(logs.tolist(), means, variances, strict=True)]


# How much each feature differs between the derivations of a forest.

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
