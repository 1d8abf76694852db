"""From the rule uses that readers deliver to a table of distinct rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.building.names import NameTable
from luthier.kbest.derivations import Derivations, unique_rules
from luthier.kbest.features import Features
from luthier.kbest.reading.reader import RuleUses


def derivations_from_uses(parts: Sequence[tuple[RuleUses | None, int]], names: NameTable, path: str) -> Derivations:
    """Return the derivations of all rows; a part is the uses of a chunk (or None) and its row count."""
    counts = [np.zeros(rows, np.int64) if uses is None else np.diff(uses.offsets) for uses, rows in parts]
    given = [uses for uses, _ in parts if uses is not None]
    texts = Texts.concatenate([uses.rule_texts for uses in given])
    used = np.zeros(len(names), dtype=np.bool_)
    for uses in given:
        used[uses.names] = True
    final, mapping = names.resolve(path, used)
    dense = np.zeros((len(texts), len(final)))
    feature_counts = np.concatenate([np.diff(uses.feature_offsets) for uses in given])
    kernels.scatter(
        offsets_from_counts(feature_counts),
        mapping[np.concatenate([uses.names for uses in given])],
        np.concatenate([uses.values for uses in given]),
        np.arange(len(texts)), np.arange(len(final)), dense, np.zeros(len(texts), np.int64),
    )  # fmt: skip
    return unique_rules(
        offsets_from_counts(np.concatenate(counts)),
        np.arange(len(texts)),
        texts,
        Features.from_dense(final, dense),
    )
