"""Penalty path: weights of bins for every β on a fixed set of pairs, and what they select on unseen lists.

A unit is a number of bits and a ridge. Its line has the points of LNR from β = 0 to β = ∞, between which the least
objective is known within a gap, and local optima of MNR at the same β.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.files.journal import Record
from luthier.core.jit import Stopwatch
from luthier.core.settings import Table

from ..base import Place, Study, Units, write_tables
from ..lines import (
    LineKind,
    is_number,
    pack_statistics,
    pack_text,
    require,
    require_counts,
    require_numbers,
    require_texts,
)
from ..pairs.fixed import Binned, FixedPairs, PairEntry, PairSettings, score_of, selected, take_bits, take_numbers
from ..pairs.path_tables import SHOWN, best_of, draw_paths, path_tables
from ..pairs.penalty_path import trace_lnr, trace_mnr

NUMBERS = ("value", "penalty", "tune", "heldout")


def _check_line(record: Record) -> None:
    require_texts(record, "study", "data", "signature", "weights", "names")
    require_numbers(record, "ridge", "gap", "cpu_seconds", "lnr_seconds", "plain_tune", "plain_heldout")
    require_counts(record, "bits", "features", "pairs", least=1)
    require(isinstance(record["statistics"], dict) and tuple(record["statistics"]) == SHOWN, "statistics")
    require_texts(record["statistics"], *SHOWN)
    for kind in ("lnr", "mnr"):
        points = record[kind]
        require(isinstance(points, list) and bool(points), kind)
        require(all(point["beta"] is None or is_number(point["beta"]) for point in points), kind)
        require(all(is_number(point[name]) for point in points for name in NUMBERS), kind)


class PathUnit(NamedTuple):
    """Bits of bins, and the weight of the squared length of the weights."""

    bits: int
    ridge: float


@dataclasses.dataclass(frozen=True)
class Method(Study):
    """A study of paths in β; `gap` is a share of the objective."""

    line = LineKind(key=("data", "bits", "ridge"), identity=("signature", "pools"), check=_check_line)

    data: tuple[PairEntry, ...]
    settings: PairSettings
    bits: tuple[int, ...]
    ridges: tuple[float, ...]
    gap: float

    @classmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes."""
        settings = PairSettings.read(file, path)
        bits, ridges = take_bits(file, "bits", path), take_numbers(file, "ridges", path)
        gap = file.take("gap", float)
        file.end()
        if not 0.0 < gap < 1.0:
            raise LuthierError(f"{path}: expected a gap between 0 and 1, found {gap}")
        return cls(settings.name, settings.seed, settings.data, settings, bits, ridges, gap)

    def units(self, entry: PairEntry, place: Place) -> PathUnits | None:
        """Return the paths of a data set; None where its files are not here."""
        lists = FixedPairs.here(self.settings, entry, place.data)
        return None if lists is None else PathUnits(self, lists, place)

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write the tables, and a figure for each data set."""
        paths = [
            write_tables(place, self.name, [self.size_table(records), *path_tables(self.settings.metric, records)])
        ]
        for data in dict.fromkeys(record["data"] for record in records):
            paths.append(str(place.folder / f"{data}.path.png"))
            draw_paths([record for record in records if record["data"] == data], Path(paths[-1]))
        return paths


class PathUnits(Units):
    """The paths of one data set."""

    def __init__(self, study: Method, lists: FixedPairs, place: Place) -> None:
        super().__init__(lists.entry.name, place)
        self.study, self.lists = study, lists
        self._binned: tuple[int, Binned] | None = None

    @property
    def state(self) -> str:
        """The digests of the lists."""
        return " ".join(self.lists.digests)

    def all(self) -> Iterator[PathUnit]:
        """Yield every path."""
        yield from (PathUnit(bits, ridge) for bits in self.study.bits for ridge in self.study.ridges)

    def record(self, unit: PathUnit) -> Record:
        """Return what identifies a path, in full."""
        return {
            "study": self.study.name, "data": self.label, "bits": unit.bits, "ridge": unit.ridge,
            "signature": f"{self.study.settings.signature} gap {self.study.gap!r}", "pools": list(self.lists.digests),
        }  # fmt: skip

    def _at(self, bits: int) -> Binned:
        """Return lists and pairs with bins; the last ones are kept."""
        if self._binned is None or self._binned[0] != bits:
            self._binned = bits, self.lists.binned(self.lists.uniform(bits))
        return self._binned[1]

    def run(self, unit: PathUnit) -> Record:
        """Return a path with what its points select."""
        binned, watch = self._at(unit.bits), Stopwatch()
        penalty = binned.neighbours("lnr", 1.0)
        path = trace_lnr(binned.loss, unit.ridge, penalty, gap=self.study.gap)
        lnr_seconds = watch.seconds()[0]
        fits = trace_mnr(path, binned.loss, unit.ridge, penalty)
        seconds = watch.seconds()[0]
        lnr, mnr = [], []
        for point in path.points:
            beta = None if math.isinf(point.beta) else point.beta
            about: Record = {
                "beta": beta,
                "value": point.value,
                "low": point.low,
                "penalty": (beta or 0.0) * point.bent,
            }
            lnr.append({**about, "bent": point.bent, "steps": point.steps, **_scores(binned, point.weights)})
        for point, fit in zip(path.points, fits, strict=False):
            term = binned.neighbours("mnr", point.beta)
            about = {"beta": point.beta, "value": fit.value, "penalty": term.value_and_gradient(fit.weights)[0]}
            mnr.append({**about, "steps": fit.iterations, "converged": fit.converged, **_scores(binned, fit.weights)})
        weights = np.array([*(point.weights for point in path.points), *(fit.weights for fit in fits)])
        plain = [score_of(problem, self.lists.plain_weights) for problem in self.lists.plain]
        shown = (0, len(lnr) - 1, best_of(lnr), len(lnr) + best_of(mnr))
        stats = [selected(binned.heldout, weights[k]) for k in shown]
        stats.append(selected(self.lists.plain[1], self.lists.plain_weights))
        return {
            **self.record(unit),
            "features": len(binned.tune.names), "pairs": binned.loss.n_pairs, "gap": path.gap,
            "plain_tune": plain[0], "plain_heldout": plain[1], "lnr": lnr, "mnr": mnr,
            "statistics": dict(zip(SHOWN, map(pack_statistics, stats), strict=True)),
            "names": pack_text("\n".join(binned.tune.names)), "weights": pack_statistics(weights),
            "size": self.lists.size, "lnr_seconds": round(lnr_seconds, 1), "cpu_seconds": round(seconds, 1),
        }  # fmt: skip


def _scores(binned: Binned, weights: np.ndarray) -> dict[str, float]:
    return {"tune": score_of(binned.tune, weights), "heldout": score_of(binned.heldout, weights)}
