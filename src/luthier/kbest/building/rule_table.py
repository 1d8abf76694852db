"""From the rule uses that readers deliver, block by block, to a table of distinct rules."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, GrowingArray, Int32, Int64
from luthier.core.segments import ascends_in_segments, offsets_from_counts, segment_of_rows
from luthier.corpus.vocab import Interner
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.derivations import Derivations, rule_keys, split_keys, unique_rules
from luthier.kbest.features import Features
from luthier.kbest.reading.names import NameTable, collision
from luthier.kbest.reading.reader import RuleUses


class RuleTable:
    """Takes the derivations of more and more rows; only one copy of each distinct rule is kept.

    A decoder's list uses the same rules again and again: 15 million uses are of some 100,000 rules.
    """

    def __init__(self) -> None:
        self._rules = Interner()
        self._counts = GrowingArray(np.int64)
        self._uses = GrowingArray(np.int32)
        self._any = False

    def append(self, uses: RuleUses | None, n_rows: int) -> None:
        """Take the derivations of a block of `n_rows`; None: they have none."""
        if uses is None:
            self._counts.append(np.zeros(n_rows, dtype=np.int64))
            return
        self._any = True
        names, values = uses.names, uses.values
        if not ascends_in_segments(names, uses.feature_offsets):  # two orders of features are one rule
            order = np.lexsort((names, segment_of_rows(uses.feature_offsets)))
            names, values = names[order], values[order]
        nothing = np.empty((len(uses.rule_texts), 0))
        keys = rule_keys(uses.rule_texts, nothing, uses.feature_offsets, names, values)
        self._counts.append(np.diff(uses.offsets))
        self._uses.append(self._rules.intern_texts(keys))

    def finish(self, names: NameTable, path: str) -> Derivations | None:
        """Return the derivations of all rows, None if no block had any."""
        if not self._any:
            return None
        texts, starts, numbers, values = split_keys(self._rules.texts())
        features = _sparse_features(names, starts, numbers, values, path)
        # two ways of writing a name may have come to one, so that rules have become equal
        offsets = offsets_from_counts(self._counts.finish())
        return unique_rules(offsets, self._uses.finish(), texts, features)


def _sparse_features(table: NameTable, starts: Int64, numbers: Int32, values: Float64, path: str) -> Features:
    """Return local features as entries, so that a rule that has 0 can be told from one that has nothing."""
    used = np.zeros(len(table), dtype=np.bool_)
    used[numbers] = True
    names, mapping = table.resolve(path, used)
    columns, n_rules = mapping[numbers], len(starts) - 1
    repeated = np.empty(n_rules, dtype=np.int64)
    kernels.repeated_name(starts, columns, np.full(len(names) + 1, -1), repeated)
    if np.any(repeated >= 0):
        raise collision(names[columns[repeated.max()]], path)
    order = np.lexsort((columns, segment_of_rows(starts)))
    return Features(tuple(names), np.empty((n_rules, 0)), starts, columns[order], values[order])
