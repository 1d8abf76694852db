"""Which column of a table is what: the one rule for JSON Lines, TSV, CSV, Parquet, Arrow and frames.

Some names say what they hold (`MEANINGS`). All other numbers are features, unless the user says that one is a *column*
(a score of the hypothesis, such as COMET, which is no feature of the model) or is to be *ignored*. Where a row has an
object ``features``, that object means what it says, and numbers beside it are columns.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Collection

import numpy as np

from luthier.core.arrays import Bool
from luthier.core.params import param
from luthier.core.segments import offsets_from_counts
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Block, Reader

# meaning → the names that have it, in order of preference
MEANINGS = {
    "id": ("id", "sentence_id", "segment_id"),
    "text": ("hyp", "hypothesis", "text", "translation"),
    "features": ("features",),
    "source": ("source", "src"),
    "references": ("refs", "ref", "references", "reference"),
    "derivation": ("derivation",),
}
# Names in tables of other tools (COMET, OpenRLHF, TRL), for texts alone, and only where those above are absent.
OTHERS = {
    "text": ("mt", "output", "completion", "response", "generated_text"),
    "source": ("input", "prompt", "instruction"),
}
# Numbers that say which row this is, and nothing of how good it is.
NEVER = ("index", "idx", "rank", "seed", "created", "start", "end", "step", "token_id", "selected_idx")


@dataclasses.dataclass(frozen=True)
class Names:
    """What the user calls the parts of a table or of objects; "": by their usual names."""

    id: str = ""
    text: str = ""
    list: str = ""
    refs: str = ""
    source: str = ""

    def given(self, meaning: str) -> str:
        """Return what the user calls a part, "" where nothing was said."""
        return str(getattr(self, {"references": "refs"}.get(meaning, meaning), ""))

    def of(self, meaning: str, *, others: bool = True) -> tuple[str, ...]:
        """Return the names that a part may have, in order of preference, those of other tools where wanted."""
        given = self.given(meaning)
        return (given,) if given else (*MEANINGS[meaning], *(OTHERS.get(meaning, ()) if others else ()))


@dataclasses.dataclass(frozen=True)
class Roles:
    """What the user says of numbers: which are columns of the pool, which are left out, which are features."""

    columns: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()  # whatever their names are
    counts: str = ""  # the column with how often a row was drawn; repeats are added up
    left_out: set[str] = dataclasses.field(default_factory=set, compare=False)  # names that some block had

    @property
    def skipped(self) -> frozenset[str]:
        """Names that are left out where numbers are features for want of anything that says so."""
        return frozenset(NEVER) - self.columns - self.features

    def apply(self, block: Block, names: NameTable) -> Block:
        """Return a block whose columns and ignored numbers are no features."""
        ignored = self.ignored | self.skipped if block.guessed else self.ignored
        if not self.columns and not ignored:
            return block
        columns = {name: values for name, values in block.columns.items() if name not in ignored}
        wanted = sorted(self.columns | ignored)
        numbers = names.from_strings(wanted)
        rows = np.repeat(np.arange(len(block)), np.diff(block.row_starts))
        kept: Bool = np.ones(len(block.names), np.bool_)
        for name, number in zip(wanted, numbers.tolist(), strict=True):
            of_name = block.names == number
            if not of_name.any():
                continue
            kept &= ~of_name
            if name in ignored:
                self.left_out.add(name)
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


def meaning_of(meaning: str, header: Collection[str], names: Names | None = None) -> str | None:
    """Return the column of a table that has a meaning: the first of its names that the table has."""
    return next((name for name in (names or Names()).of(meaning) if name in header), None)


@dataclasses.dataclass(frozen=True)
class NamedReader(Reader):
    """A reader of tables or objects, whose parts may have names of the user's own."""

    id: str = param("", help="the name of the sentence's id")
    text: str = param("", help="the name of the hypothesis")
    refs: str = param("", help="the name of the references")
    source: str = param("", help="the name of the source")
    list: str = param("", help="the name of the list of hypotheses, where one stands inside an object or a row")

    @property
    def called(self) -> Names:
        """The names that were given."""
        return Names(self.id, self.text, self.list, self.refs, self.source)

    @classmethod
    @abc.abstractmethod
    def may_be(cls, head: bytes) -> bool:
        """Return whether a file may be of this kind, whatever its parts are called."""
