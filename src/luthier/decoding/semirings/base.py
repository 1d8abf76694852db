"""What a value of derivations is, and the one recursion that finds it for a whole forest.

A semiring says what an edge is worth (`edge`), how the parts of a derivation go together (`times`, ⊗) and how several
derivations do (`plus`, ⊕). If ⊗ distributes over ⊕, the value of all derivations of a node follows from those of the
nodes below:

    value(v) = ⊕ over edges e of v:  edge(e) ⊗ value(tail 1) ⊗ value(tail 2)

A new value is one class with three methods. Where it must be fast, `inside` is overridden by a kernel.
"""

from __future__ import annotations

import abc
from typing import Generic, TypeVar

from luthier.core.errors import LuthierError
from luthier.decoding.forests.hypergraph import Hypergraph

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
