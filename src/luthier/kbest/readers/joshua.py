"""Joshua: ``id ||| text ||| tm_pt_0=v lm_0=v ||| score [||| alignment]``, or bare values.

Older versions print the values alone (``-1.2 -30.1 4``); they become f_0, f_1, …
"""

from __future__ import annotations

import re

from luthier.kbest.reading.pipes import PipeReader, first_fields, most

NAMES = re.compile(r"(^| )(tm_\w+|lm)_\d+=")
BARE = re.compile(r"[-+\d.eE]+( [-+\d.eE]+)+")


class Method(PipeReader):
    """Reader of Joshua's n-best lists."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 75 where Joshua's names stand (it shares others with cdec), 70 for bare values."""
        rows = first_fields(head)
        if most(rows, lambda row: len(row) >= 4 and NAMES.search(row[2])):
            return 75
        return 70 if most(rows, lambda row: len(row) >= 4 and BARE.fullmatch(row[2])) else 0
