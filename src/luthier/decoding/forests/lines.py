"""Forests along lines of weights: which string of each is the best, everywhere, exactly ([macherey2008], [kumar2009]).

A node's value is the upper envelope of the lines of its derivations. ⊕ is the envelope of a union, ⊗ the sum: lines
that are highest at the same place are added. One pass from the leaves to the goal finds the lines of the goal, some
fifteen of as many derivations as there may be; only their strings are read off. Equal lines: the earlier edge, as in a
list the earlier row.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner
from luthier.decoding.forests import _envelope_kernels as kernels
from luthier.decoding.forests.expectation import spread_in_forests
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable, with_used_rules
from luthier.geometry.lines.envelope import Envelope

LARGEST = 1e300
DIRECTIONS_AT_ONCE = 32  # scores of all rules are held for as many


class _Room:
    """Arrays in which the lines of one forest are found; they grow, and serve one forest after another."""

    def __init__(self) -> None:
        self.lines, self.node_lines, self.strings = 1 << 14, 1 << 12, 1 << 12
        self._make()

    def _make(self) -> None:
        self.pass_arrays = (np.empty((self.lines, 3)), np.empty((self.lines, 3), dtype=np.int32))
        m = self.node_lines
        self.node = kernels.Workspace(
            np.empty((5, m)),
            np.empty((m, 3), np.int32),
            np.empty((2, m), np.int64),
            np.empty((3, m)),
            np.empty((m, 3), np.int32),
        )
        self.goal = kernels.Goal(
            np.empty((self.strings, 2)), np.empty(self.strings, np.int64), np.empty(32 * self.strings, np.int32)
        )

    def grow(self) -> None:
        """Make twice as much room; what is there is lost."""
        self.lines, self.node_lines, self.strings = 2 * self.lines, 2 * self.node_lines, 2 * self.strings
        self._make()


class ForestLines:
    """The forests of N sentences, made ready for line searches; strings are numbered as they are met.

    Parameters
    ----------
    forests : N forests, each with a node or more
    rules : RuleTable
    """

    def __init__(self, forests: Sequence[Hypergraph], rules: RuleTable) -> None:
        if not all(forest.n_nodes for forest in forests):
            raise LuthierError("expected forests with a translation, found one without")
        self._forests, self._rules = with_used_rules(forests, rules)
        self._interner, self._lock = Interner(), threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D features."""
        return self._rules.names

    @property
    def n_sentences(self) -> int:
        """How many forests there are, N."""
        return len(self._forests)

    @functools.cached_property
    def spread(self) -> Float64:
        """Each feature's standard deviation about its mean in a forest, (D,)."""
        return frozen(spread_in_forests(self._forests, self._rules))

    def digest(self) -> str:
        """Return a hash of all that is in the forests, so that a search can tell its own."""
        hasher = hashlib.sha256(repr(self.names).encode("utf-8"))
        features = self._rules.features
        parts: list[npt.NDArray[Any]] = [
            self._rules.target_offsets,
            self._rules.target_symbols,
            features.dense,
            features.indptr,
            features.indices,
            features.values,
            self._rules.words.offsets,
            self._rules.words.data,
        ]
        for forest in self._forests:
            parts += [forest.edge_offsets, forest.tails, forest.rules, forest.state_features]
        for part in parts:
            hasher.update(str(part.shape).encode("ascii"))
            hasher.update(part.tobytes())
        return hasher.hexdigest()

    def envelopes(self, start: Float64, directions: Float64) -> list[Envelope]:
        """Return which string is the highest along each direction, (D,) and (Q, D): rows are numbers of strings."""
        blocks = range(0, len(directions), DIRECTIONS_AT_ONCE)
        return [e for b in blocks for e in self._envelopes(start, directions[b : b + DIRECTIONS_AT_ONCE])]

    def select(self, weights: Float64) -> Int64:
        """Return the number of the best string of each sentence: (W, D) → (W, N)."""
        rows = [self.envelopes(vector, np.zeros((1, len(vector))))[0].first for vector in weights]
        return np.array(rows, dtype=np.int64).reshape(len(weights), self.n_sentences)

    @property
    def n_strings(self) -> int:
        """How many strings have been met."""
        return len(self._interner)

    def strings(self, first: int) -> tuple[Int64, Tokens]:
        """Return the sentence and the words of each string from number `first` on."""
        with self._lock:
            if first == len(self._interner):
                return np.zeros(0, np.int64), Tokens(np.zeros(1, np.int64), np.zeros(0, np.int32))
            texts = self._interner.texts()
        numbers = texts.data[texts.offsets[first] :].view(np.int32)
        starts = (texts.offsets[first:] - texts.offsets[first]) // 4
        words = np.ones(len(numbers), dtype=np.bool_)
        words[starts[:-1]] = False  # the sentence stands before its words
        return numbers[starts[:-1]].astype(np.int64), Tokens(starts - np.arange(len(starts)), numbers[words])

    def texts(self, first: int) -> tuple[Int64, Texts]:
        """Return the sentence and the text of each string from number `first` on: words with a space between."""
        sentences, tokens = self.strings(first)
        pieces = self._spaced_words.take(tokens.ids)
        ends = pieces.offsets[tokens.offsets]
        stops = np.maximum(ends[1:] - 1, ends[:-1])
        return sentences, Texts.from_spans(pieces.data, ends[:-1], stops)

    @functools.cached_property
    def _spaced_words(self) -> Texts:
        return Texts.from_strings([word + " " for word in self._rules.words])

    def _envelopes(self, start: Float64, directions: Float64) -> list[Envelope]:
        n_rule = self._rules.features.n_features
        vectors = np.concatenate([np.asarray(start)[None], directions])  # (1 + Q, D)
        rule_scores, states = self._rules.rule_scores(vectors), vectors[:, n_rule:]
        room, parts = _Room(), []
        for number, forest in enumerate(self._forests):
            with np.errstate(over="ignore", invalid="ignore"):
                scores = np.array([forest.edge_scores(own, w) for own, w in zip(rule_scores, states, strict=True)])
            if not np.abs(scores).max() < LARGEST / forest.n_edges:  # no derivation has an edge twice
                raise LuthierError(f"expected scores below {LARGEST:g}, found larger ones. hint: smaller weights")
            parts.append(self._goal_lines(number, forest, scores, room))
        return list(_join(parts, len(directions)))

    def _goal_lines(self, number: int, forest: Hypergraph, scores: Float64, room: _Room) -> _GoalLines:
        """Return the lines of one goal along all directions; (1 + Q, E) scores, the first of the start."""
        sides = kernels.Sides(forest.rules, self._rules.target_offsets, self._rules.target_symbols)
        used, counts, n = np.zeros(2, np.int64), np.empty(len(scores) - 1, np.int64), forest.n_nodes
        offsets, stack = np.empty(n + 1, np.int64), np.empty((n + 1, 2), np.int64)
        both = np.empty((2, forest.n_edges))
        both[0] = scores[0]
        q = 0
        while q < len(counts):
            lines, links = room.pass_arrays
            before, both[1] = int(used[0]), scores[q + 1]
            size = kernels.envelope_of_forest(forest.edge_offsets, forest.tails, both, lines, links, offsets, room.node)
            if size >= 0 and kernels.write_goal(
                int(offsets[-2]), size, lines, links, sides, number, room.goal, stack, used
            ):
                counts[q] = used[0] - before
                q += 1
            else:
                room.grow()
                q, used[:] = 0, 0
        tops, bounds, words = room.goal
        stops = 4 * bounds[: used[0]]
        with self._lock:
            rows = self._interner.intern_spans(
                words[: used[1]].view(np.uint8), np.concatenate([[0], stops[:-1]]), stops
            )
        return _GoalLines(counts, tops[: used[0]].copy(), rows.astype(np.int64))


class _GoalLines:
    """The lines of one forest's goal along Q directions: how many, (Q,), start and slope, (P, 2), and string, (P,)."""

    def __init__(self, counts: Int64, tops: Float64, rows: Int64) -> None:
        self.counts, self.tops, self.rows = counts, tops, rows


def _join(parts: list[_GoalLines], n_directions: int) -> Iterator[Envelope]:
    """Yield the envelope of all sentences along each direction."""
    offsets = [offsets_from_counts(part.counts) for part in parts]
    for q in range(n_directions):
        spans = [slice(int(own[q]), int(own[q + 1])) for own in offsets]
        tops = np.concatenate([part.tops[span] for part, span in zip(parts, spans, strict=True)])
        rows = np.concatenate([part.rows[span] for part, span in zip(parts, spans, strict=True)])
        firsts = offsets_from_counts([span.stop - span.start for span in spans])[:-1]
        later = np.ones(len(rows), dtype=np.bool_)
        later[firsts] = False
        after = np.flatnonzero(later)
        yield Envelope(
            first=flat(rows[firsts]),
            breakpoints=flat(tops[after, 0]),
            before=flat(rows[after - 1]),
            after=flat(rows[after]),
            bends=flat(tops[after, 1] - tops[after - 1, 1]),
        )
