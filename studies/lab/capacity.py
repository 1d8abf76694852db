"""The units of a study of capacity: a tuner with some features, sentences and directions; whether the oracle is within
reach of any weights; how many selections there are at all.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from luthier import __version__
from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.files.journal import Record
from luthier.core.jit import Stopwatch
from luthier.core.progress import notice
from luthier.core.rng import make_rng
from luthier.core.settings import read_toml
from luthier.core.tasks import Given
from luthier.geometry.minkowski.reverse_search import ReverseSearch
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.subspace import Subspace
from luthier.kbest.reshape import cap
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.sparse_feasibility import lists_followed, weights_that_select
from luthier.landscape.subspaces import Directions, leading_differences, project, random_sums, sums_of_groups
from luthier.landscape.units import movable
from luthier.metrics.oracle import corpus_oracle
from luthier.tuning.base import tuner as make_tuner
from luthier.tuning.run import RunOptions, run
from luthier.tuning.traces import Result

from .capacity_lists import CapacityLists, load_lists
from .capacity_settings import (
    ALL,
    CONES,
    LEADING,
    ORACLE,
    SUMS,
    CapacityEntry,
    CapacityStudy,
    CapacityUnit,
    read_capacity_study,
)
from .units import Place

KEPT_VIEWS = 2  # sets of features that are kept ready


def unit_sets(study: CapacityStudy, place: Place) -> Iterator[CapacityUnits]:
    """Yield the units of each data set that is here."""
    names = {entry.name for entry in study.data}
    for entry in study.data:
        if place.only in names - {entry.name}:
            continue
        lists = load_lists(study, entry, place)
        if lists is None:
            notice(f"{entry.name}: left out, for its files are not here. hint: `data` DIR")
            continue
        yield CapacityUnits(study, entry, lists, place)


@dataclasses.dataclass(frozen=True)
class CapacityRecipe:
    """How another process gets the units of a data set: from the study's file, with the digests of its lists."""

    place: Place
    name: str
    digests: tuple[str, str]

    def open(self) -> CapacityUnits:
        """Return the units; refuse lists that are not those of the process that asks."""
        path = Path(self.place.path)
        study = read_capacity_study(read_toml(path, "a study"), str(path))
        for entry in (entry for entry in study.data if entry.name == self.name):
            lists = load_lists(study, entry, self.place)
            if lists is not None and lists.digests == self.digests:
                return CapacityUnits(study, entry, lists, self.place)
        raise LuthierError(f"{path}: the data {self.name!r} are not the same here")


