"""Travatar: ``id ||| text ||| score ||| name=v name=v [||| derivation]``: the score comes first."""

from __future__ import annotations

import re

from luthier.kbest.reading.pipes import PipeReader, first_fields, most

NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?")


class Method(PipeReader):
    """Reader of Travatar's n-best lists."""

    score_field = 2
    features_field = 3
    min_fields = 4
    layout = "id ||| text ||| score ||| features"

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 80 where a lone number stands before the field with names."""
        rows = first_fields(head)
        return 80 if most(rows, lambda row: len(row) >= 4 and NUMBER.fullmatch(row[2]) and "=" in row[3]) else 0
