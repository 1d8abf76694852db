"""What a run of the decoder came to, for tables and programs."""

from __future__ import annotations

import dataclasses

from luthier.decoding.trace import Trace


@dataclasses.dataclass(frozen=True)
class DecodingSummary:
    """A run of `luthier decode`.

    Attributes
    ----------
    sentences, hypotheses, words, pops : int
    seconds : float
        Time in the search, all threads together.
    output : str or None
        Where the main result went.
    trace : Trace or None
        Of one sentence, where asked for.
    """

    sentences: int
    hypotheses: int
    words: int
    pops: int
    seconds: float
    output: str | None
    trace: Trace | None