class CapacityUnits:
    """The units of one data set."""

    def __init__(self, study: CapacityStudy, entry: CapacityEntry, lists: CapacityLists, place: Place) -> None:
        self.study, self.entry, self.lists, self.place = study, entry, lists, place
        self._view = functools.lru_cache(KEPT_VIEWS)(self._make_view)

    @property
    def label(self) -> str:
        """What they are, for people."""
        return self.entry.name

    def given(self) -> Given:
        """Return these units, and how another process gets them."""
        return Given(self, CapacityRecipe(self.place.absolute(), self.label, self.lists.digests))

    def after(self, record: Record) -> None:
        """Do nothing: a line is all there is."""

    def all(self) -> Iterator[CapacityUnit]:
        """Yield every unit once; those with the same features follow each other."""
        only, study = self.place.only, self.study
        units = dict.fromkeys(unit for grid in study.grids if self.label in grid.data for unit in grid.units())
        order = {name: number for number, name in enumerate(study.features)}
        wanted = [u for u in units if only not in {*study.tuners, ORACLE, CONES} or u.tuner == only]
        yield from sorted(wanted, key=lambda unit: order.get(unit.features, -1))

    def record(self, unit: CapacityUnit) -> Record:
        """Return what identifies a unit, in full."""
        study, entry = self.study, self.entry
        counts = unit.tuner == CONES
        tuner = study.tuners.get(unit.tuner)
        space = study.projections.get(unit.space)
        begin = study.projections.get(tuner.begin) if tuner else None
        made_of = [
            [] if counts else [study.features[unit.features], list(entry.cut), entry.pairs],
            *(None if part is None else dataclasses.astuple(part) for part in (space, begin)),
            entry.heldout, study.most_cones if counts else 0,
        ]  # fmt: skip
        return {
            "study": study.name, "data": self.label, **unit._asdict(),
            "method": "" if tuner is None else tuner.tuner.spec, "watched": bool(tuner and tuner.heldout),
            "metric": study.metric.signature, "pools": list(self.lists.digests), "made_of": repr(made_of),
            "seed": study.seed + unit.replica,
        }  # fmt: skip

    def run(self, unit: CapacityUnit) -> Record:
        """Return a unit with its results."""
        watch = Stopwatch()
        if unit.tuner == CONES:
            results = self._count(unit)
        else:
            problem = self._problem(unit)
            results = self._reach(problem) if unit.tuner == ORACLE else self._tune(unit, problem)
        return {
            **self.record(unit), **results, "cpu_seconds": round(watch.seconds()[0], 3), "luthier": __version__,
        }  # fmt: skip

    def _make_view(self, features: str) -> CapacityLists:
        return self.lists.with_bins(self.entry.cut, self.study.features[features], pairs=self.entry.pairs)

    def _drawn(self, unit: CapacityUnit) -> Int64:
        """Return the sentences of a unit: the first of a random order, which depends on the replica alone."""
        n = self.lists.n_sentences
        if unit.sentences > n:
            raise LuthierError(f"expected at most {n} sentences of {self.label!r}, found {unit.sentences}")
        return np.sort(make_rng(self.study.seed + unit.replica).permutation(n)[: unit.sentences])

    def _problem(self, unit: CapacityUnit) -> ListProblem:
        return ListProblem.of(self._view(unit.features).tune.take_sentences(self._drawn(unit)), self.study.metric)

    def _reach(self, problem: ListProblem) -> Record:
        """Return whether some weights select the oracle, and on how many sentences weights were found that do."""
        oracle = corpus_oracle(problem.metric, problem.stats, problem.offsets)
        n = problem.pool.n_sentences
        feasible = weights_that_select(problem.pool, oracle.rows) is not None
        followed = n if feasible else int(lists_followed(problem.pool, oracle.rows).sum())
        return {
            "columns": len(movable(problem)), "feasible": feasible, "followed": followed,
            "tuned": float(problem.metric.gain(np.array(oracle.score))),
            "selected": (oracle.rows - problem.offsets[:-1]).tolist(),
        }  # fmt: skip

    def _tune(self, unit: CapacityUnit, problem: ListProblem) -> Record:
        """Return what a tuner reaches, on its own sentences and on others."""
        view, setting = self._view(unit.features), self.study.tuners[unit.tuner]
        metric, seed = self.study.metric, self.study.seed + unit.replica
        test = ListProblem.of(view.test, metric)
        heldout = ListProblem.of(view.heldout, metric) if setting.heldout and view.heldout is not None else None
        if setting.heldout and heldout is None:
            raise LuthierError(f"{self.label!r} has no sentences held out for {unit.tuner!r}. hint: heldout = N")
        begin = view.start
        if setting.begin:
            few = self._directions(setting.begin, unit, problem, begin)
            begin = few.weights(
                run(make_tuner("mert"), few.seen_from(problem), few.start, RunOptions(seed=seed)).weights
            )
        options = RunOptions(seed=seed, heldout_choice="states" if setting.heldout else "ends")
        if unit.space == ALL:
            found = run(setting.tuner, problem, begin, options, heldout=heldout)
            weights = found.weights
        else:
            few = self._directions(unit.space, unit, problem, begin)
            seen = None if heldout is None else few.seen_from(heldout)
            found = run(setting.tuner, few.seen_from(problem), few.start, options, heldout=seen)
            weights = few.weights(found.weights)
        _require_whole(found)
        return {
            "columns": len(movable(problem)), "before": problem.gain(view.start), "tuned": problem.gain(weights),
            "test_before": test.gain(view.start), "test": test.gain(weights),
            "selected": (problem.select(weights) - problem.offsets[:-1]).tolist(),
        }  # fmt: skip

    def _directions(self, name: str, unit: CapacityUnit, problem: ListProblem, start: Float64) -> Directions:
        projection = self.study.projections[name]
        if projection.kind == SUMS:
            return sums_of_groups(problem, start, self._view(unit.features).groups)
        if projection.kind == LEADING:
            return leading_differences(problem, start, projection.axes)
        return random_sums(problem, start, projection.axes, make_rng(self.study.seed + unit.replica))

    def _count(self, unit: CapacityUnit) -> Record:
        """Count the selections that weights can make along the features that matter most at the start."""
        pool = cap(self.lists.tune.take_sentences(self._drawn(unit)), int(unit.features))
        problem, start, n_axes = ListProblem.of(pool, self.study.metric), self.lists.start, int(unit.space)
        if n_axes > len(movable(problem)):
            raise LuthierError(f"expected at most {len(movable(problem))} axes for {self.label!r}, found {n_axes}")
        chosen = np.argsort(-np.abs(start) * problem.spread, kind="stable")[:n_axes]
        subspace = Subspace(start, np.eye(len(start))[chosen], tuple(problem.names[d] for d in chosen))
        first = np.eye(n_axes + 1)[0]
        search = ReverseSearch(
            Summands.of(problem.offsets, project(pool, subspace)), first, limits=-first[None], order="breadth",
            score=None, threads=1,
        )  # fmt: skip
        found = sum(len(block) for block in search.run(self.study.most_cones))
        return {"columns": n_axes + 1, "cones": found, "complete": bool(search.complete)}


def _require_whole(found: Result) -> None:
    if found.interrupted:
        raise KeyboardInterrupt
