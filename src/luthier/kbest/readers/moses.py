"""Moses: ``id ||| text ||| name= v v other=v ||| score [||| alignments]``.

Dense features are printed by position under a label (``TM0= -1.2 -0.7``) and stand on every line. Sparse
ones have an underscore in their name and one value (``pp_a~b= 1``, other tools ``pp_a~b=1``) and stand
where they are not 0. Versions before 2013 wrote ``d: 0 lm: -12.1``. Some leave out the space before the
first ``|||``. Fields behind the score (phrase and word alignments) are skipped.
"""

from __future__ import annotations

from luthier.kbest.reading.pipes import PipeReader, first_fields, most


class Method(PipeReader):
    """Reader of Moses' n-best lists, and of whatever has that form."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 60 for any list with ``|||`` fields that no relative claims more surely."""
        rows = first_fields(head)
        return 60 if most(rows, lambda row: len(row) >= 3) else 0
