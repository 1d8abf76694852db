"""Extraction: from the sentences to be translated to the rules that can translate them [chiang2007, lopez2008].

Patterns are collected from all sentences first, so that each is looked up once, however many sentences have it.
They are then worked on in blocks, on several threads; the result does not depend on either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Int32, Int64
from luthier.core.progress import progress
from luthier.core.segments import segment_of_rows
from luthier.core.threads import map_in_order
from luthier.corpus.lattices import refuse_lattices
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.grammar.extraction.assembly import Block, Counts, join_parts, make_part
from luthier.grammar.extraction.options import Limits, feature_names
from luthier.grammar.extraction.patterns import Patterns, Plan, collect_patterns, find_occurrences, make_plan
from luthier.grammar.extraction.tally import tally
from luthier.grammar.grammar import Grammar
from luthier.grammar.lexicon import Lexicon, lexical_costs
from luthier.grammar.model import Model

# What an extraction gave, in a few numbers.


@dataclasses.dataclass(frozen=True)
class Extracted:
    """Sizes of a model and of the grammar made from it.

    Attributes
    ----------
    model
        The folder of the model, None if it was not kept.
    pairs, left_out
        Sentence pairs, and how many of them are empty or too long; None where the model was kept from earlier.
    output
        Where the rules went, None if only the model was made.
    sentences, without_rules
        Sentences, and how many of them have no rule at all.
    in_corpus
        How many were left out of the corpus; None if that was not asked for.
    source_sides, rules
        Sizes of the grammar.
    """

    model: str | None
    pairs: int
    left_out: int | None
    output: str | None
    sentences: int
    without_rules: int
    in_corpus: int | None
    source_sides: int
    rules: int


NO_ROWS: Int64 = np.zeros(0, dtype=np.int64)


def extract(
    model: Model,
    sentences: Texts,
    limits: Limits | None = None,
    *,
    features: Sequence[str] = ("log",),
    threads: int = 1,
) -> Grammar:
    """Return the rules for sentences to be translated, with the grammar of each.

    Parameters
    ----------
    model
        The parallel text.
    sentences
        White space separates words.
    features
        Kinds: log, raw, counts, all.
    """
    refuse_lattices(sentences)
    limits = limits or Limits()
    names = feature_names(features)
    text, offsets = number_words(model, sentences)
    patterns = collect_patterns(model, text, offsets, limits)
    plan = make_plan(patterns)

    def work(block: tuple[int, int]) -> Block:
        return rules_of_block(model, patterns, plan, block, limits, (NO_ROWS, model.lexicon))

    blocks = []
    with progress("extracting rules", len(plan.blocks)) as advance:
        for block in map_in_order(work, plan.blocks, threads):
            blocks.append(block)
            advance(1)
    return join_parts([make_part(patterns, blocks, names)], model, names)


def rules_of_block(
    model: Model,
    patterns: Patterns,
    plan: Plan,
    block: tuple[int, int],
    limits: Limits,
    held_out: tuple[Int64, Lexicon],
) -> Block:
    """Return the counted rules of a block of patterns; `held_out` are pairs to leave out, and what is left to count."""
    without, lexicon = held_out
    found = find_occurrences(model, patterns, plan, block, limits, without)
    rules = tally(model, found, limits)
    pattern = segment_of_rows(rules.rule_offsets)
    source = patterns.symbols_of(found.nodes)
    costs = lexical_costs(lexicon, source, pattern, (rules.symbol_offsets, rules.symbols))
    counts = Counts(np.diff(found.offsets)[pattern], rules.pairs, rules.having[pattern, rules.variant], *costs)
    return Block(rules, found.nodes[pattern], counts)


def number_words(model: Model, sentences: Texts) -> tuple[Int32, Int64]:
    """Return the words as the model numbers them, 0 for those it does not know and behind each sentence."""
    vocab = Interner.of(model.source_words)
    known = len(vocab)
    tokens: Tokens = tokenize(sentences, vocab)
    offsets = tokens.offsets + np.arange(len(tokens) + 1)
    text = np.zeros(int(offsets[-1]), dtype=np.int32)
    text[np.arange(len(tokens.ids)) + segment_of_rows(tokens.offsets)] = np.where(tokens.ids < known, tokens.ids, 0)
    return text, offsets
