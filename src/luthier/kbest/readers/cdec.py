"""cdec: ``id ||| text ||| name=v name=v ||| score``, features that are 0 left out."""

from __future__ import annotations

from luthier.kbest.pipes import PipeReader, first_fields

# Features that cdec's decoder adds by itself.
MARKS = ("PassThrough", "LanguageModel", "WordPenalty", "Glue", "Arity_")


class Method(PipeReader):
    """Reader of cdec's k-best lists."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 70 where all features are written name=v and some bear cdec's own names."""
        rows = first_fields(head)
        if not rows or any(len(row) < 4 for row in rows):
            return 0
        words = [word for row in rows for word in row[2].split()]
        plain = all("=" in word[1:-1] for word in words)
        return 70 if plain and any(word.startswith(MARKS) for word in words) else 0
