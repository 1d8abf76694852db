"""Smaller or other pools from a pool: shorter lists, parts by sentence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.core.segments import segment_of_rows
from luthier.kbest.derived import Derived, add_derived
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool


def cap(pool: Pool, k: int, *, weights: Float64 | None = None) -> Pool:
    """Return the pool with at most `k` hypotheses per sentence: the first, or the best by `weights`.

    Rows keep their order; ties go to the lower row.
    """
    if k < 1:
        raise LuthierError(f"expected lists of at least 1, found {k}")
    segments = segment_of_rows(pool.offsets)
    if weights is None:
        rank = np.arange(pool.n_hypotheses) - pool.offsets[segments]
    else:
        rank = _ranks(pool, weights, segments)
    kept = np.flatnonzero(rank < k)
    how = "the first" if weights is None else "the best by given weights"
    return pool.take(kept).noting("cap", k=k, kept=how)


def _ranks(pool: Pool, weights: Float64, segments: Int64) -> Int64:
    """Return each row's place in its list by score, best first, ties to the lower row."""
    order = np.lexsort((-pool.scores(weights), segments))
    ranks = np.empty(pool.n_hypotheses, dtype=np.int64)
    ranks[order] = np.arange(pool.n_hypotheses) - pool.offsets[segments]
    return ranks


def split(pool: Pool, shares: Mapping[str, float], *, seed: int) -> dict[str, Pool]:
    """Return disjoint pools that together have every sentence, drawn at random by the given shares.

    Shares are relative; the largest remainders get the sentences that rounding leaves over. Within a
    part, sentences keep their order.
    """
    if len(shares) < 2:
        raise LuthierError("expected at least two parts to cut into: shares are relative, one part is everything")
    if any(not np.isfinite(share) or share <= 0 for share in shares.values()):
        raise LuthierError(f"expected shares above 0, found {dict(shares)}")
    if len(shares) > pool.n_sentences:
        raise LuthierError(f"cannot cut {pool.n_sentences} sentences into {len(shares)} parts")
    exact = np.array(list(shares.values())) / math.fsum(shares.values()) * pool.n_sentences
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: pool.n_sentences - counts.sum()]] += 1
    if not counts.all():
        smallest = list(shares)[int(np.argmin(counts))]
        raise LuthierError(
            f"of {pool.n_sentences} sentences the share of {smallest!r} is none. hint: give it a larger one"
        )
    order = make_rng(seed).permutation(pool.n_sentences)
    parts = np.split(order, np.cumsum(counts)[:-1])
    return {
        name: pool.take_sentences(np.sort(part)).noting("split", part=name, seed=seed)
        for name, part in zip(shares, parts, strict=True)
    }


# What a user can have done to a pool's features and lists on the way, in one fixed order.


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
