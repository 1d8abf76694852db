"""Joshua and Thrax: ``[X] ||| f [X,1] ||| e [X,1] ||| 0.1 2.3 … ||| 0-0 …``, features by number."""

from __future__ import annotations

import dataclasses

from luthier.grammar.reader import Reader, first_fields


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of Joshua's grammars: feature k is ``tm_pt_k``, with its sign turned, as Joshua turns it."""

    numbered = "tm_pt_"
    numbered_sign = -1.0

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 80 where a label comes first and a feature has no name."""
        fields = first_fields(head)
        if len(fields) < 4 or len(fields[0]) != 1 or not fields[0][0].startswith(b"["):
            return 0
        return 80 if any(b"=" not in word for word in fields[3]) else 30
