"""A grammar: synchronous rules with at most two gaps, in frozen flat arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bytes, Float64, Int32, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, rows_of_segments, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.grammar import _trie_kernels as kernels

# The source sides of a grammar as a trie, which a decoder walks word by word and gap by gap.


class Trie(NamedTuple):
    """Nodes from 0 on; a symbol is 0 for a gap, else a source word's number plus 1.

    A kernel walks it with `_trie_kernels.find_child(keys, nodes, node, symbol)`.

    Attributes
    ----------
    keys : (2^k,) int64
        ``parent << 32 | symbol``, −1 where a place is free; never more than half full.
    nodes : (2^k,) int32
        The children.
    sides : (n,) int32
        The source side that ends at a node, −1 for none.
    roots : (N,) or (1,) int32
        Where the walk for a sentence begins; one for all of them if there is only one.
    """

    keys: Int64
    nodes: Int32
    sides: Int32
    roots: Int32

    def child(self, node: int, symbol: int) -> int:
        """Return the child of a node by a symbol, −1 if there is none."""
        return int(kernels.find(self.keys, self.nodes, node, symbol))


def build_trie(offsets: Int64, symbols: Int32, roots: Int32, side_roots: Int32) -> Trie:
    """Return the trie of source sides, of which each has its root; gaps are below 0, words from 0 on."""
    n_roots = int(roots.max(initial=0)) + 1
    most = n_roots + len(symbols)
    slots = 1 << (2 * most).bit_length()
    keys, nodes = np.full(slots, -1, np.int64), np.full(slots, -1, np.int32)
    ends = np.empty(len(offsets) - 1, dtype=np.int32)
    codes = np.maximum(symbols + 1, 0).astype(np.int32)
    size = kernels.insert_paths(flat(offsets), flat(codes), flat(side_roots), keys, nodes, ends, n_roots)
    sides = np.full(size, -1, dtype=np.int32)
    sides[ends] = np.arange(len(ends), dtype=np.int32)
    return Trie(frozen(keys), frozen(nodes), frozen(sides), frozen(roots))


MOST_GAPS = 2


class Rule(NamedTuple):
    """One rule to look at; `[X,1]` and `[X,2]` are gaps."""

    source: str
    target: str
    features: dict[str, float]
    links: list[tuple[int, int]]


@dataclasses.dataclass(frozen=True, eq=False)
class Grammar:
    """R rules under S source sides, and which of them the grammar of each of N sentences has.

    A symbol is a word's number from 0 on, or a gap: −1 and −2, numbered by the source side.

    Attributes
    ----------
    source_words, target_words : Texts
    side_offsets, side_symbols : (S+1,) int64, int32
        The source sides.
    rule_offsets : (S+1,) int64
        Rules ``rule_offsets[s]:rule_offsets[s+1]`` have source side s.
    target_offsets, target_symbols : (R+1,) int64, int32
        The target sides.
    feature_names : tuple of str
    feature_offsets, feature_ids, feature_values : (R+1,) int64, int32, float64
        The features of each rule in the order in which they are written; a rule need not have all.
    link_offsets, links : (R+1,) int64, (L, 2) uint8
        Which symbol of the source side is linked with which of the target side.
    sentence_offsets, sentence_sides : (N+1,) int64, int32
        The source sides of the grammar of each sentence; N is 0 for a grammar that belongs to none.
    trie : Trie
        The source sides, for lookups.
    """

    source_words: Texts
    target_words: Texts
    side_offsets: Int64
    side_symbols: Int32
    rule_offsets: Int64
    target_offsets: Int64
    target_symbols: Int32
    feature_names: tuple[str, ...]
    feature_offsets: Int64
    feature_ids: Int32
    feature_values: Float64
    link_offsets: Int64
    links: Bytes
    sentence_offsets: Int64
    sentence_sides: Int32
    trie: Trie

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, frozen(value))

    def __len__(self) -> int:
        return self.n_rules

    @property
    def n_rules(self) -> int:
        """R, the number of rules."""
        return len(self.target_offsets) - 1

    @property
    def n_sides(self) -> int:
        """S, the number of source sides."""
        return len(self.side_offsets) - 1

    @property
    def n_sentences(self) -> int:
        """N, the number of sentences that have a grammar of their own."""
        return len(self.sentence_offsets) - 1

    @property
    def rule_sides(self) -> Int64:
        """The source side of each rule, (R,)."""
        return segment_of_rows(self.rule_offsets)

    @property
    def gap_counts(self) -> Int64:
        """The number of gaps of each source side, (S,)."""
        sides = segment_of_rows(self.side_offsets)
        return np.bincount(sides[self.side_symbols < 0], minlength=self.n_sides)

    def sentence_uses(self) -> Int64:
        """Return of each source side how many sentences' grammars have it, (S,)."""
        return np.bincount(self.sentence_sides, minlength=self.n_sides)

    def sides_of(self, sentence: int) -> Int32:
        """Return the source sides of a sentence's grammar."""
        sentence = range(self.n_sentences)[sentence]
        return self.sentence_sides[self.sentence_offsets[sentence] : self.sentence_offsets[sentence + 1]]

    def rule(self, row: int) -> Rule:
        """Return one rule as texts and numbers."""
        row = range(self.n_rules)[row]
        side = int(np.searchsorted(self.rule_offsets, row, side="right")) - 1
        source = self.side_symbols[self.side_offsets[side] : self.side_offsets[side + 1]]
        target = self.target_symbols[self.target_offsets[row] : self.target_offsets[row + 1]]
        entries = slice(self.feature_offsets[row], self.feature_offsets[row + 1])
        names = [self.feature_names[k] for k in self.feature_ids[entries]]
        links = self.links[self.link_offsets[row] : self.link_offsets[row + 1]]
        return Rule(
            _text(source, self.source_words),
            _text(target, self.target_words),
            dict(zip(names, self.feature_values[entries].tolist(), strict=True)),
            [(int(a), int(b)) for a, b in links],
        )

    def rules(self) -> Iterator[Rule]:
        """Yield all rules: for looking at small grammars."""
        for row in range(self.n_rules):
            yield self.rule(row)

    def feature(self, name: str) -> Float64:
        """Return one feature of every rule, (R,); 0 where a rule does not have it."""
        if name not in self.feature_names:
            raise LuthierError(f"expected a feature of the grammar ({', '.join(self.feature_names)}), found {name!r}")
        entries = np.flatnonzero(self.feature_ids == self.feature_names.index(name))
        values = np.zeros(self.n_rules)
        values[np.searchsorted(self.feature_offsets, entries, side="right") - 1] = self.feature_values[entries]
        return values

    def select_features(self, names: Collection[str]) -> Grammar:
        """Return the same rules with the features of these names only, in the grammar's order."""
        for name in names:
            if name not in self.feature_names:
                raise LuthierError(
                    f"expected a feature of the grammar ({', '.join(self.feature_names)}), found {name!r}"
                )
        wanted = np.array([name in names for name in self.feature_names], dtype=bool)
        stays = wanted[self.feature_ids] if len(wanted) else np.zeros(0, dtype=bool)
        return dataclasses.replace(
            self,
            feature_names=tuple(name for name in self.feature_names if name in names),
            feature_offsets=np.concatenate([[0], np.cumsum(stays)])[self.feature_offsets],
            feature_ids=(np.cumsum(wanted) - 1)[self.feature_ids[stays]].astype(np.int32),
            feature_values=self.feature_values[stays],
        )

    def take(self, sides: npt.ArrayLike) -> Grammar:
        """Return the grammar with the chosen source sides only, in that order; it belongs to no sentence."""
        sides = np.asarray(sides, dtype=np.int64)
        rows = rows_of_segments(self.rule_offsets, sides)
        side_offsets = offsets_from_counts(np.diff(self.side_offsets)[sides])
        symbols = self.side_symbols[rows_of_segments(self.side_offsets, sides)]
        entries = rows_of_segments(self.feature_offsets, rows)
        return make_grammar(
            dataclasses.replace(
                self,
                side_offsets=side_offsets,
                side_symbols=symbols,
                rule_offsets=offsets_from_counts(np.diff(self.rule_offsets)[sides]),
                target_offsets=offsets_from_counts(np.diff(self.target_offsets)[rows]),
                target_symbols=self.target_symbols[rows_of_segments(self.target_offsets, rows)],
                feature_offsets=offsets_from_counts(np.diff(self.feature_offsets)[rows]),
                feature_ids=self.feature_ids[entries],
                feature_values=self.feature_values[entries],
                link_offsets=offsets_from_counts(np.diff(self.link_offsets)[rows]),
                links=self.links[rows_of_segments(self.link_offsets, rows)],
                **NO_SENTENCES,
            )
        )

    def sentence(self, number: int) -> Grammar:
        """Return the grammar of one sentence."""
        return self.take(self.sides_of(number))


def make_grammar(grammar: Grammar, side_roots: Int32 | None = None, n_roots: int = 1) -> Grammar:
    """Return the grammar with the trie that belongs to its source sides, each under its root."""
    if side_roots is None:
        side_roots = np.zeros(grammar.n_sides, dtype=np.int32)
    roots = np.arange(n_roots, dtype=np.int32)
    return dataclasses.replace(grammar, trie=build_trie(grammar.side_offsets, grammar.side_symbols, roots, side_roots))


def no_trie() -> Trie:
    """Return what stands in for a trie that is yet to be built."""
    none = np.zeros(0, dtype=np.int32)
    return Trie(none.astype(np.int64), none, none, none)


NO_SENTENCES: dict[str, Any] = {
    "sentence_offsets": frozen(np.zeros(1, np.int64)),
    "sentence_sides": frozen(np.zeros(0, np.int32)),
}


def _text(symbols: Int32, words: Texts) -> str:
    return " ".join(words[int(s)] if s >= 0 else f"[X,{-int(s)}]" for s in symbols)
