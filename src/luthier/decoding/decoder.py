"""The decoder: sentences, a grammar and language models → forests and K-best lists."""

from __future__ import annotations

import dataclasses
import functools
import queue
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64, Int32, all_finite, flat
from luthier.core.errors import LuthierError
from luthier.core.progress import notice, progress
from luthier.core.threads import map_in_order
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.decoding import _harvest_kernels as kernels
from luthier.decoding._chart_kernels import Rules, Sentence
from luthier.decoding.hypergraph import Hypergraph, RuleTable
from luthier.decoding.lazy_kbest import KBest, k_best
from luthier.decoding.lists import SentenceList, describe_list, make_pool, texts_of
from luthier.decoding.models import Models
from luthier.decoding.options import SearchOptions
from luthier.decoding.rule_rows import N_GLUE, grammar_rows, local_features, make_table
from luthier.decoding.search import SearchReport, read_forest, search
from luthier.decoding.weighting import default_weights, weight_vector
from luthier.decoding.workspace import Workspace
from luthier.features.bins import Bins
from luthier.features.induce import induce_grammar
from luthier.grammar.grammar import Grammar
from luthier.kbest.pool import Pool
from luthier.lm.model import LanguageModel
from luthier.lm.state import new_states


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """Sentences made ready for a decoder: their words by number, and the table of all rules.

    Attributes
    ----------
    sentences : N texts
    words : Tokens
        Numbers of source words; those that the grammar does not have come behind its own.
    pass_through : (T,) int32
        The rule that leaves each word as it is.
    table : RuleTable
    symbols : (L, ·) int32
        Target sides by the words' numbers in each model.
    alone : (R, L) float64
        What each model says of a rule's words alone.
    unknown : (R, L) float64
        How many of them it does not know.
    """

    sentences: Texts
    words: Tokens
    pass_through: Int32
    table: RuleTable
    symbols: Int32
    alone: Float64
    unknown: Float64


@dataclasses.dataclass(frozen=True, eq=False)
class Translation:
    """One sentence decoded: its forest (empty for an empty sentence), its best derivations, what the search did."""

    forest: Hypergraph
    best: KBest
    report: SearchReport


@dataclasses.dataclass(frozen=True, eq=False)
class Decoded:
    """N sentences decoded.

    Attributes
    ----------
    texts : N texts
        The best translation of each; empty for an empty sentence.
    pool : Pool
        The K best of each, with their features and derivations.
    reports : tuple of N SearchReport
    table : RuleTable
    forests : tuple of N Hypergraph, or of none where they were not asked for
    """

    texts: Texts
    pool: Pool
    reports: tuple[SearchReport, ...]
    table: RuleTable
    forests: tuple[Hypergraph, ...]


