"""What is done with one part of a pool, by whichever process: functions of a part and a question."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import InputError
from luthier.core.files.remote import fetch
from luthier.kbest.parts.manifest import Manifest, read_manifest
from luthier.kbest.parts.part_files import check_files, open_part
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.parted.part_answers import PartLine, packed
from luthier.metrics.base import Metric

KEPT_PARTS = 2  # with the copies that line searches make of them


class PartsSource:
    """The parts as problems of their own, of which this process keeps the last two ready; threads may share it."""

    def __init__(self, manifest: Manifest, metric: Metric) -> None:
        self.manifest, self.metric = manifest, metric
        self.whole_numbers = manifest.statistics(metric.signature).whole_numbers
        self._ready: OrderedDict[int, ListProblem] = OrderedDict()
        self._lock = threading.Lock()

    def problem(self, number: int) -> ListProblem:
        """Return the problem of a part that has lists which are not empty."""
        with self._lock:
            if number not in self._ready:
                self._ready[number] = ListProblem.of(open_part(self.manifest, number), self.metric)
            self._ready.move_to_end(number)
            while len(self._ready) > KEPT_PARTS:
                self._ready.popitem(last=False)
            return self._ready[number]

    @property
    def filled(self) -> list[int]:
        """The numbers of the parts that have lists which are not empty."""
        return [number for number, part in enumerate(self.manifest.parts) if part.filled]


@dataclasses.dataclass(frozen=True)
class PartsRecipe:
    """How another process gets the parts: the manifest by path and seal, the metric as it is."""

    path: str
    seal: str
    metric: bytes
    url: str = ""

    @classmethod
    def of(cls, source: PartsSource) -> PartsRecipe:
        """Return the recipe of parts under a metric."""
        manifest = source.manifest
        path = str(Path(manifest.path).absolute())
        return cls(path, manifest.seal, pickle.dumps(source.metric), manifest.url)

    def open(self) -> PartsSource:
        """Return the parts; all files must be there, and each is hashed when it is first worked on."""
        manifest = read_manifest(fetch(self.url) if self.url else self.path, self.url)
        if manifest.seal != self.seal:
            raise InputError(expected=f"the manifest {self.seal}", found=f"another, {manifest.seal}", path=self.path)
        check_files(manifest)
        return PartsSource(manifest, pickle.loads(self.metric))


Vectors = tuple[tuple[float, ...], ...]


@dataclasses.dataclass(frozen=True)
class AskedWeights:
    """A part and weight vectors."""

    part: int
    weights: Vectors


@dataclasses.dataclass(frozen=True)
class AskedLines:
    """A part, where lines begin, and their directions."""

    part: int
    start: tuple[float, ...]
    directions: Vectors


def vectors(weights: Float64) -> Vectors:
    """Return (W, D) weights as plain values."""
    return tuple(map(tuple, weights.tolist()))


def part_selected(source: PartsSource, asked: AskedWeights) -> npt.NDArray[Any]:
    """Return the statistics of what each weight vector selects, (W, n, S), packed."""
    return packed(source.problem(asked.part).selected(np.array(asked.weights)))


def part_sums(source: PartsSource, asked: AskedWeights) -> npt.NDArray[Any]:
    """Return sums where they are exact, (W, 1, S), and what is to be summed where they are not, (W, n, S)."""
    selected = source.problem(asked.part).selected(np.array(asked.weights))
    return selected.sum(axis=1, keepdims=True) if source.whole_numbers else selected


def part_lines(source: PartsSource, asked: AskedLines) -> list[PartLine]:
    """Return what a part selects along each direction."""
    problem = source.problem(asked.part)
    envelopes = problem.lines.envelopes(np.array(asked.start), np.array(asked.directions))
    return [PartLine.of(envelope, problem.offsets, problem.stats) for envelope in envelopes]


@dataclasses.dataclass(frozen=True)
class AskedColumns:
    """A part and numbers of features."""

    part: int
    columns: tuple[int, ...]


def part_moving(source: PartsSource, asked: int) -> npt.NDArray[Any]:
    """Return which features differ within some list of a part, (1, D)."""
    return source.problem(asked).moving[None]


def part_means(source: PartsSource, asked: int) -> npt.NDArray[Any]:
    """Return the mean statistics of each list, (n, S)."""
    return source.problem(asked).mean_statistics()


def part_tied(source: PartsSource, asked: AskedWeights) -> npt.NDArray[Any]:
    """Return the mean statistics of the rows that tie for the best score in each list, (n, S)."""
    return source.problem(asked.part).tied_statistics(np.array(asked.weights[0]))


def part_agreement(source: PartsSource, asked: AskedColumns) -> npt.NDArray[Any]:
    """Return how features go with the gain in each list, (n, Q)."""
    return source.problem(asked.part).agreement(asked.columns)


def part_best(source: PartsSource, asked: int) -> npt.NDArray[Any]:
    """Return the statistics of the hypothesis with the best sentence score of each list, (n, S), packed."""
    return packed(source.problem(asked).best_statistics())
