"""Pools put together: several runs of a decoder become one pool, sentence by sentence."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int32, Int64, flat
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.rng import make_rng
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus.texts import Texts, Tokens, concatenate_repeated
from luthier.corpus.vocab import Interner
from luthier.kbest import _row_kernels as kernels
from luthier.kbest.derivations import concatenate_derivations
from luthier.kbest.derived import Derived, add_derived
from luthier.kbest.features import Features, concatenate_features
from luthier.kbest.pool import COUNTS, INTEGER_IDS, Pool, References, Statistics, pool_of

# Smaller or other pools from a pool: shorter lists, parts by sentence.


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


# Hypotheses of one sentence that are the same: same words and (unless told otherwise) same numbers.


def first_of_equals(pool: Pool, *, by_features: bool = True) -> Bool:
    """Return which rows are the first of their kind in their list, (M,).

    With `by_features` two rows are equal if words, features and columns are; without, if the words are. How often a row
    was drawn (`COUNTS`) makes no difference.
    """
    columns = {name: values for name, values in pool.columns.items() if name != pool.provenance.get(COUNTS)}
    return first_rows(pool.offsets, pool.features, pool.tokens, columns, by_features=by_features)


def first_rows(
    offsets: Int64,
    f: Features,
    tokens: Tokens,
    columns: Mapping[str, Float64],
    *,
    by_features: bool = True,
    counts: Float64 | None = None,
) -> Bool:
    """Return the same of the parts of a pool, before they are one; `counts` (M,) of equal rows go to the first."""
    given = np.column_stack(list(columns.values())) if by_features and columns else np.empty((len(f), 0))
    given = flat(np.where(np.isnan(given), np.nan, given))  # NaN has many bit patterns
    hashes = np.empty(len(f), dtype=np.uint64)
    bits = f.arrays._replace(dense=f.dense.view(np.uint64), values=f.values.view(np.uint64))
    kernels.hash_rows(tokens.offsets, tokens.ids, bits, given.view(np.uint64), by_features, hashes)
    longest = int(np.diff(offsets).max(initial=1))
    table = np.empty(1 << (2 * longest).bit_length(), dtype=np.int64)
    keep = np.empty(len(f), dtype=np.bool_)
    drawn = np.empty(0) if counts is None else counts
    kernels.first_of_equals(
        flat(offsets), hashes, tokens.offsets, tokens.ids, f.arrays, given, by_features, table, drawn, keep
    )
    return keep


def drop_duplicates(pool: Pool, *, by_features: bool = True) -> Pool:
    """Return the pool without repeated hypotheses; the first of each kind stays."""
    keep = first_of_equals(pool, by_features=by_features)
    if keep.all():
        return pool
    what = "words, features and columns" if by_features else "words"
    dropped = int(np.count_nonzero(~keep))
    return pool.take(np.flatnonzero(keep)).noting("drop duplicates", equal=what, dropped=dropped)


def merge(pools: Sequence[Pool]) -> Pool:
    """Return one pool with the hypotheses of all; those of earlier pools stand first in each list.

    Sentences are matched by id; the first pool's come first. A feature that a pool lacks counts 0
    there. References and sources come from the first pool that has them and must not contradict one
    another. Duplicates stay (see `luthier.kbest.merge`).
    """
    pools = [pools] if isinstance(pools, Pool) else list(pools) if isinstance(pools, Iterable) else [pool_of(pools)]
    if not [pool_of(pool) for pool in pools]:
        raise LuthierError("expected at least one pool to merge")
    vocab = Interner()
    token_maps = [vocab.intern_texts(pool.vocab) for pool in pools]
    sentence_numbers = Interner()
    numbers = [sentence_numbers.intern_texts(pool.sentence_ids) for pool in pools]
    ids = sentence_numbers.texts()
    sentence_of_row = np.concatenate(
        [mine[segment_of_rows(pool.offsets)] for mine, pool in zip(numbers, pools, strict=True)]
    )
    order = np.argsort(sentence_of_row, kind="stable")
    with_rows = [pool for pool in pools if pool.n_hypotheses]
    together = Pool(
        offsets=offsets_from_counts([len(order)] + [0] * (len(ids) - 1)),
        features=concatenate_features([pool.features for pool in pools]),
        sentence_ids=ids,
        texts=Texts.concatenate([pool.texts for pool in pools]),
        tokens=Tokens.concatenate(
            [pool.tokens.renumbered(mapping) for pool, mapping in zip(pools, token_maps, strict=True)]
        ),
        vocab=vocab.texts(),
        references=_references(pools, numbers, token_maps, len(ids)),
        sources=_sources(pools, numbers, len(ids)),
        derivations=_derivations(with_rows),
        other_keys=concatenate_repeated([pool.other_keys for pool in pools], [pool.n_hypotheses for pool in pools]),
        columns=_columns(with_rows),
        stats=_stats(with_rows),
        provenance=_provenance(pools),
    )
    offsets = offsets_from_counts(np.bincount(sentence_of_row, minlength=len(ids)))
    return together._with_rows(order, offsets)


def _references(
    pools: Sequence[Pool], numbers: Sequence[Int32], token_maps: Sequence[Int32], n: int
) -> References | None:
    """Return each sentence's references from the first pool that has them."""
    given = [k for k, pool in enumerate(pools) if pool.references is not None]
    if not given:
        return None
    found: dict[int, tuple[int, int]] = {}
    for k in given:
        references = pools[k].references
        assert references is not None
        for i, sentence in enumerate(numbers[k].tolist()):
            here = references.of(i)
            if not here:
                continue
            if sentence in found:
                other = pools[found[sentence][0]].references
                assert other is not None
                if other.of(found[sentence][1]) != here:
                    raise LuthierError(f"the pools have different references for sentence {pools[k].sentence_ids[i]!r}")
            else:
                found[sentence] = (k, i)
    if len(found) < n:
        raise LuthierError(f"{n - len(found)} of {n} sentences would have no reference after the merge")
    parts = []
    for sentence in range(n):
        k, i = found[sentence]
        references = pools[k].references
        assert references is not None
        one = references.take([i])
        parts.append(References(one.offsets, one.texts, one.tokens.renumbered(token_maps[k])))
    return References(
        offsets_from_counts([len(part.texts) for part in parts]),
        Texts.concatenate([part.texts for part in parts]),
        Tokens.concatenate([part.tokens for part in parts]),
    )


