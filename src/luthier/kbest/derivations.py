"""The rules a hypothesis used, with their local features: what discretisation later looks at."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int32, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import check_offsets, check_rows, offsets_from_counts, rows_of_segments
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.features import Features, concatenate_features


@dataclasses.dataclass(frozen=True, eq=False)
class Tree:
    """How the A applications of rules hang together, derivation by derivation.

    Attributes
    ----------
    parents : (A,) int32
        The place, within its derivation, of the application above; −1 for the root, which stands first.
        An application stands behind the one above it.
    spans : (A, 2) int32
        The source words covered, ``first:last``, within those that the application above covers.
    """

    parents: Int32
    spans: Int32

    def __post_init__(self) -> None:
        for name in ("parents", "spans"):
            object.__setattr__(self, name, frozen(np.ascontiguousarray(getattr(self, name), dtype=np.int32)))
        if self.parents.ndim != 1 or self.spans.shape != (len(self.parents), 2):
            shapes = f"{self.parents.shape} and {self.spans.shape}"
            raise LuthierError(f"expected one parent and one span for each use of a rule, found {shapes}")

    def take(self, uses: Int64) -> Tree:
        """Return the tree of the chosen applications, which are whole derivations."""
        return Tree(self.parents[uses], self.spans[uses])


@dataclasses.dataclass(frozen=True, eq=False)
class Derivations:
    """For each of M hypotheses, the rules applied.

    Attributes
    ----------
    offsets : (M+1,) int64
    rules : (A,) int32
        Applications; hypothesis m used the rules ``rules[offsets[m]:offsets[m+1]]``.
    texts : R texts
        What each distinct rule is.
    features : Features of R rows
        Local features of each distinct rule. Two rules of the same text but other features are two. Which rules have
        a feature at all is told by the entries of sparse ones; a dense one has a value in every rule.
    tree : Tree or None
        Where given: which application stands below which, and the source words it covers.
    """

    offsets: Int64
    rules: Int32
    texts: Texts
    features: Features
    tree: Tree | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.ascontiguousarray(self.offsets, dtype=np.int64)))
        object.__setattr__(self, "rules", frozen(np.ascontiguousarray(self.rules, dtype=np.int32)))
        check_offsets(self.offsets, self.rules.size, "derivations")
        if len(self.texts) != len(self.features):
            raise LuthierError(
                f"expected local features for each of {len(self.texts)} rules, found {len(self.features)}"
            )
        if len(self.rules) and not 0 <= self.rules.min() <= self.rules.max() < len(self.texts):
            raise LuthierError("a derivation names a rule that is not in the table of rules")
        if self.tree is not None:
            self._check_tree(self.tree)

    def _check_tree(self, tree: Tree) -> None:
        if len(tree.parents) != len(self.rules):
            raise LuthierError(f"expected a tree of {len(self.rules)} uses of rules, found {len(tree.parents)}")
        bad = kernels.first_bad_tree(self.offsets, tree.parents, tree.spans)
        if bad >= 0:
            raise LuthierError(
                f"derivation {bad} is no tree: its root stands first, and a parent before its children, covering them"
            )

    def take(self, rows: npt.ArrayLike) -> Derivations:
        """Return the derivations of the chosen hypotheses; the table of rules stays."""
        rows = np.asarray(rows, dtype=np.int64)
        check_rows(rows, len(self.offsets) - 1)
        counts = self.offsets[rows + 1] - self.offsets[rows]
        uses = rows_of_segments(self.offsets, rows)
        return dataclasses.replace(
            self,
            offsets=offsets_from_counts(counts),
            rules=self.rules[uses],
            tree=None if self.tree is None else self.tree.take(uses),
        )


def unique_rules(
    offsets: Int64, uses: Int64, texts: Texts, features: Features, tree: Tree | None = None
) -> Derivations:
    """Return derivations whose table has each (text, features) once, numbered by first appearance.

    ``uses[offsets[m]:offsets[m+1]]`` are rows of `texts` and `features`, which may repeat themselves.
    """
    keys = rule_keys(texts, features.dense, features.indptr, features.indices, features.values)
    numbers = Interner().intern_texts(keys)
    first = np.unique(numbers, return_index=True)[1]
    return Derivations(offsets, numbers[uses], texts.take(first), features.take(first), tree)


def concatenate_derivations(parts: Sequence[Derivations]) -> Derivations:
    """Put the derivations of several pools one behind another, with one table of rules.

    Trees are kept where all parts have them.
    """
    features = concatenate_features([part.features for part in parts])
    texts = Texts.concatenate([part.texts for part in parts])
    shifts = offsets_from_counts([len(part.texts) for part in parts])
    uses = np.concatenate([part.rules + shift for part, shift in zip(parts, shifts, strict=False)])
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    trees = [part.tree for part in parts if part.tree is not None]
    tree = None
    if len(trees) == len(parts):
        tree = Tree(np.concatenate([t.parents for t in trees]), np.concatenate([t.spans for t in trees]))
    return unique_rules(offsets_from_counts(counts), uses, texts, features, tree)


def rule_keys(texts: Texts, dense: Float64, indptr: Int64, indices: Int32, values: Float64) -> Texts:
    """Return, for each rule, its text and its features as one key: equal rules, equal bytes.

    Features are dense and sparse, as `Features` has them. A sparse 0 is not the same as no feature: that a rule has it
    was said, and its bin can be looked up. `split_keys` is the way back.
    """
    bits = (flat(dense).view(np.uint64), flat(values).view(np.uint64))
    lengths = np.empty(len(texts), dtype=np.int64)
    kernels.key_lengths(texts.offsets, bits[0], flat(indptr), lengths)
    offsets = flat(offsets_from_counts(lengths))
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    kernels.write_keys(texts.offsets, texts.data, bits[0], flat(indptr), flat(indices), bits[1], offsets, data)
    return Texts(offsets, data)


def split_keys(keys: Texts) -> tuple[Texts, Int64, Int32, Float64]:
    """Return the texts of rules from their keys, and their features as (offsets, numbers, values)."""
    ends = np.empty(len(keys), dtype=np.int64)
    kernels.text_ends(keys.offsets, keys.data, ends)
    starts, stops = flat(ends + 1), flat(keys.offsets[1:])
    offsets = offsets_from_counts((stops - starts) // kernels.ENTRY_BYTES)
    names, bits = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.uint64)
    kernels.read_entries(starts, stops, keys.data, names, bits)
    return Texts.from_spans(keys.data, keys.offsets[:-1], ends), offsets, names, bits.view(np.float64)
