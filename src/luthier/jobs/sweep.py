"""Trying points, ``luthier.sweep``: induce, tune, re-rank held-out lists, score; or, with a decoder, whole loops.

Every point is a line in ``points.jsonl``, written as it ends, with all that is needed to know it again; started
again, a choice goes on where it was.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError, unwarned
from luthier.core.files.io import make_folder
from luthier.core.files.journal import JournalWriter, Record, read_journal
from luthier.core.files.written import secondary
from luthier.core.html import Shown
from luthier.core.params import checked, path_of
from luthier.core.progress import progress
from luthier.core.tasks import Engine, Processes, Serial, Shared, run_units
from luthier.features.bins import Bins
from luthier.features.bins_file import write_bins
from luthier.features.fit_bins import BinOptions, bins_of_grammar, bins_of_pool
from luthier.features.induction import induce_pool
from luthier.grammar.storage import open_grammar
from luthier.jobs.opening import AnyPath
from luthier.jobs.sweep_config import Point, Sweep, read_sweep, texts_of
from luthier.jobs.sweep_decoding import DecodedPoints
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import Weights, read_weights, write_weights
from luthier.landscape.list_problem import ListProblem
from luthier.report.figures.tuning import draw_chosen
from luthier.tuning.answer import Result
from luthier.tuning.run import RunOptions, run
from luthier.tuning.sweep import Chosen, Tried

POINTS, PICTURE, WEIGHTS, BINS = "points.jsonl", "choice.png", "weights.txt", "bins.json"
NUMBERS = ("tuned", "heldout", "gain", "cpu_seconds")


@dataclasses.dataclass(frozen=True)
class SweepRecipe:
    """How another process gets the pools of a choice: from its file, with their digests."""

    path: str
    folder: str
    digests: tuple[str, str]

    def open(self) -> AnyPoints:
        """Return the pools; refuse others than those of the calling process."""
        points = open_points(self.path, self.folder)
        if points.digests != self.digests:
            raise LuthierError(f"{self.path}: the pools are not the same here")
        return points


class Points:
    """The pools of a choice, and what is done with them at each point."""

    def __init__(self, choosing: Sweep) -> None:
        self.choosing = choosing
        self.pools = open_pool(choosing.tune), open_pool(choosing.heldout)
        self.digests = self.pools[0].digest(), self.pools[1].digest()
        self._induced: tuple[int, Bins, tuple[Pool, Pool]] | None = None

    def identity(self, point: Point) -> Record:
        """Return what a point is, in full."""
        start = self.choosing.start
        start_text = "" if start is None else repr(sorted(read_weights(start).items()))
        return self.choosing.identity(point, start_text, self.digests)

    def induced(self, point: Point) -> tuple[Bins, tuple[Pool, Pool]]:
        """Return the bins at a point, made of the tuning pool, and both pools with them; the last ones are kept."""
        options = self.choosing.bin_options(point)
        if self._induced is None or self._induced[0] != options.bins:
            with unwarned():  # of features with few values, at every point
                bins = self._bins(options)
            self._induced = options.bins, bins, (induce_pool(self.pools[0], bins), induce_pool(self.pools[1], bins))
        return self._induced[1:]

    def _bins(self, options: BinOptions) -> Bins:
        choosing, features = self.choosing, self.choosing.bins["features"]
        if choosing.grammar is not None:
            return bins_of_grammar(open_grammar(choosing.grammar), features, options)
        by_use = bool(choosing.bins.get("by_use", False))
        return bins_of_pool(self.pools[0], features, options, scope=choosing.scope, by_use=by_use)

    def tuned(self, point: Point) -> tuple[ListProblem, ListProblem, Result]:
        """Return both problems at a point, and the weights tuned there."""
        choosing = self.choosing
        _, pools = self.induced(point)
        if pools[0].features.names != pools[1].features.names:
            raise LuthierError(f"{choosing.path}: the pools to tune on and to choose by have different features")
        problem, heldout = (ListProblem.of(pool, choosing.metric) for pool in pools)
        # a bin has no weight before it is tuned; what stays keeps that of the start
        start = np.zeros(problem.n_features)
        if choosing.start is not None:
            start = read_weights(choosing.start).vector(problem.names, source=str(choosing.start), strict=False)
        found = run(choosing.tuner(point), problem, start, RunOptions(seed=choosing.seed))
        if found.interrupted:
            raise KeyboardInterrupt
        return problem, heldout, found

    def answer(self, point: Point) -> tuple[Weights, Bins]:
        """Return the weights and the bins of a point that was tried."""
        problem, _, found = self.tuned(point)
        return Weights.from_vector(problem.names, found.weights), self.induced(point)[0]

    def after(self, point: Point) -> None:
        """Do nothing once the line of a point is kept: it is all there is."""

    def tried(self, point: Point) -> Record:
        """Return the line of a point."""
        clock = time.process_time()
        problem, heldout, found = self.tuned(point)
        gain = heldout.gain(found.weights)
        tuned, score = (float(problem.metric.gain(np.array(value))) for value in (found.gain, gain))
        return {
            **self.identity(point),
            "features": problem.n_features,
            "tuned": tuned,
            "heldout": score,
            "gain": gain,
            "cpu_seconds": round(time.process_time() - clock, 3),
            "note": found.note,
            "record": dict(found.record),
        }


AnyPoints = Points | DecodedPoints


def open_points(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> AnyPoints:
    """Return the points of a file: on its pools, or by its decoder, whose loops stand in `folder`."""
    choosing = read_sweep(path)
    return Points(choosing) if choosing.decoding is None else DecodedPoints(choosing, Path(folder))


def try_point(points: AnyPoints, point: Point) -> Record:
    """Return the line of a point: the work of a unit."""
    return points.tried(point)


@dataclasses.dataclass(frozen=True, eq=False)
class Swept(Shown):
    """All points that were tried, and the files that were written."""

    chosen: Chosen
    written: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**self.chosen.as_dict(), "written": list(self.written)}


@checked
def sweep(config: AnyPath, output: AnyPath | None = None, *, jobs: int = 1, engine: Engine | None = None) -> Swept:
    """Choose bits, β and other constants on held-out lists, as a settings file says: induce, tune, re-rank, score.

    Parameters
    ----------
    config
        What to choose, a TOML file (docs/choosing.md).
    output
        A folder for points, weights, bins and a picture (default: ``choice``, beside the settings).
    jobs
        Points at a time, in processes of their own; or those of an `engine`.
    """
    if jobs < 1:
        raise LuthierError(f"expected at least one job, found {jobs}")
    folder = path_of(output) if output else str(Path(config).parent / "choice")
    chosen, written = choose(config, folder, engine=engine or (Serial() if jobs == 1 else Processes(jobs)))
    return Swept(chosen, tuple(written))


def choose(
    path: str | os.PathLike[str], folder: str | os.PathLike[str], *, engine: Engine | None = None
) -> tuple[Chosen, list[str]]:
    """Try what is left of a choice; write the picture, the weights and the bins of the best point.

    Returns
    -------
    chosen, paths
        All points, and the files in `folder`.
    """
    target = Path(folder)
    points = open_points(path, target)
    make_folder(target)
    kept, length = _read(target / POINTS)
    with JournalWriter(target / POINTS, length) as writer:
        search = _Search(points, kept, writer, engine)
        search.folder = str(target.absolute())
        tried = search.run()
    choosing = points.choosing
    axes = {name: tuple(texts_of(((name, v),))[name] for v in values) for name, values in choosing.axes.items()}
    lines = tuple(_tried(search.line(point), point) for point in tried)
    chosen = Chosen(choosing.metric.signature, choosing.method, axes, lines)
    best = tried[lines.index(chosen.best)]
    weights, bins = points.answer(best)
    write_weights(weights, str(target / WEIGHTS))
    write_bins(bins, target / BINS)
    names = [POINTS, WEIGHTS, BINS]
    with secondary(target / PICTURE):
        draw_chosen(chosen, target / PICTURE)
        names.append(PICTURE)
    return chosen, [str(target / name) for name in names]


class _Search:
    """The lines there are, who adds to them, and which points are asked for next."""

    def __init__(self, points: AnyPoints, kept: list[Record], writer: JournalWriter, engine: Engine | None) -> None:
        self.points, self.writer, self.engine, self.folder = points, writer, engine, ""
        self.lines = {_key(record): record for record in kept}

    def line(self, point: Point) -> Record:
        return self.lines[_key(self.points.identity(point))]

    def run(self) -> list[Point]:
        """Return all points, tried, in the order of the file."""
        choosing = self.points.choosing
        if choosing.order == "grid":
            return self._try(list(choosing.grid()))
        here, seen = choosing.first(), []
        for _ in range(choosing.passes):
            for axis in choosing.axes:
                along = self._try(choosing.along(axis, here))
                seen += [point for point in along if point not in seen]
                here = max(along, key=lambda point: self.line(point)["gain"])
        return seen

    def _try(self, wanted: list[Point]) -> list[Point]:
        waiting = [point for point in wanted if _key(self.points.identity(point)) not in self.lines]
        recipe = SweepRecipe(str(Path(self.points.choosing.path).absolute()), self.folder, self.points.digests)
        with progress("points", len(waiting)) as advance:

            def keep(number: int, record: Record) -> None:
                self.writer.append(record)
                self.lines[_key(record)] = record
                self.points.after(waiting[number])
                advance(1)

            units = dict(enumerate(waiting))
            run_units(try_point, Shared(self.points, recipe), units, engine=self.engine, keep=keep)
        return wanted


def _key(record: Record) -> str:
    return repr([record[name] for name in ("tuner", "bins", "metric", "seed", "start", "pools")])


def _read(path: Path) -> tuple[list[Record], int]:
    """Return the lines of a file of points, checked, and how many bytes are whole."""
    if not path.exists():
        return [], 0
    records, length = read_journal(path, "a point as it was written")
    for number, record in enumerate(records, start=1):
        try:
            _key(record)
            fits = all(type(record[n]) in (int, float) and math.isfinite(record[n]) for n in NUMBERS)
            values, used = record["values"], record["record"]
            fits = fits and type(record["features"]) is int and isinstance(record["note"], str)
            fits = fits and isinstance(values, dict) and isinstance(used, dict)
            fits = fits and all(isinstance(value, str) for value in values.values())
            if not fits or not all(type(value) in (int, float) for value in used.values()):
                raise ValueError("its numbers and texts")
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(
                expected="a point of a choice", found=f"one without {error}", path=str(path), line=number
            ) from None
    return records, length


def _tried(line: Record, point: Point) -> Tried:
    fields: dict[str, Any] = {field.name: line[field.name] for field in dataclasses.fields(Tried)}
    return Tried(**{**fields, "values": texts_of(point)})  # a line is found by what its values led to