def _sources(pools: Sequence[Pool], numbers: Sequence[Int32], n: int) -> Texts | None:
    found: dict[int, str] = {}
    for pool, mine in zip(pools, numbers, strict=True):
        if pool.sources is not None:
            for sentence, text in zip(mine.tolist(), pool.sources, strict=True):
                if found.setdefault(sentence, text) != text:
                    raise LuthierError(f"the pools have different sources: {found[sentence]!r} and {text!r}")
    return Texts.from_strings(found.get(sentence, "") for sentence in range(n)) if found else None


def _derivations(pools: Sequence[Pool]) -> Any:
    parts = [pool.derivations for pool in pools if pool.derivations is not None]
    if not parts or len(parts) < len(pools):
        if parts:
            _warn("derivations are left out: not all pools have them")
        return None
    if len({part.tree is None for part in parts}) > 1:
        _warn("the trees of derivations are left out: not all pools have them")
    return concatenate_derivations(parts)


def _columns(pools: Sequence[Pool]) -> dict[str, Any]:
    first = pools[0].columns if pools else {}
    common = [name for name in first if all(name in pool.columns for pool in pools)]
    for name in sorted({name for pool in pools for name in pool.columns} - set(common)):
        _warn(f"the column {name!r} is left out: not all pools have it")
    return {name: np.concatenate([pool.columns[name] for pool in pools]) for name in common}


def _stats(pools: Sequence[Pool]) -> dict[str, Statistics]:
    first = pools[0].stats if pools else {}
    common = [name for name in first if all(name in pool.stats for pool in pools)]
    return {
        name: Statistics(first[name].names, np.concatenate([pool.stats[name].values for pool in pools]))
        for name in common
    }


def _provenance(pools: Sequence[Pool]) -> dict[str, Any]:
    lists = [item for pool in pools for item in pool.provenance.get("lists", [])]
    done = [item for pool in pools for item in pool.provenance.get("operations", [])]
    integers = _integer_ids(pools)
    named = {pool.provenance.get(COUNTS) for pool in pools}
    counts = {COUNTS: named.pop()} if len(named) == 1 and None not in named else {}
    return {**integers, **counts, "lists": lists, "operations": [*done, {"operation": "merge", "pools": len(pools)}]}


def _integer_ids(pools: Sequence[Pool]) -> dict[str, Any]:
    """Return which ids of merged pools came as numbers."""
    said = [pool.provenance.get(INTEGER_IDS, []) for pool in pools]
    if all(one is True for one in said):
        return {INTEGER_IDS: True}
    names: dict[str, None] = {}
    for pool, one in zip(pools, said, strict=True):
        names |= dict.fromkeys(pool.sentence_ids if one is True else map(str, one if isinstance(one, list) else ()))
    return {INTEGER_IDS: list(names)} if names else {}


def _warn(message: str) -> None:
    warnings.warn(message, LuthierWarning, stacklevel=4)
