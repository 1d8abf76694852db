"""What a user can have done to a pool's features and lists on the way, in one fixed order."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from luthier.core.errors import LuthierError
from luthier.kbest.derived import Derived, add_derived
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.reshape import cap


@dataclasses.dataclass(frozen=True)
class Transforms:
    """Select or drop features, rename, scale, add some by formulas, call some costs, cap lists: in that order.

    Names are those of the list for `select`, `drop` and `rename`, and the new ones for the rest.
    """

    select: Sequence[str] = ()
    drop: Sequence[str] = ()
    rename: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scale: Mapping[str, float] = dataclasses.field(default_factory=dict)
    add: Sequence[str] = ()
    costs: Sequence[str] = ()
    cap: int | None = None

    def apply(self, pool: Pool) -> Pool:
        """Return the transformed pool, with each step in its provenance."""
        if self.select or self.drop:
            names = _chosen(pool.features, self.select, self.drop)
            pool = pool.with_features(pool.features.select(names)).noting("select", features=len(names))
        if self.rename:
            pool = pool.with_features(pool.features.rename(self.rename))
            pool = pool.noting("rename", names=dict(self.rename))
        if self.scale:
            pool = pool.with_features(pool.features.scale(self.scale))
            pool = pool.noting("scale", factors=dict(self.scale))
        if self.add:
            pool = add_derived(pool, [Derived.parse(text) for text in self.add])
        if self.costs:
            costs = sorted(pool.features.costs | set(self.costs))
            pool = pool.with_features(pool.features.call_costs(costs)).noting("costs", names=costs)
        if self.cap is not None:
            pool = cap(pool, self.cap)
        return pool


def _chosen(features: Features, select: Sequence[str], drop: Sequence[str]) -> list[str]:
    if select and drop:
        raise LuthierError("either name the features to keep or those to drop, not both")
    for name in drop:
        features.index(name)
    names = list(select) or [name for name in features.names if name not in set(drop)]
    if not names:
        raise LuthierError("no feature would be left")
    return names
