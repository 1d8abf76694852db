"""Learned bins: bins split and merged by folds of the tuning lists, beside uniform ones; unseen lists judge once.

Units on folds see the tuning lists alone: uniform bins of some bits with the constants that folds choose, and what is
learned from each of them. Then the bins that leave the least loss out are judged beside the uniform ones.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.files.journal import Record
from luthier.core.jit import Stopwatch
from luthier.core.settings import Table
from luthier.core.tasks import Engine
from luthier.features.bins import Bins
from luthier.features.bins_file import bins_text

from ..base import Place, Study, Units, write_tables
from ..lines import Kept, LineKind, pack_statistics, pack_text, pack_weights, require, require_numbers, require_texts
from ..pairs.bins_tables import draw_learned, learned_tables
from ..pairs.fixed import Binned, FixedPairs, PairEntry, PairSettings, score_of, selected, take_bits, take_numbers
from ..pairs.splitting import (
    AtomPairs,
    Constants,
    Cuts,
    FoldFit,
    Learner,
    bins_at,
    cuts_of,
    fold_of_sentences,
    joined_bins,
)

UNIFORM, LEARNED, JUDGED = "uniform", "learned", "judged"


def _check_line(record: Record) -> None:
    require_texts(record, "study", "data", "where", "signature", "given")
    require_numbers(record, "bits", "cpu_seconds")
    if record["where"] == JUDGED:
        require(isinstance(record["systems"], dict) and bool(record["systems"]), "systems")
        for found in record["systems"].values():
            require_texts(found, "statistics", "weights")
            require_numbers(found, "tune", "heldout", "bins")
    else:
        require_numbers(record, "loss", "score", "ridge", "beta", "rounds")
        require(isinstance(record["cuts"], list), "cuts")


class BinsUnit(NamedTuple):
    """Where bins come from, the bits of uniform ones, and to be judged: names with constants and cuts."""

    where: str
    bits: int
    given: tuple[tuple[str, Constants, Cuts], ...] = ()


@dataclasses.dataclass(frozen=True)
class Method(Study):
    """A study of learned bins; constants are chosen from `ridges` and `betas` by folds."""

    line = LineKind(key=("data", "where", "bits"), identity=("signature", "pools", "given"), check=_check_line)

    data: tuple[PairEntry, ...]
    settings: PairSettings
    bits: tuple[int, ...]
    ridges: tuple[float, ...]
    betas: tuple[float, ...]
    folds: int

    @classmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes."""
        settings = PairSettings.read(file, path)
        bits, folds = take_bits(file, "bits", path), file.take("folds", int)
        numbers = [take_numbers(file, key, path) for key in ("ridges", "betas")]
        file.end()
        if folds < 2:
            raise LuthierError(f"{path}: expected two folds or more, found {folds}")
        return cls(settings.name, settings.seed, settings.data, settings, bits, numbers[0], numbers[1], folds)

    @property
    def grid(self) -> list[Constants]:
        """All constants to choose from."""
        return [Constants(ridge, beta) for ridge in self.ridges for beta in self.betas]

    def units(self, entry: PairEntry, place: Place) -> BinsUnits | None:
        """Return the units of a data set on folds; None where its files are not here."""
        lists = FixedPairs.here(self.settings, entry, place.data)
        wanted = [BinsUnit(where, bits) for where in (UNIFORM, LEARNED) for bits in self.bits]
        return None if lists is None else BinsUnits(self, lists, place, wanted)

    def rounds(self, units: BinsUnits, kept: Kept, engine: Engine | None) -> Iterator[BinsUnits]:  # noqa: ARG002
        """Yield what folds decide, and then what is judged."""
        yield units
        lines = [kept[self.line.key_of(units.record(unit))] for unit in units.wanted]
        learned = min((line for line in lines if line["where"] == LEARNED), key=lambda line: float(line["loss"]))
        chosen = [line for line in lines if line["where"] == UNIFORM] + [learned]
        given = tuple((f"{c['where']}, {c['bits']} bits", Constants(c["ridge"], c["beta"]), _cuts(c)) for c in chosen)
        yield BinsUnits(self, units.lists, units.place, [BinsUnit(JUDGED, 0, given)])

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write the tables, and a figure for each data set that was judged."""
        parts = [self.size_table(records), *learned_tables(self.settings.metric, records)]
        paths = [write_tables(place, self.name, parts)]
        for record in records:
            if record["where"] == JUDGED:
                paths.append(str(place.folder / f"{record['data']}.bins.png"))
                draw_learned(record, Path(paths[-1]))
        return paths


def _cuts(line: Record) -> Cuts:
    return tuple(tuple(map(int, cut)) for cut in line["cuts"])


class BinsUnits(Units):
    """Bins of one data set, on folds or judged."""

    def __init__(self, study: Method, lists: FixedPairs, place: Place, wanted: Sequence[BinsUnit]) -> None:
        super().__init__(lists.entry.name, place)
        self.study, self.lists, self.wanted = study, lists, wanted

    @property
    def state(self) -> str:
        """The digests of the lists."""
        return " ".join(self.lists.digests)

    def all(self) -> Iterator[BinsUnit]:
        """Yield every unit."""
        yield from self.wanted

    def record(self, unit: BinsUnit) -> Record:
        """Return what identifies a unit, in full."""
        study = self.study
        about = [study.settings.signature, study.bits, study.ridges, study.betas, study.folds]
        return {
            "study": study.name, "data": self.label, "where": unit.where, "bits": unit.bits,
            "signature": " ".join(map(str, about)), "pools": list(self.lists.digests),
            "given": pack_text(repr(unit.given)) if unit.given else "",
        }  # fmt: skip

    @functools.cached_property
    def uniform(self) -> dict[int, Bins]:
        """The uniform bins."""
        return {bits: self.lists.uniform(bits) for bits in self.study.bits}

    @functools.cached_property
    def atoms(self) -> Binned:
        """Lists and pairs with the runs that all uniform bins are made of."""
        return self.lists.binned(joined_bins([*self.uniform.values()], self.lists.counts))

    @functools.cached_property
    def fold(self) -> Int64:
        """The fold of each sentence."""
        return fold_of_sentences(self.atoms.tune.n_sentences, self.study.folds, self.study.seed)

    @functools.cached_property
    def learner(self) -> Learner:
        """The pairs by folds."""
        of_pairs = np.repeat(self.fold, np.diff(self.lists.drawn[0].offsets))
        return Learner(AtomPairs(self.atoms.loss, self.atoms.bins, of_pairs), self.study.folds)

    @functools.lru_cache(maxsize=8)  # noqa: B019 - as long as the units
    def _chosen(self, bits: int) -> FoldFit:
        """Return uniform bins with the constants that folds choose."""
        return self.learner.choose(cuts_of(self.uniform[bits], self.atoms.bins), self.study.grid)

    def run(self, unit: BinsUnit) -> Record:
        """Return a unit with what it found."""
        watch = Stopwatch()
        if unit.where == JUDGED:
            found: Record = {"systems": self._judged(unit)}
        elif unit.where == UNIFORM:
            found = self._folded([self._chosen(unit.bits)])
        else:
            trace = self.learner.learn(self._chosen(unit.bits))
            found = self._folded([*trace, self.learner.choose(trace[-1].cuts, self.study.grid)])
        return {**self.record(unit), **found, "size": self.lists.size, "cpu_seconds": round(watch.seconds()[0], 1)}

    def _folded(self, trace: Sequence[FoldFit]) -> Record:
        """Return what is known of bins by folds; the last of a trace counts."""
        last = min(trace, key=lambda fit: fit.loss)
        return {
            "cuts": [list(cut) for cut in last.cuts], "ridge": last.constants.ridge, "beta": last.constants.beta,
            "loss": last.loss, "score": self._score_of_folds(last), "rounds": max(len(trace) - 2, 0),
            "trace": [[fit.n_bins, fit.loss] for fit in trace],
        }  # fmt: skip

    def _score_of_folds(self, found: FoldFit) -> float:
        """Return the score of all sentences, each selected by weights that have not seen it."""
        problem, merging, total = self.atoms.tune, self.learner.pairs.merging(found.cuts), []
        for fold, weights in enumerate(found.weights):
            total.append(problem.stats[problem.select(merging @ weights)[self.fold == fold]].sum(axis=0))
        return float(problem.metric.score(np.sum(total, axis=0)))

    def _judged(self, unit: BinsUnit) -> dict[str, Any]:
        """Return what bins with weights of all tuning pairs select on the lists that judge, and plain features too."""
        tune, heldout = self.lists.plain
        found = {"plain": self._system(tune, heldout, self.lists.plain_weights)}
        for name, constants, cuts in unit.given:
            bins = bins_at(cuts, self.atoms.bins, self.lists.counts)
            pairs = self.learner.pairs
            weights = pairs.merging(cuts) @ pairs.fit(cuts, np.arange(len(pairs.counts)), constants)
            own = [len(cut) - 1 for cut in cuts]
            about = {"ridge": constants.ridge, "beta": constants.beta, "bins": sum(own), "by_feature": own}
            system = self._system(self.atoms.tune, self.atoms.heldout, weights)
            named = dict(zip(self.atoms.tune.names, weights.tolist(), strict=True))
            first = [atom for cut, feature in zip(cuts, self.atoms.bins.features, strict=True) for atom in
                     (feature.names[a] for a in cut[:-1])]  # fmt: skip
            others = {name: named[name] for name in self.atoms.tune.names[: pairs.n_others]}
            merged = {name: named[atom] for name, atom in zip(bins.names, first, strict=True)}
            found[name] = {
                **system,
                **about,
                "weights": pack_weights({**others, **merged}),
                "made": pack_text(bins_text(bins)),
            }
        return found

    def _system(self, tune: Any, heldout: Any, weights: Float64) -> dict[str, Any]:
        return {
            "tune": score_of(tune, weights), "heldout": score_of(heldout, weights), "bins": 0,
            "statistics": pack_statistics(selected(heldout, weights)),
            "weights": pack_weights(dict(zip(tune.names, weights.tolist(), strict=True))),
        }  # fmt: skip
