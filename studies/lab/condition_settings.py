"""Studies of conditions: what the file says of features, bins, tuners and of what is chosen, read and checked."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Self

from luthier.core.errors import InputError, LuthierError
from luthier.core.settings import Table, typed
from luthier.features.induction import load_induction
from luthier.jobs.loop_config import check_k

from .base import Study, is_plain_name, require_known, take_seed
from .system import PairData, read_pair

MOST_BITS = 20
Shapes = dict[str, dict[str, float]]
Values = tuple[tuple[str, Any], ...]  # parameters of the tuner that are this condition's own, in the file's order


@dataclasses.dataclass(frozen=True)
class Condition:
    """One system to be compared with the others.

    Attributes
    ----------
    features : of rules, those that are cut among them
    cut : which become bins
    induction : what columns a value fires
    bits : how many bits of bins to choose from; none without `cut`
    tuner : parameters in place of the training's; a tuple has the values to choose from
    by_use : whether a rule counts, where values are cut, once for each use in lists; else once for each sentence
    """

    name: str
    features: tuple[str, ...]
    cut: tuple[str, ...] = ()
    induction: str = "indicator"
    bits: tuple[int, ...] = ()
    tuner: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    by_use: bool = False

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The parameters that have several values to choose from."""
        return {name: value for name, value in self.tuner.items() if isinstance(value, tuple)}

    @property
    def has_choice(self) -> bool:
        """Whether anything is to be chosen."""
        return len(self.bits) > 1 or bool(self.axes)

    def parameters(self, values: Values) -> dict[str, Any]:
        """Return the tuner's parameters where those to choose have these values."""
        return {**{name: value for name, value in self.tuner.items() if name not in self.axes}, **dict(values)}


@dataclasses.dataclass(frozen=True)
class ConditionEntry(PairData):
    """A system to train, and the names of the conditions that are compared on it."""

    conditions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ConditionStudy(Study):
    """The settings of a study of conditions.

    Attributes
    ----------
    own : features of the decoder that every condition has; its others are left out
    lists_of : conditions without a choice whose tuned weights decode the lists that others choose by
    choice_k : hypotheses of these lists
    baselines : conditions that all are compared with
    longer, longer_turns : conditions that the first data set has once more with so many turns
    shapes : condition → features whose weights are drawn → where a linear axis of their values ends
    """

    data: tuple[ConditionEntry, ...]
    conditions: tuple[Condition, ...]
    own: tuple[str, ...]
    lists_of: tuple[str, ...]
    choice_k: int
    baselines: tuple[str, ...]
    longer: tuple[str, ...]
    longer_turns: int
    shapes: Shapes

    @property
    def names(self) -> set[str]:
        """The names of data sets and conditions."""
        return {*super().names, *(condition.name for condition in self.conditions)}

    def condition(self, name: str) -> Condition:
        """Return a condition by its name."""
        return next(condition for condition in self.conditions if condition.name == name)

    def conditions_of(self, data: str) -> list[Condition]:
        """Return the conditions that are compared on a data set, in the order of the study."""
        entry = next(entry for entry in self.data if entry.name == data)
        return [condition for condition in self.conditions if condition.name in entry.conditions]

    @classmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes."""
        conditions = tuple(_condition(table, path) for table in _tables(file, "condition", path))
        names = tuple(condition.name for condition in conditions)
        data = tuple(_entry(table, path, names) for table in _tables(file, "data", path))
        choice, tables = file.table("choice"), file.table("tables")
        longer = tables.table("longer")
        study = cls(
            name=file.take("name", str),
            seed=take_seed(file, path, 0),
            conditions=conditions,
            data=data,
            own=file.texts("own"),
            lists_of=choice.texts("lists", ()),
            choice_k=check_k(choice.take("k", int, 100), path),
            baselines=tables.texts("baselines", ()),
            longer=longer.texts("conditions", ()),
            longer_turns=longer.take("turns", int, 0),
            shapes=typed(tables.table("shapes").rest(), Shapes, "'shapes'", path),
        )
        for table in (longer, choice, tables, file):
            table.end()
        _check(study, path)
        return study


def _tables(file: Table, key: str, path: str) -> list[Table]:
    found = file.take(key, list)
    if not found or not all(isinstance(item, dict) for item in found):
        raise InputError(expected=f"tables [[{key}]]", found="something else", path=path)
    return [Table(item, path, f"[{key}]") for item in found]


def _entry(table: Table, path: str, names: tuple[str, ...]) -> ConditionEntry:
    own = table.texts("conditions", names)
    return ConditionEntry(**vars(read_pair(table, path)), conditions=own)


def _condition(table: Table, path: str) -> Condition:
    own = table.table("tuner").rest()
    found = Condition(
        table.take("name", str),
        table.texts("features"),
        table.texts("cut", ()),
        table.take("induction", str, "indicator"),
        table.numbers("bits", ()),
        {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()},
        table.take("by_use", bool, False),
    )
    table.end()
    load_induction(found.induction)
    faults = (
        (not is_plain_name(found.name), "a name that a file can have"),
        (bool(found.cut) != bool(found.bits), "features to cut and bits together, or neither"),
        (any(not 1 <= bits <= MOST_BITS for bits in found.bits), f"bits from 1 to {MOST_BITS}"),
        (len(set(found.bits)) != len(found.bits), "each number of bits once"),
        (any(not v or len(set(map(repr, v))) != len(v) for v in found.axes.values()), "some values, each once"),
    )
    for wrong, expected in faults:
        if wrong:
            raise LuthierError(f"{path}: expected {expected} in the condition {found.name!r}")
    return found


def _check(study: ConditionStudy, path: str) -> None:
    """Raise for names that nothing has, and for choices that nothing can be chosen by."""
    for kind, names in (("condition", [c.name for c in study.conditions]), ("data set", [d.name for d in study.data])):
        if len(set(names)) != len(names):
            raise LuthierError(f"{path}: expected each {kind} once")
    known = {condition.name: condition for condition in study.conditions}
    named = (*study.lists_of, *study.baselines, *study.shapes, *study.longer)
    require_known("condition", (*named, *(name for entry in study.data for name in entry.conditions)), known, path)
    for entry in study.data:
        if not set(study.lists_of) <= set(entry.conditions):
            raise LuthierError(f"{path}: expected the conditions of [choice] lists among those of {entry.name!r}")
    for name in study.shapes:
        if not known[name].bits:
            raise LuthierError(f"{path}: {name!r} is not cut into bins, so has no shape")
        if not all(0.0 < end < math.inf for end in study.shapes[name].values()):
            raise LuthierError(f"{path}: expected the shapes of {name!r} to end at numbers above 0")
    if any(known[name].has_choice for name in study.lists_of):
        raise LuthierError(f"{path}: lists to choose by come of conditions that need no choice")
    if any(condition.has_choice for condition in study.conditions) and not study.lists_of:
        raise LuthierError(f"{path}: there is something to choose, and no lists to choose by: [choice] lists = […]")
    if any(condition.has_choice for condition in study.conditions) and not all(d.hold_out for d in study.data):
        raise LuthierError(f"{path}: there is something to choose, and data without pairs to choose by: hold_out = N")
