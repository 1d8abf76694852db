"""How well one alignment agrees with another: precision, recall, alignment error rate (Och and Ney 2003)."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.alignment._symmetrize_kernels import BOTH
from luthier.alignment.links import Links
from luthier.alignment.symmetrize import symmetrize, unite


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Counts of links, and what follows from them.

    Attributes
    ----------
    links, sure, possible : int
        How many links there are: of the judged alignment A, the reference S, and P, which contains S.
    sure_found, possible_found : int
        |A ∩ S| and |A ∩ P|.
    """

    links: int
    sure: int
    possible: int
    sure_found: int
    possible_found: int

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|; 1 without links, for none is wrong."""
        return self.possible_found / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|; 1 without links to find."""
        return self.sure_found / self.sure if self.sure else 1.0

    @property
    def error_rate(self) -> float:
        """AER: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), 0 where there are no links at all [och2003a]."""
        both = self.links + self.sure
        return 1.0 - (self.sure_found + self.possible_found) / both if both else 0.0


def compare_links(links: Links, reference: Links, possible: Links | None = None) -> Agreement:
    """Return how `links` agree with a reference, whose links are sure; `possible` adds doubtful ones."""
    wide = reference if possible is None else symmetrize(reference, possible, "union")
    return Agreement(
        len(links.source), len(reference.source), len(wide.source),
        sure_found=_common(links, reference), possible_found=_common(links, wide),
    )  # fmt: skip


def _common(first: Links, second: Links) -> int:
    return int(np.count_nonzero(unite(first, second)[-1] == BOTH))
