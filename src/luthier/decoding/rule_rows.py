"""The rules of a search as one table: those of the grammar, glue, the goal, and a pass-through rule for each word.

Every rule has, besides what the grammar says, `WordPenalty` (−log10 e a target word) and its arity; S → S X has `Glue`,
a rule that leaves a word as it is `PassThrough`. The goal has nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Float64, Int32, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, rows_of_segments, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.decoding.forests.hypergraph import RuleTable
from luthier.grammar.grammar import Grammar
from luthier.grammar.writing import rule_texts
from luthier.kbest.features import Features

OWN = ("Glue", "PassThrough", "WordPenalty", "Arity_0", "Arity_1", "Arity_2")
GLUE, PASS_THROUGH, WORD_PENALTY, ARITY = range(4)
PENALTY_PER_WORD = -1.0 / math.log(10.0)
GLUE_TEXTS = ("[S] ||| [X,1] ||| [X,1]", "[S] ||| [S,1] [X,2] ||| [S,1] [X,2]", "[Goal] ||| [S,1] ||| [S,1]")
N_GLUE = len(GLUE_TEXTS)  # S → X, S → S X, the goal: the rows behind those of the grammar, in this order

MOST_DENSE = 64  # so many names are columns, whether common or not
DENSE_SHARE = 0.25  # of more names, those that this share of the rules have
RULES_AT_ONCE = 1 << 14  # sorting the entries of all rules would take several times their memory


class GrammarRows(NamedTuple):
    """What does not depend on the sentences: features and texts of the grammar's rules."""

    names: tuple[str, ...]
    dense: Float64
    sparse_names: tuple[str, ...]
    sparse: tuple[Int64, Int32, Float64]
    texts: Texts


def grammar_rows(grammar: Grammar) -> GrammarRows:
    """Return the features of a grammar's rules, the decoder's own among them, common ones as columns."""
    clash = sorted(set(OWN) & set(grammar.feature_names))
    if clash:
        raise LuthierError(
            f"expected a grammar without the feature {clash[0]!r}, which the decoder counts itself. hint: rename it"
        )
    rows, ids = segment_of_rows(grammar.feature_offsets), grammar.feature_ids
    shares = np.bincount(ids, minlength=len(grammar.feature_names)) / max(1, grammar.n_rules)
    is_dense = (shares >= DENSE_SHARE) | (len(shares) <= MOST_DENSE)
    column = np.cumsum(is_dense) - 1
    n_dense = int(is_dense.sum())
    chosen, width = is_dense[ids], n_dense + len(OWN)
    places = rows[chosen] * width + column[ids[chosen]]
    sums = np.bincount(places, grammar.feature_values[chosen], minlength=grammar.n_rules * width)
    dense: Float64 = sums.astype(np.float64, copy=False).reshape(grammar.n_rules, width)
    _add_own(dense[:, n_dense:], grammar)
    other = np.cumsum(~is_dense) - 1
    names = np.array([*grammar.feature_names, ""], dtype=object)[:-1]
    return GrammarRows(
        (*names[is_dense], *OWN),
        dense,
        tuple(names[~is_dense]),
        _sparse(rows[~chosen], other[ids[~chosen]], grammar.feature_values[~chosen], grammar.n_rules),
        rule_texts(grammar),
    )


def _add_own(own: Float64, grammar: Grammar) -> None:
    words = np.bincount(segment_of_rows(grammar.target_offsets)[grammar.target_symbols >= 0], minlength=grammar.n_rules)
    own[:, WORD_PENALTY] = PENALTY_PER_WORD * words
    own[np.arange(len(own)), ARITY + grammar.gap_counts[grammar.rule_sides]] = 1.0


def _sparse(rows: Int64, columns: Int64, values: Float64, n_rows: int) -> tuple[Int64, Int32, Float64]:
    """Return entries as CSR; those that stand twice in a row are added up."""
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    if not first.all():
        values = np.add.reduceat(values, np.flatnonzero(first))
        rows, columns = rows[first], columns[first]
    return offsets_from_counts(np.bincount(rows, minlength=n_rows)), columns.astype(np.int32), values


def make_table(grammar: Grammar, rows: GrammarRows, passed: Texts, state_names: tuple[str, ...]) -> RuleTable:
    """Return the table of rules for sentences whose distinct words are `passed`."""
    interner = Interner.of(grammar.target_words)
    numbers = interner.intern_texts(passed)
    symbols = np.concatenate([grammar.target_symbols, np.array([-1, -1, -2, -1], np.int32), numbers])
    counts = np.concatenate([np.diff(grammar.target_offsets), [1, 2, 1], np.ones(len(passed), np.int64)])
    extra = np.zeros((N_GLUE + len(passed), rows.dense.shape[1]))
    own = extra[:, len(rows.names) - len(OWN) :]
    own[0, ARITY + 1] = own[1, ARITY + 2] = own[1, GLUE] = 1.0
    own[N_GLUE:, PASS_THROUGH] = own[N_GLUE:, ARITY] = 1.0
    own[N_GLUE:, WORD_PENALTY] = PENALTY_PER_WORD
    indptr, indices, values = rows.sparse
    features = Features(
        rows.names + rows.sparse_names,
        np.concatenate([rows.dense, extra]),
        np.concatenate([indptr, np.full(len(extra), indptr[-1])]),
        indices,
        values,
    )
    own_texts = Texts.from_strings([*GLUE_TEXTS, *(f"[X] ||| {word} ||| {word}" for word in passed)])
    return RuleTable(
        offsets_from_counts(counts),
        symbols,
        interner.texts(),
        features,
        Texts.concatenate([rows.texts, own_texts]),
        state_names,
    )


def local_features(grammar: Grammar, table: RuleTable, chosen: Int64) -> Features:
    """Return the features of chosen rules of a table as entries: what a grammar's rule has, and what the search adds.

    A feature that a rule has with the value 0 is an entry, one that it does not have is none: columns cannot tell.
    """
    blocks = [
        _local_entries(grammar, table, chosen[first : first + RULES_AT_ONCE])
        for first in range(0, max(1, len(chosen)), RULES_AT_ONCE)
    ]
    offsets, indices, values = zip(*blocks, strict=True)
    return Features(
        (*grammar.feature_names, *OWN),
        np.empty((len(chosen), 0)),
        offsets_from_counts(np.concatenate([np.diff(part) for part in offsets])),
        np.concatenate(indices),
        np.concatenate(values),
    )


def _local_entries(grammar: Grammar, table: RuleTable, chosen: Int64) -> tuple[Int64, Int32, Float64]:
    """Return the entries of some rules as CSR."""
    n_own = int(np.searchsorted(chosen, grammar.n_rules))
    entries = rows_of_segments(grammar.feature_offsets, chosen[:n_own])
    counts = grammar.feature_offsets[chosen[:n_own] + 1] - grammar.feature_offsets[chosen[:n_own]]
    rows = np.repeat(np.arange(n_own), counts)
    first = table.features.names.index(OWN[0])
    added = table.features.dense[chosen, first : first + len(OWN)]
    where, which = np.nonzero(added)
    columns = np.concatenate([grammar.feature_ids[entries], len(grammar.feature_names) + which])
    values = np.concatenate([grammar.feature_values[entries], added[where, which]])
    return _sparse(np.concatenate([rows, where]), columns, values, len(chosen))