class Decoder:
    """Translates with a grammar and language models; they are looked through once, and used for many weights.

    Parameters
    ----------
    grammar
        For all sentences, or with a grammar of its own for each of those that will be given.
    lms
        Language models of the target side; none is allowed.
    options
        Limits of the search.
    lm_names
        What the features of the models are called; by default `LanguageModel`, `LanguageModel_2`, …
    bins
        Of features of rules: these then have columns of bins, as if the grammar had been rewritten with them.
    """

    def __init__(
        self, grammar: Grammar, lms: Sequence[LanguageModel] = (), options: SearchOptions | None = None, *,
        lm_names: Sequence[str] | None = None, bins: Bins | None = None,
    ) -> None:  # fmt: skip
        if not grammar.n_rules:
            notice("the grammar has no rules: all words stay as they are")
        self.grammar = grammar if bins is None else induce_grammar(grammar, bins)
        self.bins, self.options = bins, options or SearchOptions()
        self._models = Models.of(lms, lm_names)
        self._rows = grammar_rows(self.grammar)
        self._prepared: Prepared | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features that a translation can have: those of rules, then those of language models."""
        return self._rows.names + self._rows.sparse_names + self._models.names

    def default_weights(self) -> Mapping[str, float]:
        """Return the stated default weights of the features that have one."""
        return default_weights(self.feature_names, self._models.names)

    def prepare(self, sentences: Texts | Sequence[str]) -> Prepared:
        """Return sentences made ready; those of the last call are kept, for the next weights."""
        texts = sentences if isinstance(sentences, Texts) else Texts.from_strings(sentences)
        if self._prepared is not None and self._prepared.sentences == texts:
            return self._prepared
        grammar, models = self.grammar, self._models
        if len(grammar.trie.roots) > 1 and len(grammar.trie.roots) != len(texts):
            raise LuthierError(
                f"expected {len(grammar.trie.roots)} sentences, each with its own grammar, found {len(texts)}. "
                "hint: a grammar extracted for sentences is for these, in this order"
            )
        known = Interner.of(grammar.source_words)
        tokens = tokenize(texts, known)
        met, which = np.unique(tokens.ids, return_inverse=True)
        table = make_table(grammar, self._rows, known.texts().take(met), models.names)
        ids, gaps = models.word_ids(table.words), table.target_symbols < 0
        symbols = np.where(gaps, table.target_symbols, ids[:, np.maximum(table.target_symbols, 0)]).astype(np.int32)
        alone, unknown = np.empty((len(table), len(models))), np.zeros((len(table), len(models)))
        kernels.score_alone(models.tables, table.target_offsets, flat(symbols), new_states(1, models.order), 0, alone)
        kernels.count_unknown(table.target_offsets, flat(symbols), unknown)
        if models.given and not ids.any():
            notice("the language models know none of the words that the grammar and the sentences have")
        self._prepared = Prepared(
            texts, tokens, (grammar.n_rules + N_GLUE + which).astype(np.int32), table, flat(symbols), flat(alone),
            flat(unknown[:, : len(models.given)]),
        )  # fmt: skip
        return self._prepared

    def translate(
        self, sentences: Texts | Sequence[str], weights: Mapping[str, float] | None = None, *, k: int = 1,
        unique: bool = False, threads: int = 1,
    ) -> Iterator[Translation]:  # fmt: skip
        """Yield the translations of sentences, in their order."""
        if k < 1:
            raise LuthierError(f"expected to find 1 translation or more of each sentence, found {k}")
        ready = self.prepare(sentences)
        if weights is None:
            weights = self.default_weights()
            notice("no weights are given; the default ones are used: " + _shown(weights))
        vector = weight_vector(weights, ready.table.names)
        rule_scores = ready.table.rule_scores(vector)
        state = vector[ready.table.features.n_features :]
        rules = self._rules(ready, rule_scores, state)
        work = _Work(ready, rules, rule_scores, state, self.grammar, self.options)
        spaces: queue.SimpleQueue[Workspace] = queue.SimpleQueue()
        for _ in range(threads):
            spaces.put(Workspace(len(self._models), self._models.order))

        def one(row: int) -> Translation:
            space = spaces.get()
            try:
                return work.translate(row, space, k, unique=unique)
            finally:
                spaces.put(space)

        yield from map_in_order(one, range(len(ready.sentences)), threads)

    def decode(
        self, sentences: Texts | Sequence[str], weights: Mapping[str, float] | None = None, *, k: int = 1,
        unique: bool = False, references: Sequence[Texts] = (), threads: int = 1, derivations: bool = True,
        forests: bool = False,
    ) -> Decoded:  # fmt: skip
        """Return the best translations of sentences, lists of the K best, and, where asked for, all forests.

        Parameters
        ----------
        weights
            By name; None for the default ones. A missing weight counts 0.
        unique
            No two hypotheses of a list have the same words.
        references
            Columns of N texts, to be kept in the pool.
        """
        ready = self.prepare(sentences)
        kept: list[Hypergraph] = []
        reports: list[SearchReport] = []
        firsts: list[Int32] = []

        def lists() -> Iterator[SentenceList]:
            with progress("decoding", len(ready.sentences)) as advance:
                for done in self.translate(ready.sentences, weights, k=k, unique=unique, threads=threads):
                    if forests:
                        kept.append(done.forest)
                    reports.append(done.report)
                    firsts.append(done.best.words[: done.best.word_offsets[1]] if len(done.best) else done.best.words)
                    yield describe_list(done.forest, done.best, ready.table)
                    advance(1)

        local = functools.partial(local_features, self.grammar, ready.table) if derivations else None
        pool = make_pool(lists(), ready.table, ready.sentences, references=references, local=local)
        if self.bins is not None:
            pool = pool.with_features(pool.features.group(self.bins.groups))
        counts = np.array([len(words) for words in firsts], dtype=np.int64)
        texts = texts_of(ready.table.words, counts, np.concatenate([np.zeros(0, np.int32), *firsts]))
        return Decoded(texts, pool, tuple(reports), ready.table, tuple(kept))

    def _rules(self, ready: Prepared, rule_scores: Float64, state: Float64) -> Rules:
        """Return what a search knows of the rules under weights; the best of each source side first."""
        given, table, grammar = self._models.given, ready.table, self.grammar
        said = np.zeros(len(self._models))
        said[: len(given)] = state[::2]
        scores = rule_scores.copy()
        for column, weight in zip(ready.unknown.T, state[1::2], strict=True):
            scores += weight * column
        estimates = scores + ready.alone @ said
        if not all_finite(estimates):
            raise LuthierError("expected weights under which scores stay finite, found larger ones")
        order = np.arange(len(table), dtype=np.int32)
        kernels.sort_sides(flat(grammar.rule_offsets), estimates, order)
        trie = grammar.trie
        return Rules(
            flat(trie.keys), flat(trie.nodes), flat(trie.sides), flat(grammar.rule_offsets), flat(order), flat(scores),
            table.target_offsets, ready.symbols, flat(said), self._models.tables,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class _Work:
    """What all sentences of a run share."""

    ready: Prepared
    rules: Rules
    rule_scores: Float64
    state_weights: Float64
    grammar: Grammar
    options: SearchOptions

    def translate(self, row: int, space: Workspace, k: int, *, unique: bool) -> Translation:
        """Decode one sentence."""
        ready, table, span = self.ready, self.ready.table, slice(*self.ready.words.offsets[row : row + 2])
        ids = ready.words.ids[span]
        if not len(ids):
            forest = _empty_forest(len(table.state_names))
            return Translation(forest, k_best(forest, np.zeros(0), table, k), SearchReport(0, 0, 0, 0, 0, 0, 0, 0, 0.0))
        words = np.where(ids < len(self.grammar.source_words), ids, -1).astype(np.int32)
        roots, glue = self.grammar.trie.roots, self.grammar.n_rules
        root = int(roots[row if len(roots) > 1 else 0])
        sentence = Sentence(flat(words), flat(ready.pass_through[span]), root, self.options.max_span, glue)
        report = search(self.rules, sentence, space, self.options, goal_rule=glue + N_GLUE - 1)
        forest = read_forest(space, len(ids), self.options.max_span, ready.unknown)
        scores = forest.edge_scores(self.rule_scores, self.state_weights)
        return Translation(forest, k_best(forest, scores, table, k, unique=unique), report)


def _empty_forest(n_state: int) -> Hypergraph:
    none = np.zeros((0, 2), dtype=np.int32)
    return Hypergraph(np.zeros(1, np.int64), none, none[:, 0], np.zeros((0, n_state)), np.zeros(0, np.uint8), none)


def _shown(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in weights.items())
