"""Leave one out: the grammar of a sentence that stands in the corpus, as if its pair did not.

All pairs with the same source sentence are left out: their occurrences, and their links in the lexicon. So the
rules are those that the rest of the corpus gives, and tuning on training text is honest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Int32, Int64
from luthier.core.progress import progress
from luthier.core.segments import rows_of_segments
from luthier.core.threads import map_in_order
from luthier.corpus.texts import Texts
from luthier.grammar.extraction.assembly import Part, join_parts, make_part
from luthier.grammar.extraction.extract import number_words, rules_of_block
from luthier.grammar.extraction.options import Limits, feature_names
from luthier.grammar.extraction.patterns import collect_patterns, make_plan
from luthier.grammar.grammar import Grammar
from luthier.grammar.lexicon import Lexicon
from luthier.grammar.model import Model, find_chunks


def extract_held_out(
    model: Model,
    sentences: Texts,
    limits: Limits | None = None,
    *,
    features: Sequence[str] = ("log",),
    threads: int = 1,
) -> tuple[Grammar, int]:
    """Return a grammar for each sentence without the pairs that have it as their source, and how many had such pairs.

    Every sentence has source sides of its own, since the same side has other counts elsewhere; so this takes the
    time and the memory of as many extractions.
    """
    limits = limits or Limits()
    names = feature_names(features)
    text, offsets = number_words(model, sentences)
    keys = lexicon_keys(model.lexicon)

    def work(number: int) -> tuple[Part, bool]:
        own = text[offsets[number] : offsets[number + 1]]
        without = same_source(model, own)
        patterns = collect_patterns(model, own, np.array([0, len(own)]), limits)
        plan = make_plan(patterns)
        held_out = without, lexicon_without(model, keys, without)
        blocks = [rules_of_block(model, patterns, plan, block, limits, held_out) for block in plan.blocks]
        return make_part(patterns, blocks, names), len(without) > 0

    parts, found = [], 0
    with progress("extracting rules", len(sentences)) as advance:
        for part, known in map_in_order(work, range(len(sentences)), threads):
            parts.append(part)
            found += known
            advance(1)
    return join_parts(parts, model, names), found


def same_source(model: Model, sentence: Int32) -> Int64:
    """Return the pairs, ascending, whose source is exactly the given sentence (word numbers and a 0)."""
    n = len(sentence) - 1
    if n == 0 or (sentence[:n] == 0).any():
        return np.zeros(0, dtype=np.int64)
    depth = min(n, model.depth)
    lows, highs = find_chunks(model.words, model.places, sentence[:depth], depth)
    places = model.places[lows[0, depth - 1] : highs[0, depth - 1]].astype(np.int64)
    places = places[places + n < len(model.words)]
    places = places[model.source_start[model.sentence[places]] == places]
    fits = (model.words[places[:, None] + np.arange(n + 1)] == sentence).all(axis=1)
    return np.sort(model.sentence[places[fits]]).astype(np.int64)


def lexicon_keys(lexicon: Lexicon) -> Int64:
    """Return a number for each entry of the lexicon, ascending."""
    f = np.repeat(np.arange(len(lexicon.offsets) - 1), np.diff(lexicon.offsets))
    return f * len(lexicon.target_null) + lexicon.targets


def lexicon_without(model: Model, keys: Int64, pairs: Int64) -> Lexicon:
    """Return the counts of the lexicon less those of some pairs."""
    lexicon = model.lexicon
    if not len(pairs):
        return lexicon
    places = rows_of_segments(model.source_start, pairs)
    targets = rows_of_segments(model.target_start, pairs)
    links = rows_of_segments(model.link_offsets, places)
    link_counts = model.link_offsets[places + 1] - model.link_offsets[places]
    f = np.repeat(model.words[places], link_counts)
    start = model.target_start[np.repeat(model.sentence[places], link_counts)]
    e = model.target[start + model.link_target[links]]
    lone_f = model.words[places][(model.source_low[places] < 0) & (model.words[places] > 0)]
    lone_e = model.target[targets][model.target_low[targets] < 0]
    counts, source_null, target_null = lexicon.counts.copy(), lexicon.source_null.copy(), lexicon.target_null.copy()
    source_total, target_total = lexicon.source_total.copy(), lexicon.target_total.copy()
    np.subtract.at(counts, np.searchsorted(keys, f.astype(np.int64) * len(target_null) + e), 1)
    np.subtract.at(source_null, lone_f, 1)
    np.subtract.at(target_null, lone_e, 1)
    np.subtract.at(source_total, np.concatenate([f, lone_f]), 1)
    np.subtract.at(target_total, np.concatenate([e, lone_e]), 1)
    source_total[0] -= len(lone_e)
    target_total[0] -= len(lone_f)
    return lexicon._replace(
        counts=counts,
        source_null=source_null,
        target_null=target_null,
        source_total=source_total,
        target_total=target_total,
    )
