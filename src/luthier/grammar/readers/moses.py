"""Moses, hierarchical: ``f [X][X] [X] ||| e [X][X] [X] ||| 0.1 0.2 … ||| 0-0 … ||| counts``."""

from __future__ import annotations

import dataclasses

from luthier.grammar.reader import Reader, first_fields


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of Moses' hierarchical tables: score k is ``TranslationModel0_k``, as a natural logarithm."""

    fields = ("source", "target", "features", "links")
    numbered = "TranslationModel0_"
    numbered_logs = True
    label_behind_sides = True
    gaps_by_links = True

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 90 where both sides end in a label and something stands before it."""
        fields = first_fields(head)
        if len(fields) < 3 or len(fields[0]) < 2:
            return 0
        return 90 if all(side and side[-1] == b"[X]" for side in fields[:2]) else 0
