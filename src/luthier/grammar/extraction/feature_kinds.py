"""The names of the features, by kind."""

from __future__ import annotations

from collections.abc import Sequence

from luthier.core.errors import LuthierError

LOG = (
    "EgivenFCoherent", "SampleCountF", "CountEF", "MaxLexFgivenE", "MaxLexEgivenF", "IsSingletonF", "IsSingletonFE",
)  # fmt: skip
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
