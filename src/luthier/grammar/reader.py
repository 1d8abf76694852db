"""What a reader of grammars is: a file in `readers/`, a class `Method` that says how a line of its format is made."""

from __future__ import annotations

import abc
import dataclasses
import re
from typing import ClassVar

PACKAGE = "luthier.grammar.readers"
HEAD_BYTES = 1 << 14


@dataclasses.dataclass(frozen=True)
class Reader(abc.ABC):
    """Base of all readers. A format is lines of fields separated by ``|||``; a reader names the fields it has.

    Attributes
    ----------
    fields
        What stands in which field: label, source, target, features, links; further fields are skipped.
    least
        How many fields a line must have.
    numbered
        What features without a name are called, before their number from 0.
    numbered_sign, numbered_logs
        What is done to their values: multiplied, or replaced by their natural logarithm.
    label_behind_sides
        Both sides end in ``[X]``, the label.
    gaps_by_links
        Gaps are written ``[X][X]``, and the links say which belong together.
    """

    fields: ClassVar[tuple[str, ...]] = ("label", "source", "target", "features", "links")
    least: ClassVar[int] = 4
    numbered: ClassVar[str] = ""
    numbered_sign: ClassVar[float] = 1.0
    numbered_logs: ClassVar[bool] = False
    label_behind_sides: ClassVar[bool] = False
    gaps_by_links: ClassVar[bool] = False

    @classmethod
    @abc.abstractmethod
    def recognizes(cls, head: bytes) -> int:
        """Return from 0 to 100 how surely the first bytes of a file are of this format."""


def first_fields(head: bytes) -> list[list[bytes]]:
    """Return the words of each field of the first line.

    >>> first_fields(b"[X] ||| a b ||| c\\n")
    [[b'[X]'], [b'a', b'b'], [b'c']]
    """
    line = head.partition(b"\n")[0]
    return [field.split() for field in b" ".join([b"", line, b""]).split(b" ||| ")]


def phrase_table_hint(head: bytes) -> str:
    """Return what to say of a file whose first line has two sides and numbers, and no label; "" of others."""
    fields = first_fields(head)
    numbers = fields[2] if len(fields) > 2 else []
    if not numbers or not all(re.fullmatch(rb"[-+.0-9eE]+", number) for number in numbers):
        return ""
    return "this is a table of phrases; of Moses' tables only hierarchical ones are read, whose sides end in [X]"
