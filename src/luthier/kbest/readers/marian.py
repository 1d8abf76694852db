"""Marian: ``id ||| text [||| alignment] [||| WordScores= …] ||| F0= v F1= v ||| score``.

One feature per model of an ensemble (``F0``, ``F1``, …), the field before the last. Word scores are as
many as there are words, so they are no features; alignments are skipped too. The last field is the
score after normalisation by length.
"""

from __future__ import annotations

import re

from luthier.kbest.reading.pipes import PipeReader, first_fields, most


class Method(PipeReader):
    """Reader of Marian's n-best lists."""

    features_field = -2
    score_field = -1
    min_fields = 4
    layout = "id ||| text ||| F0= value ||| score"

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 80 where the field before the last begins with F0=."""
        rows = first_fields(head)
        return 80 if most(rows, lambda row: len(row) >= 4 and re.match(r"F0=", row[-2])) else 0
