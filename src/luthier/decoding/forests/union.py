"""Forests of the same sentences found with several weights, as one: all that any of the searches has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.decoding.forests.files import Forests
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.kbest.features import concatenate_features


def union(searches: Sequence[Forests]) -> Forests:
    """Return one forest of each sentence, with every derivation of each search, and the last one's weights.

    The forests of a sentence share nothing but the goal, so no derivation comes in that no search has seen. Of equal
    derivations the earliest search's stands first.

    Raises
    ------
    LuthierError
        No forests, or those of other sentences or features.
    """
    if not searches:
        raise LuthierError("expected the forests of one search or more, found none")
    first = searches[0]
    if any(len(own.forests) != len(first.forests) for own in searches):
        raise LuthierError("expected forests of the same sentences from every search, found others")
    names = [(own.rules.features.names, own.rules.state_names) for own in searches]
    if any(own != names[0] for own in names):
        raise LuthierError("expected forests with the same features from every search, found others")
    offsets = offsets_from_counts([len(own.rules) for own in searches])
    forests = [
        _joined([(own.forests[i], int(shift)) for own, shift in zip(searches, offsets[:-1], strict=True)])
        for i in range(len(first.forests))
    ]
    return Forests(tuple(forests), _rules([own.rules for own in searches]), searches[-1].weights)


def _joined(parts: Sequence[tuple[Hypergraph, int]]) -> Hypergraph:
    """Return the forests of one sentence with one goal; each comes with the row of the first of its rules."""
    found = [(forest, shift) for forest, shift in parts if forest.n_nodes]
    if not found:
        return parts[0][0]
    goals = [tuple(forest.spans[-1].tolist()) for forest, _ in found]
    if len(set(goals)) > 1:
        raise LuthierError("expected forests of the same sentences from every search, found another length")
    inner = [int(forest.edge_offsets[-2]) for forest, _ in found]  # edges below the goal
    nodes = offsets_from_counts([forest.n_nodes - 1 for forest, _ in found])
    tails = [
        np.where(forest.tails >= 0, forest.tails + np.int32(first), np.int32(-1))
        for (forest, _), first in zip(found, nodes[:-1], strict=True)
    ]
    rules = [forest.rules + np.int32(shift) for forest, shift in found]
    states = [forest.state_features for forest, _ in found]

    def both(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:  # what is below the goals, then the goals' own
        below = [column[:end] for column, end in zip(columns, inner, strict=True)]
        return np.concatenate([*below, *(column[end:] for column, end in zip(columns, inner, strict=True))])

    counts = [np.diff(forest.edge_offsets)[:-1] for forest, _ in found]
    goal = sum(forest.n_edges for forest, _ in found) - sum(inner)
    last = found[0][0]
    return Hypergraph(
        offsets_from_counts(np.concatenate([*counts, [goal]])),
        both(tails),
        both(rules),
        both(states),
        np.concatenate([*(forest.labels[:-1] for forest, _ in found), last.labels[-1:]]),
        np.concatenate([*(forest.spans[:-1] for forest, _ in found), last.spans[-1:]]),
    )


def _rules(tables: Sequence[RuleTable]) -> RuleTable:
    """Return the rules of all tables, one table behind another; equal words have one number."""
    interner = Interner()
    symbols = []
    for table in tables:
        numbers = np.append(
            interner.intern_texts(table.words).astype(np.int32), np.int32(0)
        )  # a table may have no words
        own = table.target_symbols
        symbols.append(np.where(own >= 0, numbers[np.maximum(own, 0)], own).astype(np.int32))
    return RuleTable(
        offsets_from_counts(np.concatenate([np.diff(table.target_offsets) for table in tables])),
        np.concatenate(symbols),
        interner.texts(),
        concatenate_features([table.features for table in tables]),
        Texts.concatenate([table.texts for table in tables]),
        tables[0].state_names,
    )
