"""The lists of a study of capacity: decoded, generated or read, with as many features as bits of bins give."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any, NamedTuple

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError, unwarned
from luthier.features.bins import conjoined_names
from luthier.features.induce import induce_pool
from luthier.features.making import BinOptions, bins_of_pool
from luthier.kbest.groups import FeatureGroup, Groups
from luthier.kbest.pool import Pool
from luthier.kbest.reshape import cap
from luthier.kbest.weights import Weights
from luthier.pipelines.study.capacity_settings import CapacityEntry, CapacityStudy
from luthier.pipelines.study.conditions import Condition
from luthier.pipelines.study.data import load_data
from luthier.pipelines.study.system import TEST, TUNE, System
from luthier.pipelines.study.units import Place


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

    def with_bins(self, cut: tuple[str, ...], bits: int, *, pairs: bool) -> CapacityLists:
        """Return the lists with the columns of 2^bits bins of each feature behind their own features.

        Features that are cut stay. Rules are looked at where lists have derivations, else whole hypotheses. Bins are
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


class _Asked(NamedTuple):
    """What a system asks of a study."""

    seed: int
    own: tuple[str, ...]


def load_lists(study: CapacityStudy, entry: CapacityEntry, place: Place) -> CapacityLists | None:
    """Return the lists of a data set; None where they are in a folder not given."""
    if entry.lists is None:
        if entry.pair is not None and entry.pair.embedded is None and place.data is None:
            return None
        tune, test, start = _decoded(study, entry, place)
    else:
        data = load_data(entry.lists, place.data)
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


def _decoded(study: CapacityStudy, entry: CapacityEntry, place: Place) -> tuple[Pool, Pool, Float64]:
    """Train the system, and decode both sets once, with derivations."""
    assert entry.pair is not None
    system = System(_Asked(study.seed, entry.own), entry.pair, place)
    system.prepare()
    pools = []
    for part in (TUNE, TEST):
        decoder = system.decoder(part, Condition(entry.name, entry.rules), None)
        weights = system.config.start or decoder.default_weights()
        sentences, references = system.sentences(part)
        pool = decoder.decode(sentences, weights, k=entry.k, unique=True, references=references).pool
        names = system.columns(decoder)
        pools.append(pool.with_features(pool.features.select(names)))
    return pools[0], pools[1], np.array(Weights(weights).vector(names))
