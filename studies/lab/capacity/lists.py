"""Lists of a study of capacity, with more features than they came with; and which of their rows weights can select."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError, unwarned
from luthier.features.bins import conjoined_names
from luthier.features.fit_bins import BinOptions, bins_of_pool
from luthier.features.induction import induce_pool
from luthier.kbest.groups import FeatureGroup, Groups
from luthier.kbest.merge import cap
from luthier.kbest.pool import Pool
from luthier.kbest.weights import Weights
from luthier.landscape.selections.sparse_feasibility import weights_that_select

from ..base import Place
from ..lists import load_lists
from ..system import TEST, TUNE, System
from .settings import CapacityEntry, CapacityStudy, FeatureSet

GRID = 2.0**30


@dataclasses.dataclass(frozen=True, eq=False)
class CapacityLists:
    """Lists to tune on, held out and to test on, with the same features, and weights to start from.

    Attributes
    ----------
    heldout : Pool or None
    start : (D,)
    digests : of tuning and test lists
    groups : columns that come of one feature, or of two together
    """

    tune: Pool
    heldout: Pool | None
    test: Pool
    start: Float64
    digests: tuple[str, str]
    groups: Groups = ()

    def with_set(self, chosen: FeatureSet, cut: tuple[str, ...], *, pairs: bool) -> CapacityLists:
        """Return the lists with more features behind their own: bins, then rules of the lists to tune on."""
        lists = self.with_bins(cut, chosen.bits, pairs=pairs)
        if not chosen.rules:
            return lists
        used = lists.tune.derivations
        rules = {} if used is None else {used.texts[rule]: n for n, rule in enumerate(np.unique(used.rules).tolist())}
        tune, test = with_rules(lists.tune, rules), with_rules(lists.test, rules)
        heldout = None if lists.heldout is None else with_rules(lists.heldout, rules)
        start = np.concatenate([lists.start, np.zeros(len(rules))])
        return dataclasses.replace(lists, tune=tune, heldout=heldout, test=test, start=start)

    def with_bins(self, cut: tuple[str, ...], bits: int, *, pairs: bool) -> CapacityLists:
        """Return the lists with the columns of 2^bits bins of each feature behind their own features.

        Features that are cut stay. Bins are of rules where lists have derivations, else of whole hypotheses. They are
        made of the lists to tune on alone. The start weighs none of them.
        """
        if not bits:
            return self
        couples = tuple(itertools.combinations(cut, 2)) if pairs else ()
        options = BinOptions(bins=1 << bits, keep=cut, conjunctions=couples)
        with unwarned():  # features of few values are as they are
            scope: Any = "global" if self.tune.derivations is None else "local"
            bins = bins_of_pool(self.tune, cut, options, scope=scope)
        tune, test = induce_pool(self.tune, bins), induce_pool(self.test, bins)
        heldout = None if self.heldout is None else induce_pool(self.heldout, bins)
        start = np.zeros(tune.n_features)
        for name, weight in zip(self.tune.features.names, self.start, strict=True):
            start[tune.features.index(name)] = weight
        together = (FeatureGroup(f"{a.feature}&{b.feature}", conjoined_names(a, b)) for a, b in bins.pairs)
        return CapacityLists(tune, heldout, test, start, self.digests, (*bins.groups, *together))

    @functools.cached_property
    def n_sentences(self) -> int:
        """How many there are to tune on."""
        return self.tune.n_sentences


def make_lists(study: CapacityStudy, entry: CapacityEntry, place: Place) -> CapacityLists | None:
    """Return the lists of a data set; None where they are in a folder not given."""
    if entry.lists is None:
        assert entry.pair is not None
        system = System.here(entry.pair, place, seed=study.seed, own=entry.own)
        if system is None:
            return None
        tune, test, start = _decode(system, entry)
    else:
        data = load_lists(entry.lists, place.data)
        if data is None:
            return None
        tune, test, start = cap(data.tune, entry.k), cap(data.test, entry.k), data.start
    heldout = None
    digests = tune.digest(), test.digest()
    if entry.heldout:
        left = tune.n_sentences - entry.heldout
        if left < 1:
            raise LuthierError(f"expected more than {entry.heldout} sentences of {entry.name!r}, found {left}")
        tune, heldout = tune.take_sentences(np.arange(left)), tune.take_sentences(np.arange(left, tune.n_sentences))
    return CapacityLists(tune, heldout, test, start, digests)


def _decode(system: System, entry: CapacityEntry) -> tuple[Pool, Pool, Float64]:
    """Train the system, and decode both sets once, with derivations."""
    system.prepare()
    pools = []
    for part in (TUNE, TEST):
        decoder = system.decoder(part, entry.rules)
        weights = system.config.start or decoder.default_weights()
        sentences, references = system.sentences(part)
        pool = decoder.decode(sentences, weights, k=entry.k, unique=True, references=references).pool
        names = system.columns(decoder)
        pools.append(on_grid(pool.with_features(pool.features.select(names))))
    return pools[0], pools[1], np.array(Weights(weights).vector(names))


def on_grid(pool: Pool) -> Pool:
    """Return the pool with dense features rounded to multiples of 2^−30.

    Features of a derivation are sums. In another order they differ by rounding, up to 10^−13 here. Rows that differ by
    nothing else are one point. Differences that mean something are 10^−6 and more.
    """
    features = pool.features
    return pool.with_features(dataclasses.replace(features, dense=np.round(features.dense * GRID) / GRID))


def with_rules(pool: Pool, rules: Mapping[str, int]) -> Pool:
    """Return the pool with a feature for each of the given rules behind its own: how often a derivation uses it."""
    used, features = pool.derivations, pool.features
    if used is None:
        raise LuthierError("expected lists with derivations, whose rules are features")
    column = np.array([rules.get(text, -1) for text in used.texts])[used.rules]
    row = np.repeat(np.arange(pool.n_hypotheses), np.diff(used.offsets))[column >= 0]
    shape = pool.n_hypotheses, features.n_features - features.n_dense
    before = sparse.csr_array((features.values, features.indices, features.indptr), shape=shape)
    counts = sparse.coo_array((np.ones(len(row)), (row, column[column >= 0])), shape=(pool.n_hypotheses, len(rules)))
    table = sparse.csr_array(sparse.hstack([before, counts.tocsr()], format="csr"))
    table.sort_indices()
    return pool.with_features(
        dataclasses.replace(
            features,
            names=(*features.names, *(f"rule {number}" for number in rules.values())),
            indptr=table.indptr,
            indices=table.indices,
            values=table.data,
        )
    )


class Extremes:
    """Which rows of a pool are extreme: some weights select them in their own list. Each is decided once."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._known: dict[int, bool] = {}

    def __contains__(self, row: int) -> bool:
        if row not in self._known:
            s = int(np.searchsorted(self.pool.offsets, row, side="right")) - 1
            alone = self.pool.take_sentences(np.array([s]))
            self._known[row] = weights_that_select(alone, np.array([row - self.pool.offsets[s]])) is not None
        return self._known[row]

    def best(self, gains: Float64) -> Int64:
        """Return of each list the extreme row of the largest gain, (N,), of several the lowest; gains are (M,)."""
        found = []
        for first, last in itertools.pairwise(self.pool.offsets.tolist()):
            order = first + np.argsort(-gains[first:last], kind="stable")
            found.append(next(row for row in order.tolist() if row in self))
        return np.array(found)

    def draw(self, sentences: Int64, rng: np.random.Generator) -> Int64:
        """Return an extreme row of each of some lists, drawn at random."""
        drawn = []
        for s in sentences.tolist():
            first, last = self.pool.offsets[s : s + 2].tolist()
            order = first + rng.permutation(last - first)
            drawn.append(next(row for row in order.tolist() if row in self))
        return np.array(drawn)
