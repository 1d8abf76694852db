"""cdec: ``[X] ||| f [X,1] ||| e [X,1] ||| name=value … ||| 0-0 …``, sparse features included."""

from __future__ import annotations

import dataclasses

from luthier.grammar.reader import Reader, first_fields


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of cdec's grammars; gaps of the target side may be written ``[1]`` too."""

    numbered = "PhraseModel_"
    least = 3

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 80 where a label comes first and features have names."""
        fields = first_fields(head)
        if len(fields) < 3 or len(fields[0]) != 1 or not fields[0][0].startswith(b"["):
            return 0
        return 80 if len(fields) < 4 or all(b"=" in word for word in fields[3]) else 40
