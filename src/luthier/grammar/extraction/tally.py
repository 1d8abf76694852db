"""Rules read off occurrences, and counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from luthier.core.arrays import Int32, Int64
from luthier.grammar.extraction import _tally_kernels as kernels
from luthier.grammar.extraction.options import Limits
from luthier.grammar.extraction.patterns import Occurrences
from luthier.grammar.model import Model


class Corpus(NamedTuple):
    """The arrays of a model that the sides of a rule are read from."""

    sentence: Int32
    source_start: Int64
    target_start: Int64
    target_words: Int32
    link_offsets: Int64
    link_target: np.ndarray


class Pair(NamedTuple):
    """The links of the text as spans, and which sentence pair is looked at."""

    source_low: np.ndarray
    source_high: np.ndarray
    target_low: np.ndarray
    target_high: np.ndarray
    at: Int64


class Tally(NamedTuple):
    """Counted rules of the patterns of a block.

    Attributes
    ----------
    rule_offsets : (n+1,) int64
        Rules ``rule_offsets[p]:rule_offsets[p+1]`` are of pattern p.
    having : (n, 4) int64
        Occurrences of each variant of a pattern that give a rule.
    variant : (R,) int8
        2 for a gap at the left end of the source side, and 1 for one at the right.
    pairs : (R,) int64
        c(f, e)
    symbol_offsets, symbols : (R+1,), int32
        Target sides; −1 and −2 are gaps, numbered by the source side.
    link_offsets, links : (R+1,), int16
        The commonest links between symbols, ``source << 8 | target``.
    """

    rule_offsets: Int64
    having: Int64
    variant: np.ndarray
    pairs: Int64
    symbol_offsets: Int64
    symbols: Int32
    link_offsets: Int64
    links: np.ndarray


class _Scratch(NamedTuple):
    """Arrays for the rules of one pattern: a table of them, and their sets of links as lists."""

    table: Int64
    slot: Int64
    first_set: Int64
    set_count: Int64
    next_set: Int64
    set_offsets: Int64
    set_links: np.ndarray


class _Work(NamedTuple):
    """Arrays for one occurrence: limits and order of its gaps, the sides chosen, their places; how much is filled."""

    edges: Int64
    order: Int64
    chosen: Int64
    where: Int64
    used: Int64


def tally(model: Model, found: Occurrences, limits: Limits) -> Tally:
    """Return the rules of all occurrences of a block, counted by pattern."""
    n = len(found.nodes)
    corpus = Corpus(
        model.sentence, model.source_start, model.target_start, model.target, model.link_offsets, model.link_target
    )
    pair = Pair(model.source_low, model.source_high, model.target_low, model.target_high, np.zeros(4, np.int64))
    work = _Work(
        np.empty((6, 2), np.int64),
        np.empty(2, np.int64),
        np.empty(6, np.int64),
        np.empty(256, np.int64),
        np.zeros(5, np.int64),
    )
    room = max(len(found.places) // 4, 1 << 10)
    out = _output(n, room, limits.max_span)
    scratch = _scratch(4 * min(limits.samples, 1000), limits.max_symbols * limits.max_span)
    done = 0
    while True:
        done = kernels.tally(corpus, pair, limits.for_kernels(), found, done, work, out, scratch)
        if done == n:
            return _cut(out, work.used)
        room *= 2
        larger = _output(n, room, limits.max_span)
        columns: list[tuple[Any, Any]] = list(zip(larger, out, strict=True))
        for new, old in columns:
            new[: len(old)] = old
        out = larger
        scratch = _scratch(2 * len(scratch.slot), limits.max_symbols * limits.max_span)


def _output(n: int, rules: int, span: int) -> Tally:
    symbols = rules * 6 + span + 1
    return Tally(
        np.zeros(n + 1, np.int64),
        np.zeros((n, 4), np.int64),
        np.empty(rules, np.int8),
        np.empty(rules, np.int64),
        np.zeros(rules + 1, np.int64),
        np.empty(symbols, np.int32),
        np.zeros(rules + 1, np.int64),
        np.empty(symbols, np.int16),
    )


def _scratch(rules: int, most_links: int) -> _Scratch:
    table = np.full(1 << (2 * rules).bit_length(), -1, dtype=np.int64)
    slot, first, count, following = (np.empty(rules, np.int64) for _ in range(4))
    links = np.empty(8 * rules + most_links + 1, dtype=np.int16)
    return _Scratch(table, slot, first, count, following, np.zeros(rules + 1, np.int64), links)


def _cut(out: Tally, used: Int64) -> Tally:
    rules, symbols, links = (int(used[k]) for k in (kernels.N_RULES, kernels.N_SYMBOLS, kernels.N_LINKS))
    ends: dict[str, Any] = {
        "variant": rules,
        "pairs": rules,
        "symbol_offsets": rules + 1,
        "symbols": symbols,
        "link_offsets": rules + 1,
        "links": links,
    }
    return out._replace(**{name: getattr(out, name)[:end].copy() for name, end in ends.items()})
