"""Derivations of forests → K-best lists: totals of features, trees of derivations, texts; a pool of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, GrowingArray, Int32, Int64, flat, give_back
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.decoding import _list_kernels as kernels
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.decoding.lazy_kbest import KBest
from luthier.kbest.derivations import Derivations, Tree
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool, References

SCORE = "score"
KINDS = {
    "scores": np.float64,
    "dense": np.float64,
    "values": np.float64,
    "entry_counts": np.int64,
    "use_counts": np.int64,
    "word_counts": np.int64,
}


class SentenceList(NamedTuple):
    """The list of one sentence in columns: n hypotheses, the best first.

    Attributes
    ----------
    scores : (n,) float64
    dense : (n, D) float64
        Totals of the features of rules that are columns, and of edges.
    entry_counts, indices, values
        Totals of sparse features: how many each hypothesis has, which, and their values.
    use_counts, rules, parents, spans
        How many rules each hypothesis uses, which, and their tree.
    word_counts, words
        How many words each hypothesis has, and which.
    """

    scores: Float64
    dense: Float64
    entry_counts: Int64
    indices: Int32
    values: Float64
    use_counts: Int64
    rules: Int32
    parents: Int32
    spans: Int32
    word_counts: Int64
    words: Int32


def describe_list(graph: Hypergraph, best: KBest, table: RuleTable) -> SentenceList:
    """Return the list of a forest's best derivations, with the totals of all features."""
    n, features = len(best), table.features
    dense = np.empty((n, features.n_dense + graph.state_features.shape[1]))
    kernels.sum_dense(best.offsets, best.edges, graph.rules, features.dense, graph.state_features, dense)
    heads = np.empty(graph.n_edges, dtype=np.int32)
    kernels.edge_heads(graph.edge_offsets, heads)
    rules, spans = np.empty(len(best.edges), np.int32), np.empty((len(best.edges), 2), np.int32)
    kernels.describe_uses(best.edges, heads, graph.rules, graph.spans, rules, spans)
    return SentenceList(
        best.scores,
        dense,
        *_sparse_totals(best.offsets, rules, features),
        np.diff(best.offsets),
        rules,
        best.parents,
        spans,
        np.diff(best.word_offsets),
        best.words,
    )


def _sparse_totals(offsets: Int64, rules: Int32, features: Features) -> tuple[Int64, Int32, Float64]:
    n_sparse, n = features.n_features - features.n_dense, len(offsets) - 1
    if not n_sparse:
        return np.zeros(n, np.int64), np.zeros(0, np.int32), np.zeros(0)
    room = int(np.diff(features.indptr)[rules].sum())
    indptr, indices, values = np.empty(n + 1, np.int64), np.empty(room, np.int32), np.empty(room)
    size = kernels.sum_sparse(
        offsets,
        flat(rules),
        features.indptr,
        features.indices,
        features.values,
        np.zeros(n_sparse),
        np.zeros(n_sparse, np.bool_),
        indptr,
        indices,
        values,
    )
    return np.diff(indptr), indices[:size].copy(), values[:size].copy()


def texts_of(words: Texts, word_counts: Int64, ids: Int32) -> Texts:
    """Return rows of words as texts, with a space between two words."""
    word_offsets, offsets = flat(offsets_from_counts(word_counts)), np.empty(len(word_counts) + 1, dtype=np.int64)
    columns = (word_offsets, flat(ids), words.offsets, words.data, offsets)
    kernels.join_words(*columns, np.empty(0, dtype=np.uint8))
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    kernels.join_words(*columns, data)
    return Texts(offsets, data)


class _Columns:
    """The columns of many lists, one behind another; lists are taken as they come, and not kept."""

    def __init__(self, n_dense: int) -> None:
        self._shapes = {"dense": (-1, n_dense), "spans": (-1, 2)}
        self._columns = {name: GrowingArray(KINDS.get(name, np.int32)) for name in SentenceList._fields}
        self.lengths: list[int] = []

    def append(self, part: SentenceList) -> None:
        self.lengths.append(len(part.scores))
        for name, column in self._columns.items():
            column.append(getattr(part, name).reshape(-1))

    def finish(self) -> SentenceList:
        done: dict[str, npt.NDArray[Any]] = {name: column.finish() for name, column in self._columns.items()}
        return SentenceList(**{name: array.reshape(self._shapes.get(name, -1)) for name, array in done.items()})


def make_pool(
    lists: Iterable[SentenceList],
    table: RuleTable,
    sources: Texts,
    numbers: Int64,
    *,
    references: Sequence[Texts] = (),
    local: Callable[[Int64], Features] | None = None,
) -> Pool:
    """Return the pool of all sentences' lists; sentences are called by their `numbers`.

    It carries derivations where `local` gives the features of chosen rules of the table.
    """
    features = table.features
    columns = _Columns(features.n_dense + len(table.state_names))
    for part in lists:
        columns.append(part)
    rows = columns.finish()
    give_back()  # what single lists have left
    names = features.names[: features.n_dense] + table.state_names + features.names[features.n_dense :]
    texts = texts_of(table.words, rows.word_counts, rows.words)
    vocab = Interner()
    tokens = _tokens(rows, table.words, texts, vocab)
    return Pool(
        offsets_from_counts(columns.lengths),
        Features(names, rows.dense, offsets_from_counts(rows.entry_counts), rows.indices, rows.values),
        Texts.from_strings(str(i) for i in numbers),
        texts,
        tokens,
        references=_references(references, len(sources), vocab),
        vocab=vocab.texts(),
        sources=sources,
        derivations=None if local is None else _derivations(rows, table, local),
        columns={SCORE: rows.scores},
    )


def _tokens(rows: SentenceList, words: Texts, texts: Texts, vocab: Interner) -> Tokens:
    """Return the tokens of the texts: the words they are made of, numbered anew, unless one has white space in it."""
    used = np.zeros(len(words), dtype=np.bool_)
    kernels.mark_used(rows.words, used)
    chosen = np.flatnonzero(used)
    parts = tokenize(words.take(chosen), vocab)
    if not np.array_equal(parts.lengths, np.ones(len(chosen))) or len(vocab) != len(chosen):
        return tokenize(texts, vocab)
    number = np.zeros(len(words), dtype=np.int32)
    number[chosen] = parts.ids
    kernels.renumber(rows.words, number)
    return Tokens(offsets_from_counts(rows.word_counts), rows.words)


def _references(columns: Sequence[Texts], n: int, vocab: Interner) -> References | None:
    if not columns:
        return None
    order = np.arange(n * len(columns)).reshape(len(columns), n).T.reshape(-1)  # those of a sentence side by side
    texts = Texts.concatenate(list(columns)).take(order)
    return References(offsets_from_counts([len(columns)] * n), texts, tokenize(texts, vocab))


def _derivations(rows: SentenceList, table: RuleTable, local: Callable[[Int64], Features]) -> Derivations:
    """Return the derivations, with a table of those rules only that are used; they are numbered anew."""
    used = np.zeros(len(table), dtype=np.bool_)
    kernels.mark_used(rows.rules, used)
    chosen = np.flatnonzero(used)
    kernels.renumber(rows.rules, (np.cumsum(used) - 1).astype(np.int32))
    return Derivations(
        offsets_from_counts(rows.use_counts),
        rows.rules,
        table.texts.take(chosen),
        local(chosen),
        Tree(rows.parents, rows.spans),
    )
