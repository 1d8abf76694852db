"""Pairs that are drawn once, whatever the bins and the penalty: a loss that can be compared, and lists to judge by."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError, unwarned
from luthier.core.files.io import regular
from luthier.core.rng import make_rng
from luthier.core.segments import rows_of_segments
from luthier.core.settings import Table
from luthier.features.bins import Bins
from luthier.features.counts import count_values, present_values, use_weights
from luthier.features.fit_bins import BinOptions, Counts, grammar_counts, make_bins
from luthier.features.induction import induce_pool
from luthier.grammar.storage import open_grammar
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import open_pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.planted import PlantedLists
from luthier.tuning.base import tuner
from luthier.tuning.methods import pro
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.ranking.pairs import PairLoss, Pairs, differences, sample_pairs, shares_of_gaps
from luthier.tuning.ranking.rounds import top_of
from luthier.tuning.ranking.sentence_gains import hypothesis_gains
from luthier.tuning.run import RunOptions, run

from ..base import Entry, take_name, take_seed

MOST_BITS = 12
GAMMA = 2.0  # of MNR, as in the paper's code
PLANTED_SEEDS = (1, 2)


@dataclasses.dataclass(frozen=True)
class PairEntry(Entry):
    """Lists with derivations: files of a system that a study of conditions has made, or lists with a planted response.

    Attributes
    ----------
    files : pools to tune on and to choose by, and the rules of the tuning sentences, by which values are cut
    planted : lists whose two seeds are 1 and 2, cut by their own rules; None for files
    """

    files: tuple[str, ...]
    planted: PlantedLists | None

    def pools(self, folder: str | None) -> list[Pool] | None:
        """Return both pools; None where they are in a folder not given."""
        if self.planted is not None:
            return [self.planted.generate(seed) for seed in PLANTED_SEEDS]
        return None if folder is None else [open_pool(regular(Path(folder) / name)) for name in self.files[:2]]


def _read_entry(table: Table, path: str) -> PairEntry:
    name = take_name(table, path)
    planted = table.table("planted").fields(PlantedLists) if table.has("planted") else None
    files = () if planted is not None else tuple(table.take(key, str) for key in ("tune", "heldout", "grammar"))
    table.end()
    return PairEntry(name, files, planted)


@dataclasses.dataclass(frozen=True)
class PairSettings:
    """What studies on fixed pairs share.

    Attributes
    ----------
    plain : features of rules that need no bins; pairs are drawn where their tuned weights rank the lists
    own : features of the decoder that all have besides
    cut : features that become bins
    """

    name: str
    seed: int
    data: tuple[PairEntry, ...]
    metric: Metric
    plain: tuple[str, ...]
    own: tuple[str, ...]
    cut: tuple[str, ...]

    @classmethod
    def read(cls, file: Table, path: str) -> PairSettings:
        """Return what a file says of lists and features; other keys are left in it."""
        entries = []
        for table in file.tables("data"):
            entries.append(_read_entry(table, path))
        metric = load_metric(file.take("metric", str))
        named = (file.texts("plain"), file.texts("own"), file.texts("cut"))
        return cls(file.take("name", str), take_seed(file, path), tuple(entries), metric, *named)

    @property
    def signature(self) -> str:
        """All that decides which pairs there are, besides the lists."""
        return " ".join(
            [str(self.seed), self.metric.signature, _tuner().spec, *self.plain, "|", *self.own, "|", *self.cut]
        )


def take_numbers(file: Table, key: str, path: str) -> tuple[float, ...]:
    """Return a list of different finite numbers above 0."""
    found: list[Any] = file.take(key, list)
    if not all(type(number) in (int, float) and 0 < number < np.inf for number in found):
        raise LuthierError(f"{path}: expected numbers above 0 as {key!r}, found {found}")
    if len(set(found)) != len(found):
        raise LuthierError(f"{path}: expected each of {key!r} once, found {found}")
    return tuple(map(float, found))


def take_bits(file: Table, key: str, path: str) -> tuple[int, ...]:
    """Return numbers of bits of bins."""
    bits = file.numbers(key, ())
    if not bits or len(set(bits)) != len(bits) or not 1 <= min(bits) <= max(bits) <= MOST_BITS:
        raise LuthierError(f"{path}: expected numbers from 1 to {MOST_BITS} as {key!r}, each once, found {list(bits)}")
    return bits


def _tuner() -> pro.Method:
    """Return PRO with gains of sentences: those of the corpus change sign with the length that weights select."""
    found = tuner("pro", keep="last", gains="sentence")
    assert isinstance(found, pro.Method)
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class Binned:
    """Both lists with the columns of bins, and the loss of the pairs.

    Attributes
    ----------
    bins : Bins
    tune, heldout : ListProblem
    loss : PairLoss
        Of all pairs of the tuning lists.
    """

    bins: Bins
    tune: ListProblem
    heldout: ListProblem
    loss: PairLoss

    def neighbours(self, kind: str, beta: float) -> Neighbours:
        """Return the penalty on the bins."""
        return Neighbours.of(self.tune.groups, self.tune.names, kind=kind, strength=beta, gamma=GAMMA)


class FixedPairs:
    """The lists of a data set, the plain weights tuned on them, and the pairs drawn there."""

    def __init__(self, settings: PairSettings, entry: PairEntry, folder: str | None, pools: Sequence[Pool]) -> None:
        self.settings, self.entry, self.folder = settings, entry, folder
        self.digests = tuple(pool.digest() for pool in pools)
        self.pools = tuple(pool.take_sentences(np.flatnonzero(pool.list_lengths)) for pool in pools)

    @classmethod
    def here(cls, settings: PairSettings, entry: PairEntry, folder: str | None) -> Self | None:
        """Return those of a data set; None where its files are in a folder not given."""
        pools = entry.pools(folder)
        return None if pools is None else cls(settings, entry, folder, pools)

    @property
    def size(self) -> list[int]:
        """The most hypotheses of a list to tune on, and sentences to tune on and to choose by."""
        return [int(self.pools[0].list_lengths.max()), *(pool.n_sentences for pool in self.pools)]

    @functools.cached_property
    def plain(self) -> tuple[ListProblem, ListProblem]:
        """Both lists with plain features."""
        names = {*self.settings.plain, *self.settings.own}
        tune, heldout = (ListProblem.of(_select(pool, names), self.settings.metric) for pool in self.pools)
        return tune, heldout

    @functools.cached_property
    def plain_weights(self) -> Float64:
        """What PRO finds for plain features on the tuning lists, from 0 on."""
        problem = self.plain[0]
        return run(_tuner(), problem, np.zeros(problem.n_features), RunOptions(seed=self.settings.seed)).weights

    @functools.cached_property
    def drawn(self) -> tuple[Pairs, Float64]:
        """The pairs that PRO draws at the plain weights, as rows of the tuning lists, and how much each counts."""
        problem, weights, method = self.plain[0], self.plain_weights, _tuner()
        gains = hypothesis_gains(problem, weights, method.gains)
        top, rows = top_of(problem, weights, method.top)
        pairs = sample_pairs(top, gains[rows], method.sampling, make_rng(self.settings.seed))
        counts = shares_of_gaps(gains[rows], pairs)
        return Pairs(rows[pairs.better], rows[pairs.worse], pairs.offsets), counts

    @functools.cached_property
    def counts(self) -> Counts:
        """The values of the features to cut, over all rules; a rule counts once for every sentence that has it."""
        if self.entry.files:
            assert self.folder is not None
            return grammar_counts(open_grammar(regular(Path(self.folder) / self.entry.files[2])), self.settings.cut)
        pool = self.pools[0]
        assert pool.derivations is not None
        weights, found = use_weights(pool, by_use=False), {}
        for name in self.settings.cut:
            rows, values = present_values(pool.derivations.features, name)
            found[name] = count_values(values, weights[rows])
        return found

    def uniform(self, bits: int) -> Bins:
        """Return bins of like population, by the rules of the tuning sentences."""
        with unwarned():  # features of few values are as they are
            return make_bins(self.counts, self.settings.own, BinOptions(bins=1 << bits), origin={})

    def binned(self, bins: Bins) -> Binned:
        """Return lists and pairs with the columns of bins."""
        problems = []
        for pool, plain in zip(self.pools, self.plain, strict=True):
            own = induce_pool(_select(pool, set(self.settings.own)), bins)
            problems.append(dataclasses.replace(plain, pool=own, bounds=Bounds.none(own.n_features)))
        pairs, counts = self.drawn
        loss = PairLoss(differences(problems[0].pool.features, pairs), counts)
        return Binned(bins, problems[0], problems[1], loss)

    def rows_of(self, sentences: Int64) -> Int64:
        """Return the pairs of some sentences."""
        return rows_of_segments(self.drawn[0].offsets, sentences)


def score_of(problem: ListProblem, weights: Float64) -> float:
    """Return the score of what weights select."""
    return float(problem.metric.score(selected(problem, weights).sum(axis=0)))


def selected(problem: ListProblem, weights: Float64) -> npt.NDArray[Any]:
    """Return the statistics of what weights select, (N, S)."""
    return np.asarray(problem.stats[problem.select(weights)])


def _select(pool: Pool, names: set[str]) -> Pool:
    """Return lists with some features; derivations keep all."""
    known: Sequence[str] = pool.features.names
    missing = sorted(names - set(known))
    if missing:
        raise LuthierError(f"expected lists with the feature {missing[0]!r}, found none")
    return pool.with_features(pool.features.select([name for name in known if name in names]))
