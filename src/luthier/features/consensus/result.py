"""What a search for consensus gives: lists with more features, or one text of each list."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.html import Shown
from luthier.features.consensus.mbr import Selection
from luthier.kbest.pool import Pool


@dataclasses.dataclass(frozen=True)
class UtilityFeature:
    """An expected utility that was added to a pool: its name, what it is of, and its range over all hypotheses."""

    name: str
    utility: str
    low: float
    mean: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Consensus(Shown):
    """What hypotheses agree on.

    Attributes
    ----------
    pool : Pool
        The lists, with a feature for each utility unless one text of each list was wanted.
    features : tuple of UtilityFeature
    texts : list of str, optional
        The text of each sentence that was selected or voted for.
    selection : Selection, optional
        The selected rows, and how many pairs were scored to find them.
    by : str
        What selected: a utility or ``rover``; '' if nothing was selected.
    """

    pool: Pool
    features: tuple[UtilityFeature, ...]
    texts: list[str] | None
    selection: Selection | None
    by: str

    @property
    def rows(self) -> Int64 | None:
        """The selected row of each sentence; None if nothing was selected, or no row of the lists."""
        return None if self.selection is None else self.selection.rows

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        about: dict[str, Any] = {"sentences": self.pool.n_sentences, "hypotheses": self.pool.n_hypotheses}
        if self.features:
            about["features"] = [dataclasses.asdict(feature) for feature in self.features]
        if self.by:
            about["by"] = self.by
        if self.selection is not None:
            first = self.pool.offsets[:-1][self.selection.rows >= 0]
            about |= {
                "not_first": int(np.count_nonzero(self.selection.rows[self.selection.rows >= 0] != first)),
                "mean_utility": float(self.selection.utilities[self.selection.rows >= 0].mean())
                if len(first)
                else None,
                "pairs": self.selection.pairs,
                "scored": self.selection.scored,
            }
        return about
