"""The names of the features, by kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from luthier.core.errors import LuthierError
from luthier.core.params import param, validate

LOG = (
    "EgivenFCoherent",
    "SampleCountF",
    "CountEF",
    "MaxLexFgivenE",
    "MaxLexEgivenF",
    "IsSingletonF",
    "IsSingletonFE",
)
RAW = ("P_EgivenFCoherent", "P_MaxLexEgivenF", "P_MaxLexFgivenE")
COUNTS = ("C_F", "C_FE")
KINDS = {"log": LOG, "raw": RAW, "counts": COUNTS, "all": (*LOG, *RAW, *COUNTS)}


def feature_names(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the features of the given kinds, each once.

    >>> feature_names(["raw", "counts"])
    ('P_EgivenFCoherent', 'P_MaxLexEgivenF', 'P_MaxLexFgivenE', 'C_F', 'C_FE')
    """
    for kind in kinds:
        if kind not in KINDS:
            raise LuthierError(f"expected features of the kinds {', '.join(KINDS)}, found {kind!r}")
    return tuple(dict.fromkeys(name for kind in kinds for name in KINDS[kind]))


# What a rule may be: the limits of extraction, each an option of `luthier engine extract`.


class KernelLimits(NamedTuple):
    """The limits as kernels take them."""

    max_span: int
    max_symbols: int
    max_gaps: int
    min_gap: int
    tight: bool


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of rules [chiang2007] and of the occurrences looked at [lopez2008]."""

    max_span: int = param(15, low=1, high=100, help="longest span of a rule on either side, in words")
    max_symbols: int = param(5, low=1, high=8, help="most words and gaps on the source side")
    max_gaps: int = param(2, low=0, high=2, help="most gaps of a rule")
    min_gap: int = param(1, low=1, high=100, help="fewest words in a gap of the source side")
    samples: int = param(300, low=1, high=1_000_000, help="most occurrences of a pattern that are used")
    tight: bool = param(True, help="phrases and gaps end in linked words on both sides")

    def __post_init__(self) -> None:
        validate(self)

    def for_kernels(self) -> KernelLimits:
        """Return the limits as a tuple of plain numbers."""
        return KernelLimits(self.max_span, self.max_symbols, self.max_gaps, self.min_gap, self.tight)

    def patterns_of_a_word(self) -> int:
        """Return the most patterns that one word of a sentence can begin.

        >>> Limits(max_gaps=0).patterns_of_a_word(), Limits(max_span=3).patterns_of_a_word()
        (5, 8)
        """
        return _count(self.max_span + 1, self.max_symbols, self.max_gaps, self.min_gap)


def _count(span: int, symbols: int, gaps: int, gap: int) -> int:
    total = 0
    for words in range(1, min(span, symbols) + 1):
        total += 1
        if gaps:
            for behind in range(words + gap, span):
                total += _count(span - behind, symbols - words - 1, gaps - 1, gap)
    return total
