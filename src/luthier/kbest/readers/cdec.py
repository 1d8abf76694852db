"""cdec: ``id ||| text ||| name=v name=v ||| score``, features that are 0 left out."""

from __future__ import annotations

from luthier.kbest.reading.pipes import PipeReader, first_fields, most

# Features that cdec's decoder adds by itself.
MARKS = ("PassThrough", "LanguageModel", "WordPenalty", "Glue", "Arity_")


class Method(PipeReader):
    """Reader of cdec's k-best lists."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 70 where all features are written name=v and some bear cdec's own names."""
        rows = first_fields(head)
        marked = most(
            rows,
            lambda row: (
                len(row) >= 4
                and all("=" in word[1:-1] for word in row[2].split())
                and any(word.startswith(MARKS) for word in row[2].split())
            ),
        )
        return 70 if marked else 0
