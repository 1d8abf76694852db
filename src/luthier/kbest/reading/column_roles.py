"""Which column of a table is what: the one rule for JSON Lines, TSV, CSV, Parquet, Arrow and frames.

Some names say what they hold (`MEANINGS`). All other numbers are features, unless the user says that one is a *column*
(a score of the hypothesis, such as COMET, which is no feature of the model) or is to be *ignored*. Where a row has an
object ``features``, that object means what it says, and numbers beside it are columns.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable

import numpy as np

from luthier.core.arrays import Bool
from luthier.core.segments import offsets_from_counts
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Block

# meaning → the names that have it, in order of preference
MEANINGS = {
    "id": ("id", "sentence_id", "segment_id"),
    "text": ("hyp", "hypothesis", "text", "translation"),
    "features": ("features",),
    "source": ("source", "src"),
    "references": ("refs", "ref", "references", "reference"),
    "derivation": ("derivation",),
}
# Scores that judge a translation, by how their names begin, or by the whole word.
QUALITY = re.compile(
    r"(?:^|[^a-z])(?:x?comet|cometkiwi|bleurt|metricx|bertscore|s?bleu|chrf|meteor|rouge|gemba|mqm|reward|quality"
    r"|(?:wer|cer|ter|per)(?![a-z]))",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True)
class Roles:
    """What the user says of numbers: which are columns of the pool, which are left out."""

    columns: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()

    def apply(self, block: Block, names: NameTable) -> Block:
        """Return a block whose columns and ignored numbers are no features."""
        if not self.columns and not self.ignored:
            return block
        columns = {name: values for name, values in block.columns.items() if name not in self.ignored}
        wanted = sorted(self.columns | self.ignored)
        numbers = names.from_strings(wanted)
        rows = np.repeat(np.arange(len(block)), np.diff(block.row_starts))
        kept: Bool = np.ones(len(block.names), np.bool_)
        for name, number in zip(wanted, numbers.tolist(), strict=True):
            of_name = block.names == number
            if not of_name.any():
                continue
            kept &= ~of_name
            if name in self.columns:
                values = columns.get(name, np.full(len(block), np.nan)).copy()
                values[rows[of_name]] = block.values[of_name]
                columns[name] = values
        counts = np.bincount(rows[kept], minlength=len(block))
        return dataclasses.replace(
            block,
            row_starts=offsets_from_counts(counts),
            names=block.names[kept],
            values=block.values[kept],
            columns=columns,
        )


def look_like_quality(names: Iterable[str]) -> list[str]:
    """Return the names that look like scores of quality.

    >>> look_like_quality(["lm", "comet22", "de-wer", "power", "tm_bleu", "Chrf", "letter"])
    ['comet22', 'de-wer', 'tm_bleu', 'Chrf']
    """
    return [name for name in names if QUALITY.search(name)]


def meaning_of(name: str, others: Collection[str]) -> str | None:
    """Return what a column called `name` means beside `others`; None where it means nothing of itself.

    If several names have one meaning, the one that `MEANINGS` has first counts.
    """
    for meaning, known in MEANINGS.items():
        if name in known:
            first = next(candidate for candidate in known if candidate in others or candidate == name)
            return meaning if first == name else None
    return None
