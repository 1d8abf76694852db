"""The decoder: sentences, a grammar and language models → forests and K-best lists."""

from __future__ import annotations

import dataclasses
import functools
import math
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64, Int32, all_finite, flat, give_back
from luthier.core.errors import LuthierError
from luthier.core.progress import notice, progress
from luthier.core.threads import map_in_order
from luthier.corpus.lattices import Lattice, read_lattices
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.decoding.chart import _harvest_kernels as kernels
from luthier.decoding.chart._chart_kernels import Rules, Sentence
from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.chart.search import SearchReport, forest_size, parse_size, read_forest, search
from luthier.decoding.chart.workspace import Workspace
from luthier.decoding.decoded import Decoded, First, Prepared, Translation, first_of
from luthier.decoding.forests.hypergraph import Hypergraph
from luthier.decoding.lazy_kbest import k_best
from luthier.decoding.lists import SentenceList, describe_list, make_pool, texts_of
from luthier.decoding.models import Models, default_weights, weight_vector
from luthier.decoding.rule_rows import N_GLUE, grammar_rows, local_features, make_table
from luthier.features.bins import Bins
from luthier.features.induction import induce_grammar
from luthier.grammar.grammar import Grammar
from luthier.lm.model import LanguageModel, new_states

LARGE = 100_000  # rules: making ready so many leaves much memory behind
LATTICE_COST = "LatticeCost"  # the costs of the arcs passed, as they are written


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
        self,
        grammar: Grammar,
        lms: Sequence[LanguageModel] = (),
        options: SearchOptions | None = None,
        *,
        lm_names: Sequence[str] | None = None,
        bins: Bins | None = None,
    ) -> None:
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
        """Return the stated default weights of all features."""
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
        lattices = read_lattices(texts)
        tokens = tokenize(_with_words(texts, lattices), known)
        met, which = np.unique(tokens.ids, return_inverse=True)
        if lattices and LATTICE_COST in grammar.feature_names:
            raise LuthierError(
                f"expected a grammar without the feature {LATTICE_COST!r}, which arcs have. hint: rename it"
            )
        state_names = (*models.names, LATTICE_COST) if lattices else models.names
        table = make_table(grammar, self._rows, known.texts().take(met), state_names)
        own = Texts(
            table.texts.offsets[: grammar.n_rules + 1], table.texts.data
        )  # one copy of the grammar's rows is enough
        self._rows = self._rows._replace(dense=table.features.dense[: grammar.n_rules], texts=own)
        ids, gaps = models.word_ids(table.words), table.target_symbols < 0
        padded = np.pad(ids, ((0, 0), (0, 1)))  # where nothing has a word there is still a first column to look at
        symbols = np.where(gaps, table.target_symbols, padded[:, np.maximum(table.target_symbols, 0)]).astype(np.int32)
        alone, unknown = np.empty((len(table), len(models))), np.zeros((len(table), len(models)))
        kernels.score_alone(models.tables, table.target_offsets, flat(symbols), new_states(1, models.order), 0, alone)
        kernels.count_unknown(table.target_offsets, flat(symbols), unknown)
        if models.given and not ids.any():
            notice("the language models know none of the words that the grammar and the sentences have")
        self._prepared = Prepared(
            texts,
            tokens,
            (grammar.n_rules + N_GLUE + which).astype(np.int32),
            table,
            flat(symbols),
            flat(alone),
            flat(unknown[:, : len(models.given)]),
            lattices,
        )
        if len(table) >= LARGE:
            give_back()
        return self._prepared

    def translate(
        self,
        sentences: Texts | Sequence[str],
        weights: Mapping[str, float] | None = None,
        *,
        k: int = 1,
        unique: bool = False,
        threads: int = 1,
        rows: Sequence[int] | None = None,
        sizes: bool = False,
    ) -> Iterator[Translation]:
        """Yield the translations of sentences, in their order; `decode` has the parameters."""
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
                return work.translate(row, space, k, unique=unique, sizes=sizes)
            finally:
                spaces.put(space)

        yield from map_in_order(one, range(len(ready.sentences)) if rows is None else rows, threads)

    def decode(
        self,
        sentences: Texts | Sequence[str],
        weights: Mapping[str, float] | None = None,
        *,
        k: int = 1,
        unique: bool = False,
        references: Sequence[Texts] = (),
        threads: int = 1,
        derivations: bool = True,
        forests: bool | Callable[[Hypergraph], object] = False,
        rows: Sequence[int] | None = None,
        sizes: bool = False,
    ) -> Decoded:
        """Return the best translations of sentences, lists of the K best, and, where asked for, all forests.

        Parameters
        ----------
        weights
            By name; None for the default ones. A missing weight counts 0.
        unique
            No two hypotheses of a list have the same words.
        references
            Columns of N texts, to be kept in the pool.
        forests
            Whether the result has all forests, or a function that takes each of them as it comes, in their order.
        rows
            The sentences to decode; all of them if None.
        sizes
            Whether reports say how large forests are, before and after the language models.
        """
        ready = self.prepare(sentences)
        for column in references:
            if len(column) != len(ready.sentences):
                raise LuthierError(
                    f"expected a reference for each of {len(ready.sentences)} sentences, found {len(column)}"
                )
        chosen = range(len(ready.sentences)) if rows is None else [range(len(ready.sentences))[row] for row in rows]
        kept: list[Hypergraph] = []
        reports: list[SearchReport] = []
        firsts: list[First] = []
        keep = forests if callable(forests) else kept.append if forests else None

        def lists() -> Iterator[SentenceList]:
            with progress("decoding", len(chosen)) as advance:
                for done in self.translate(
                    ready.sentences, weights, k=k, unique=unique, threads=threads, rows=chosen, sizes=sizes
                ):
                    if keep is not None:
                        keep(done.forest)
                    reports.append(done.report)
                    part = describe_list(done.forest, done.best, ready.table)
                    firsts.append(first_of(part))
                    yield part
                    advance(1)

        local = functools.partial(local_features, self.grammar, ready.table) if derivations else None
        numbers = np.asarray(chosen, dtype=np.int64)
        pool = make_pool(
            lists(),
            ready.table,
            ready.sentences.take(numbers),
            numbers,
            references=[column.take(numbers) for column in references],
            local=local,
        )
        if self.bins is not None:
            pool = pool.with_features(pool.features.group(self.bins.groups))
        counts = np.array([len(first.words) for first in firsts], dtype=np.int64)
        words = np.concatenate([np.zeros(0, np.int32), *(first.words for first in firsts)])
        texts = texts_of(ready.table.words, counts, words)
        return Decoded(texts, pool, tuple(reports), tuple(firsts), ready.table, tuple(kept))

    def _rules(self, ready: Prepared, rule_scores: Float64, state: Float64) -> Rules:
        """Return what a search knows of the rules under weights; the best of each source side first."""
        given, table, grammar = self._models.given, ready.table, self.grammar
        said = np.zeros(len(self._models))
        said[: len(given)] = state[: 2 * len(given) : 2]
        scores = rule_scores.copy()
        for column, weight in zip(ready.unknown.T, state[1 : 2 * len(given) : 2], strict=True):
            scores += weight * column
        estimates = scores + ready.alone @ said
        cost_weight = float(state[-1]) if ready.lattices else 0.0
        costs = [cost_weight * float(np.abs(lattice.costs).sum()) for lattice in ready.lattices.values()]
        if not all_finite(estimates) or not math.isfinite(math.fsum(costs)):
            raise LuthierError("expected weights under which scores stay finite, found larger ones")
        order = np.arange(len(table), dtype=np.int32)
        kernels.sort_sides(flat(grammar.rule_offsets), estimates, order)
        trie = grammar.trie
        return Rules(
            flat(trie.keys),
            flat(trie.nodes),
            flat(trie.sides),
            flat(grammar.rule_offsets),
            flat(order),
            flat(scores),
            table.target_offsets,
            ready.symbols,
            flat(said),
            self._models.tables,
            cost_weight,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class _Work:
    """What all sentences of a run share."""

    ready: Prepared
    rules: Rules
    rule_scores: Float64
    state_weights: Float64
    grammar: Grammar
    options: SearchOptions

    def translate(self, row: int, space: Workspace, k: int, *, unique: bool, sizes: bool) -> Translation:
        """Decode one sentence."""
        ready, table, span = self.ready, self.ready.table, slice(*self.ready.words.offsets[row : row + 2])
        ids = ready.words.ids[span]
        if not len(ids):
            forest = _empty_forest(len(table.state_names))
            return Translation(forest, k_best(forest, np.zeros(0), table, k), SearchReport())
        lattice, goal = ready.lattices.get(row), self.grammar.n_rules + N_GLUE - 1
        sentence = self._sentence(row, span, lattice)
        least = 1 if lattice is None else lattice.longest_needed()
        try:
            report = search(self.rules, sentence, space, self.options, goal_rule=goal, least=least)
        except LuthierError as error:
            raise LuthierError(f"sentence {row}: {error}") from None
        forest = read_forest(space, sentence, ready.unknown, len(table.state_names))
        if sizes:
            before = parse_size(self.rules, sentence, space, report.cells - sentence.n, report.cells)
            report = dataclasses.replace(report, before_models=before, after_models=forest_size(forest))
        scores = forest.edge_scores(self.rule_scores, self.state_weights)
        return Translation(forest, k_best(forest, scores, table, k, unique=unique), report)

    def _sentence(self, row: int, span: slice, lattice: Lattice | None) -> Sentence:
        """Return what is searched: words one behind another, or on the arcs of a lattice."""
        ids, max_span, roots = self.ready.words.ids[span], self.options.max_span, self.grammar.trie.roots
        n, width = len(ids), max_span
        nodes: Int32 = np.arange(n + 1, dtype=np.int32)
        starts, stops, costs, distances = nodes[:-1], nodes[1:], np.zeros(n), np.zeros((0, 0), dtype=np.int32)
        if lattice is not None:
            n, starts, stops, costs = lattice.n, lattice.starts, lattice.stops, lattice.costs
            distances = lattice.distances()
            near = np.argwhere(distances <= max_span)
            width = int((near[:, 1] - near[:, 0]).max())
        return Sentence(
            n,
            np.searchsorted(stops, np.arange(n + 1), side="right"),
            flat(starts),
            flat(costs),
            flat(np.where(ids < len(self.grammar.source_words), ids, -1).astype(np.int32)),
            flat(self.ready.pass_through[span]),
            int(roots[row if len(roots) > 1 else 0]),
            width,
            distances,
            max_span,
            self.grammar.n_rules,
        )


def _with_words(texts: Texts, lattices: Mapping[int, Lattice]) -> Texts:
    """Return texts with the words of their arcs in place of lattices."""
    if not lattices:
        return texts
    return Texts.from_strings(
        " ".join(lattices[row].words) if row in lattices else text for row, text in enumerate(texts)
    )


def _empty_forest(n_state: int) -> Hypergraph:
    none = np.zeros((0, 2), dtype=np.int32)
    return Hypergraph(np.zeros(1, np.int64), none, none[:, 0], np.zeros((0, n_state)), np.zeros(0, np.uint8), none)


def _shown(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in weights.items() if value) + ", all others 0"
