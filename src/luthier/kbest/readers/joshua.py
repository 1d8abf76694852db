"""Joshua: ``id ||| text ||| tm_pt_0=v lm_0=v ||| score [||| alignment]``, or bare values.

Older versions print the values alone (``-1.2 -30.1 4``); they become f_0, f_1, …
"""

from __future__ import annotations

import re

from luthier.kbest.pipes import PipeReader, first_fields


class Method(PipeReader):
    """Reader of Joshua's n-best lists."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 75 where Joshua's names stand (it shares others with cdec), 70 for bare values."""
        rows = first_fields(head)
        if not rows or any(len(row) < 4 for row in rows):
            return 0
        named = re.search(r"(^| )(tm_\w+|lm)_\d+=", rows[0][2])
        bare = all("=" not in row[2] and ":" not in row[2] and len(row[2].split()) > 1 for row in rows)
        return 75 if named else 70 if bare else 0
