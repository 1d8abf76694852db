"""Sources and references that lists carry themselves, gathered by sentence id."""

from __future__ import annotations

import warnings
from typing import TypeVar

from luthier.core.errors import InputError, LuthierWarning
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.kbest.building.sentences import SentenceTable
from luthier.kbest.reading.reader import SentenceData

V = TypeVar("V")


class SideData:
    """What lists say of their sentences; two lists must not say different things."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}
        self._references: dict[str, tuple[str, ...]] = {}

    def add(self, data: SentenceData, path: str) -> None:
        """Take what one block says."""
        for i, sentence in enumerate(data.ids):
            if data.sources is not None and data.sources[i]:
                self._note(self._sources, sentence, data.sources[i], "source", path)
            if data.references is not None and data.reference_offsets is not None:
                start, stop = data.reference_offsets[i], data.reference_offsets[i + 1]
                refs = tuple(data.references[r] for r in range(start, stop))
                if refs:
                    self._note(self._references, sentence, refs, "references", path)

    @staticmethod
    def _note(table: dict[str, V], sentence: str, value: V, what: str, path: str) -> None:
        if table.setdefault(sentence, value) != value:
            raise InputError(
                expected=f"the same {what} for sentence {sentence!r} throughout",
                found=f"{value!r} after {table[sentence]!r}", path=path, kind="sentence-data",
            )  # fmt: skip

    def table(self, ids: Texts, known: SentenceTable | None) -> SentenceTable:
        """Return what is known of the sentences `ids`; what was given in files goes before.

        Raises
        ------
        InputError
            When the lists give references for some of the sentences only.
        """
        sources, references, offsets = None, None, None
        if known is not None:
            sources, references, offsets = known.sources, known.references, known.reference_offsets
        if references is not None and self._references:
            warnings.warn(
                "the references inside the list are passed over: references were given beside it",
                LuthierWarning,
                stacklevel=3,
            )
        elif self._references:
            names = list(ids)
            missing = [name for name in names if name not in self._references]
            if missing:
                raise InputError(
                    expected="references for all sentences or for none",
                    found=f"none for sentence {missing[0]!r} ({len(missing)} such)", kind="sentence-data",
                    hint="give the references as files, with `refs`",
                )  # fmt: skip
            lists = [self._references[name] for name in names]
            references = Texts.from_strings(text for refs in lists for text in refs)
            offsets = offsets_from_counts([len(refs) for refs in lists])
        if sources is None and self._sources:
            sources = Texts.from_strings(self._sources.get(name, "") for name in ids)
        return SentenceTable(ids, references, offsets, sources)
