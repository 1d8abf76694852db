"""Capacity: what a tuner reaches with some features, sentences and directions, whether any weights select the oracle,
and how many selections there are at all.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from luthier import __version__
from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.files.journal import Record
from luthier.core.jit import Stopwatch
from luthier.core.rng import make_rng
from luthier.core.segments import segment_of_rows
from luthier.geometry.lp.certificates import Feasible
from luthier.geometry.minkowski.reverse_search import ReverseSearch
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.subspace import Subspace
from luthier.kbest.merge import cap
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import movable
from luthier.landscape.selections.sparse_feasibility import lists_followed, sparse_feasibility
from luthier.landscape.subspaces import Directions, leading_differences, project, random_sums, sums_of_groups
from luthier.metrics.oracle import corpus_oracle, sentence_oracle
from luthier.tuning.answer import Result
from luthier.tuning.base import tuner as make_tuner
from luthier.tuning.run import RunOptions, run

from ..base import Place, Size, Units, write_tables
from ..capacity.lists import CapacityLists, Extremes, make_lists
from ..capacity.settings import (
    ALL,
    CONES,
    EXTREMES,
    LEADING,
    ORACLE,
    SELECTIONS,
    SUMS,
    CapacityEntry,
    CapacityStudy,
    CapacityUnit,
)
from ..capacity.tables import draw_capacity, draw_phases, table_parts
from ..lines import LineKind, pack_statistics, require, require_counts, require_numbers, require_texts

KEPT_VIEWS = 2  # sets of features that are kept ready


def _check_line(record: Record) -> None:
    require_texts(record, "study", "data", "features", "space", "tuner", "method", "metric", "made_of")
    require_numbers(record, "cpu_seconds")
    require_counts(record, "sentences", "replica", "seed", "columns")
    if record["tuner"] == CONES:
        require_counts(record, "cones", least=1)
        require(type(record["complete"]) is bool, "complete")
        return
    require_numbers(record, "tuned")
    rows = record["selected"]
    require(isinstance(rows, list) and bool(rows) and all(type(row) is int and row >= 0 for row in rows), "selected")
    if record["tuner"] in SELECTIONS:
        require(type(record["feasible"]) is bool, "feasible")
        require(type(record["followed"]) is int and 0 <= record["followed"] <= len(rows), "followed")
    else:
        require_numbers(record, "before", "test_before", "test")


LINES = LineKind(
    ("data", "features", "space", "sentences", "tuner", "replica"),
    ("method", "watched", "metric", "pools", "made_of", "seed"),
    _check_line,
)


@dataclasses.dataclass(frozen=True)
class Method(CapacityStudy):
    """A study of capacity."""

    line = LINES

    def units(self, entry: CapacityEntry, place: Place) -> CapacityUnits | None:
        """Return the units of a data set; None where its files are not here."""
        lists = make_lists(self, entry, place)
        return None if lists is None else CapacityUnits(self, entry, lists, place)

    def size_of(self, record: Record) -> Size:
        """Return how large the unit of a line is."""
        size = super().size_of(record)
        return size._replace(
            tune=record["sentences"], k=int(record["features"]) if record["tuner"] == CONES else size.k
        )

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write tables, and a figure for each data set, of the units that the study still names; return their paths."""
        parts, pictures = [self.size_table(records)], []
        for entry in self.data:
            lines = {self.line.key_of(record): record for record in records if record["data"] == entry.name}
            if not lines:
                continue
            parts.append(f"## {entry.name}\n")
            drawn: dict[CapacityUnit, Record] = {}
            for grid in (grid for grid in self.grids if entry.name in grid.data):
                found = {unit: lines[entry.name, *unit] for unit in grid.units() if (entry.name, *unit) in lines}
                drawn |= found
                parts += table_parts(grid.title, list(found.values()))
            title, shown = f"{self.name}: {entry.name}", list(drawn.values())
            compared = [record for record in shown if record["tuner"] not in (CONES, EXTREMES)]
            for draw, lines_shown, end in ((draw_capacity, compared, "png"), (draw_phases, shown, "phases.png")):
                if draw(lines_shown, title, place.folder / f"{entry.name}.{end}"):
                    pictures.append(str(place.folder / f"{entry.name}.{end}"))
        return [*pictures, write_tables(place, self.name, parts)] if records else []


