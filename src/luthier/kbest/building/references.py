"""Which sentences there are, and what is known of each: references and sources from files or lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import InputError
from luthier.core.files.io import display_name
from luthier.core.segments import offsets_from_counts
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts

RefPath = str


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceTable:
    """Sentences known before any list is read, in the order the pool will have.

    Attributes
    ----------
    ids : N texts
    references : ragged texts, `reference_offsets` (N+1,), or None
    sources : N texts, or None
    """

    ids: Texts
    references: Texts | None = None
    reference_offsets: Int64 | None = None
    sources: Texts | None = None


def read_sentence_table(
    refs: Sequence[RefPath], source: RefPath | None, *, first_id: int, keyed: bool, mend: bool
) -> SentenceTable | None:
    """Read references and sources, a line per sentence; None where neither is given.

    Line i is the sentence with id `first_id` + i; with `keyed`, each line begins with its id, as in the
    ``text`` files of speech recognition.
    """
    paths = [*refs, *([source] if source else [])]
    if not paths:
        return None
    columns = [read_lines(path, mend=mend) for path in paths]
    if keyed:
        ids, columns = _split_keys(paths, columns)
    else:
        _check_lengths(paths, columns)
        ids = Texts.from_strings(str(first_id + i) for i in range(len(columns[0])))
    sources = columns.pop() if source else None
    if not columns:
        return SentenceTable(ids, sources=sources)
    n, r = len(ids), len(columns)
    together = Texts.concatenate(columns)
    order = np.arange(n * r).reshape(r, n).T.reshape(-1)  # all references of a sentence side by side
    return SentenceTable(ids, together.take(order), offsets_from_counts([r] * n), sources)


def _check_lengths(paths: Sequence[str], columns: Sequence[Texts]) -> None:
    for path, column in zip(paths[1:], columns[1:], strict=True):
        if len(column) != len(columns[0]):
            shorter = min(len(column), len(columns[0]))
            raise InputError(
                expected=f"{len(columns[0])} lines, as in {display_name(paths[0])}",
                found=str(len(column)), path=display_name(path), line=shorter + 1, kind="lengths",
                hint="references and sources must have one line for each sentence, in the same order",
            )  # fmt: skip


def _split_keys(paths: Sequence[str], columns: Sequence[Texts]) -> tuple[Texts, list[Texts]]:
    keyed: list[dict[str, str]] = []
    for path, column in zip(paths, columns, strict=True):
        table: dict[str, str] = {}
        for line, text in enumerate(column, start=1):
            key, _, rest = text.strip().partition(" ")
            if not key or key in table:
                raise InputError(
                    expected="a sentence id at the start of the line, each only once",
                    found=f"{key!r} again" if key else "an empty line",
                    path=display_name(path), line=line, kind="keys",
                )  # fmt: skip
            table[key] = rest.strip()
        keyed.append(table)
    for path, table in zip(paths[1:], keyed[1:], strict=True):
        differing = sorted(set(table) ^ set(keyed[0]))
        if differing:
            raise InputError(
                expected=f"the same sentence ids as in {display_name(paths[0])}",
                found=f"{differing[0]!r} in only one of them", path=display_name(path), kind="keys",
            )  # fmt: skip
    ids = list(keyed[0])
    return Texts.from_strings(ids), [Texts.from_strings(table[key] for key in ids) for table in keyed]
