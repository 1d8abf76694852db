"""Features that belong together: the bins of one feature, in their order."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from luthier.core.errors import LuthierError


@dataclasses.dataclass(frozen=True)
class FeatureGroup:
    """Some columns of a table that are ordered bins of one feature.

    Attributes
    ----------
    name
        Of the feature that was cut into bins; it need not be a column itself.
    columns
        Names of the bins, lowest first. Neighbours in the tuple are neighbours on the feature's axis.
    """

    name: str
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise LuthierError(f"expected different columns in the group {self.name!r}, found {self.columns[:5]}")

    def restricted(self, names: Collection[str]) -> FeatureGroup | None:
        """Return the group of those columns that are among `names`; None where none is."""
        kept = tuple(column for column in self.columns if column in names)
        return FeatureGroup(self.name, kept) if kept else None

    def renamed(self, changes: Mapping[str, str]) -> FeatureGroup:
        """Return the group with columns (and the feature) under other names."""
        return FeatureGroup(changes.get(self.name, self.name), tuple(changes.get(c, c) for c in self.columns))


Groups = tuple[FeatureGroup, ...]


def check_groups(groups: Groups, names: Collection[str]) -> None:
    """Raise `LuthierError` unless groups have different names, and columns of `names`, each in one of them."""
    owner: dict[str, str] = {}
    if len({group.name for group in groups}) != len(groups):
        raise LuthierError("expected groups of features whose names differ, found a name twice")
    for group in groups:
        for column in group.columns:
            if column not in names:
                raise LuthierError(f"the group {group.name!r} has a column that is no feature: {column!r}")
            if column in owner:
                raise LuthierError(f"{column!r} is in two groups, {owner[column]!r} and {group.name!r}")
            owner[column] = group.name


def restrict_groups(groups: Groups, names: Collection[str]) -> Groups:
    """Return what is left of groups where only the columns `names` are."""
    left = (group.restricted(names) for group in groups)
    return tuple(group for group in left if group is not None)


def join_groups(parts: Sequence[Groups]) -> Groups:
    """Return the groups of several tables put together; if several have one name, the longest stays.

    The bins of the shorter ones must be some of its bins, in its order: where bins of two tables
    alternate, nobody knows how.
    """
    joined: dict[str, FeatureGroup] = {}
    for group in (group for groups in parts for group in groups):
        longer = joined.setdefault(group.name, group)
        if len(group.columns) > len(longer.columns):
            longer, group = group, longer
        if longer.restricted(set(group.columns)) != group:
            raise LuthierError(
                f"the tables have different bins of {group.name!r}: {group.columns[:4]} and {longer.columns[:4]}"
            )
        joined[group.name] = longer
    return tuple(joined.values())