class CapacityUnits(Units):
    """The units of one data set."""

    def __init__(self, study: CapacityStudy, entry: CapacityEntry, lists: CapacityLists, place: Place) -> None:
        super().__init__(entry.name, place)
        self.study, self.entry, self.lists = study, entry, lists
        self._view = functools.lru_cache(KEPT_VIEWS)(self._make_view)
        self._extremes = functools.lru_cache(KEPT_VIEWS)(lambda features: Extremes(self._view(features).tune))
        self._oracle = functools.lru_cache(KEPT_VIEWS)(self._find_oracle)

    @property
    def state(self) -> str:
        """The digests of tuning and test lists."""
        return " ".join(self.lists.digests)

    def all(self) -> Iterator[CapacityUnit]:
        """Yield every unit once; those with the same features follow each other."""
        only, study = self.place.only, self.study
        units = dict.fromkeys(unit for grid in study.grids if self.label in grid.data for unit in grid.units())
        order = {name: number for number, name in enumerate(study.features)}
        wanted = [u for u in units if only not in {*study.tuners, *SELECTIONS, CONES} or u.tuner == only]
        yield from sorted(wanted, key=lambda unit: order.get(unit.features, -1))

    def record(self, unit: CapacityUnit) -> Record:
        """Return what identifies a unit, in full."""
        study, entry = self.study, self.entry
        counts = unit.tuner == CONES
        tuner = study.tuners.get(unit.tuner)
        space = study.projections.get(unit.space)
        begin = study.projections.get(tuner.begin) if tuner else None
        made_of = [
            [] if counts else [*self._made_of(unit.features), list(entry.cut), entry.pairs],
            *(None if part is None else dataclasses.astuple(part) for part in (space, begin)),
            entry.heldout,
            study.most_cones if counts else 0,
        ]
        return {
            "study": study.name,
            "data": self.label,
            **unit._asdict(),
            "method": "" if tuner is None else tuner.tuner.spec,
            "watched": bool(tuner and tuner.heldout),
            "metric": study.metric.signature,
            "pools": list(self.lists.digests),
            "made_of": repr(made_of if study.oracle == "corpus" else [*made_of, study.oracle]),
            "seed": study.seed + unit.replica,
        }

    def _made_of(self, features: str) -> list[Any]:
        chosen = self.study.features[features]
        return [chosen.bits, "rules"] if chosen.rules else [chosen.bits]

    def run(self, unit: CapacityUnit) -> Record:
        """Return a unit with its results."""
        watch = Stopwatch()
        if unit.tuner == CONES:
            results = self._count(unit)
        else:
            problem = self._problem(unit)
            results = self._reach(unit, problem) if unit.tuner in SELECTIONS else self._tune(unit, problem)
        return {
            **self.record(unit),
            **results,
            "size": [self.entry.k, unit.sentences, self.lists.test.n_sentences],
            "cpu_seconds": round(watch.seconds()[0], 3),
            "luthier": __version__,
        }

    def _make_view(self, features: str) -> CapacityLists:
        return self.lists.with_set(self.study.features[features], self.entry.cut, pairs=self.entry.pairs)

    def _find_oracle(self, features: str) -> tuple[Float64, Int64]:
        """Return the gains of all rows to tune on, (M,), and of each list the best extreme row, (N,)."""
        gains = ListProblem.of(self._view(features).tune, self.study.metric).sentence_gains
        return gains, self._extremes(features).best(gains)

    def _drawn(self, unit: CapacityUnit) -> Int64:
        """Return the sentences of a unit: the first of a random order, which depends on the replica alone."""
        n = self.lists.n_sentences
        if unit.sentences > n:
            raise LuthierError(f"expected at most {n} sentences of {self.label!r}, found {unit.sentences}")
        return np.sort(make_rng(self.study.seed + unit.replica).permutation(n)[: unit.sentences])

    def _problem(self, unit: CapacityUnit) -> ListProblem:
        drawn, pool = self._drawn(unit), self._view(unit.features).tune
        if self.study.oracle == "corpus" or unit.tuner == EXTREMES:
            return ListProblem.of(pool.take_sentences(drawn), self.study.metric)
        gains, best = self._oracle(unit.features)  # rows that are better than the best extreme one are left out
        owner = segment_of_rows(pool.offsets)
        behind = (gains == gains[best][owner]) & (np.arange(len(owner)) >= best[owner])
        kept = pool.take(np.flatnonzero((gains < gains[best][owner]) | behind))
        return ListProblem.of(kept.take_sentences(drawn), self.study.metric)

    def _reach(self, unit: CapacityUnit, problem: ListProblem) -> Record:
        """Return whether some weights make a selection, with proof, and how many sentences weights can follow.

        The proof has the weights, or the constraints that contradict each other: list, row and multiplier of each.
        """
        more: Record = {}
        if unit.tuner == ORACLE:
            find = corpus_oracle if self.study.oracle == "corpus" else sentence_oracle
            rows = find(problem.metric, problem.stats, problem.offsets).rows
            more = {} if self.study.oracle == "corpus" else self._out_of_reach(unit)
        else:
            drawn, pool = self._drawn(unit), self._view(unit.features).tune
            rng = make_rng(self.study.seed + unit.replica).spawn(1)[0]
            rows = self._extremes(unit.features).draw(drawn, rng) - pool.offsets[drawn] + problem.offsets[:-1]
        found = sparse_feasibility(problem.pool, rows)
        if isinstance(found, Feasible):
            proof: Record = {"answer": pack_statistics(found.weights[None])}
        else:
            against = np.column_stack([found.lists, found.rows, found.multipliers])
            proof = {"contradiction": pack_statistics(against), "epsilon": found.epsilon}
        feasible, n = isinstance(found, Feasible), problem.pool.n_sentences
        score = problem.metric.score(problem.stats[rows].sum(axis=0))
        return {
            "columns": len(movable(problem)),
            "feasible": feasible,
            "followed": n if feasible else int(lists_followed(problem.pool, rows).sum()),
            "tuned": float(problem.metric.gain(score)),
            "selected": (rows - problem.offsets[:-1]).tolist(),
            **proof,
            **more,
        }

    def _out_of_reach(self, unit: CapacityUnit) -> Record:
        """Return in how many lists the best row is not extreme: the lowest of those that are best, and all of these."""
        gains, best = self._oracle(unit.features)
        offsets, drawn = self._view(unit.features).tune.offsets, self._drawn(unit)
        lowest = np.array([a + int(np.argmax(gains[a:b])) for a, b in itertools.pairwise(offsets.tolist())])
        return {
            "lowest_not_extreme": int(np.count_nonzero((lowest != best)[drawn])),
            "none_extreme": int(np.count_nonzero((gains[lowest] > gains[best])[drawn])),
        }

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
            "columns": len(movable(problem)),
            "before": problem.gain(view.start),
            "tuned": problem.gain(weights),
            "test_before": test.gain(view.start),
            "test": test.gain(weights),
            "selected": (problem.select(weights) - problem.offsets[:-1]).tolist(),
            "unseen": (test.select(weights) - test.offsets[:-1]).tolist(),
            "answer": pack_statistics(weights[None]),
            "direction": pack_statistics((weights * problem.spread)[None]),
        }

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
            Summands.of(problem.offsets, project(pool, subspace)),
            first,
            limits=-first[None],
            order="breadth",
            score=None,
            threads=1,
        )
        edges, found, tested = np.diff(search.summands.edge_first), 0, 0
        for block in search.run(self.study.most_cones):
            found, tested = found + len(block), tested + int(edges[block.selections].sum())
        counts = {"cones": found, "degree": search.summands.most_edges, "programs": tested}
        return {"columns": n_axes + 1, **counts, "complete": bool(search.complete)}


def _require_whole(found: Result) -> None:
    if found.interrupted:
        raise KeyboardInterrupt
