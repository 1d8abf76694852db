"""What goes into a decoder and what comes out of it: sentences made ready, translations, lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from luthier.core.arrays import Float64, Int32
from luthier.corpus.lattices import Lattice
from luthier.corpus.texts import Texts, Tokens
from luthier.decoding.chart.search import SearchReport
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.decoding.lazy_kbest import KBest
from luthier.decoding.lists import SentenceList
from luthier.decoding.trace import Trace
from luthier.kbest.pool import Pool

# What a run of the decoder came to, for tables and programs.


@dataclasses.dataclass(frozen=True)
class DecodingSummary:
    """A run of `luthier engine decode`.

    Attributes
    ----------
    sentences, hypotheses, words, pops : int
    seconds : float
        Time in the search, all threads together.
    output : str or None
        Where the main result went.
    trace : Trace or None
        Of one sentence, where asked for.
    """

    sentences: int
    hypotheses: int
    words: int
    pops: int
    seconds: float
    output: str | None
    trace: Trace | None


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """Sentences made ready for a decoder: their words by number, and the table of all rules.

    Attributes
    ----------
    sentences : N texts
    words : Tokens
        Numbers of source words, of a lattice those of its arcs; those that the grammar does not have come behind its
        own.
    pass_through : (T,) int32
        The rule that leaves each word as it is.
    table : RuleTable
    symbols : (L, ·) int32
        Target sides by the words' numbers in each model.
    alone : (R, L) float64
        What each model says of a rule's words alone.
    unknown : (R, L) float64
        How many of them it does not know.
    lattices : by the numbers of sentences
    """

    sentences: Texts
    words: Tokens
    pass_through: Int32
    table: RuleTable
    symbols: Int32
    alone: Float64
    unknown: Float64
    lattices: Mapping[int, Lattice]


@dataclasses.dataclass(frozen=True, eq=False)
class Translation:
    """One sentence decoded: its forest (empty for an empty sentence), its best derivations, what the search did."""

    forest: Hypergraph
    best: KBest
    report: SearchReport


class First(NamedTuple):
    """The best derivation of a sentence: its words, and its rules as `SentenceList` has them; all empty if none."""

    words: Int32
    rules: Int32
    parents: Int32
    spans: Int32


def first_of(rows: SentenceList) -> First:
    """Return the best derivation of a list."""
    words, uses = (int(counts[0]) if len(counts) else 0 for counts in (rows.word_counts, rows.use_counts))
    uses_of = (column[:uses].copy() for column in (rows.rules, rows.parents, rows.spans))  # a view keeps the whole list
    return First(rows.words[:words].copy(), *uses_of)


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
    firsts : tuple of N First
    table : RuleTable
    forests : tuple of N Hypergraph, or of none where they were not asked for
    """

    texts: Texts
    pool: Pool
    reports: tuple[SearchReport, ...]
    firsts: tuple[First, ...]
    table: RuleTable
    forests: tuple[Hypergraph, ...]
