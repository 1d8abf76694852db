"""Trying points, ``luthier.sweep``: induce, tune, re-rank held-out lists, score; or, with a decoder, whole loops.

Every point is a line in ``points.jsonl``, written as it ends, with all that is needed to know it again; started
again, a choice goes on where it was.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError, unwarned
from luthier.core.files.io import content_hash, make_folder
from luthier.core.files.journal import JournalWriter, Record, read_journal
from luthier.core.files.written import secondary
from luthier.core.html import Shown
from luthier.core.params import path_of
from luthier.core.progress import progress
from luthier.core.tasks import Engine, Processes, Serial, Shared, run_units
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.features.bins import Bins
from luthier.features.bins_file import write_bins
from luthier.features.fit_bins import bins_of_grammar, bins_of_pool
from luthier.features.induction import induce_pool
from luthier.grammar.grammar import Grammar
from luthier.jobs.loop import OwnDecoder
from luthier.jobs.loop_config import Sentences
from luthier.jobs.opening import AnyPath
from luthier.jobs.score import read_parallel
from luthier.jobs.sweep_config import Decoding, Point, Sweep, read_sweep, texts_of
from luthier.jobs.trained_model import TranslationModel, model_identity
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import Weights, read_weights, write_weights
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.batch import Batch
from luthier.report.figures.tuning import draw_chosen
from luthier.tuning.answer import Result
from luthier.tuning.loops.folder import LISTS
from luthier.tuning.loops.loop import LoopPlace, tune_loop
from luthier.tuning.run import RunOptions, run
from luthier.tuning.sweep import Chosen, Tried

LOOPS = "loops"


class DecodedPoints:
    """A trained system, and the loops of points in ``loops`` of the choice's folder."""

    def __init__(self, choosing: Sweep, folder: Path) -> None:
        assert choosing.decoding is not None
        self.choosing, self.folder, self._decoding = choosing, folder, choosing.decoding
        parts = [self._decoding.tune, self._decoding.heldout]
        texts = [path for part in parts for path in (part.source, *part.refs)]
        self.digests = model_identity(str(self._decoding.model), texts), self._own_settings()

    def _own_settings(self) -> str:
        decoding: Decoding = self._decoding
        said = json.dumps([decoding.k, decoding.features, repr(decoding.options)])
        return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()

    @functools.cached_property
    def model(self) -> TranslationModel:
        """The system, with its own weights."""
        return TranslationModel.open(self._decoding.model)

    @functools.cached_property
    def start(self) -> Weights:
        """The weights of the first turn; a bin has none before it is tuned."""
        return self.model.weights if self.choosing.start is None else read_weights(self.choosing.start)

    def identity(self, point: Point) -> Record:
        """Return what a point is, in full."""
        start = self.choosing.start
        named = "the system's" if start is None else content_hash(start)
        return self.choosing.identity(point, named, self.digests)

    def sentences(self, part: Sentences) -> tuple[Texts, tuple[Texts, ...], Grammar]:
        """Return sentences, references, and the rules for them with the features that are used."""
        sentences = read_lines(part.source)
        grammar = self.model.grammar(sentences)
        if self._decoding.features is not None:
            grammar = grammar.select_features(self._decoding.features)
        return sentences, tuple(read_parallel(part.refs, sentences, part.source)), grammar

    @functools.cached_property
    def _parts(self) -> tuple[tuple[Texts, tuple[Texts, ...], Grammar], ...]:
        return self.sentences(self._decoding.tune), self.sentences(self._decoding.heldout)

    def bins(self, point: Point) -> Bins:
        """Return the bins of a point, of the rules for the tuning sentences."""
        with unwarned():  # of features with few values, at every point
            return bins_of_grammar(self._parts[0][2], self.choosing.bins["features"], self.choosing.bin_options(point))

    def place(self, point: Point) -> Path:
        """Return the folder of a point's loop."""
        said = json.dumps(self.identity(point), sort_keys=True).encode()
        return self.folder / LOOPS / hashlib.blake2b(said, digest_size=8).hexdigest()

    def answer(self, point: Point) -> tuple[Weights, Bins]:
        """Return the weights and the bins of a point that was tried."""
        return read_weights(self.place(point) / "weights.json"), self.bins(point)

    def tried(self, point: Point) -> Record:
        """Run the loop of a point, or resume it, translate the held-out sentences, and return its line."""
        clock = time.process_time()
        choosing, decoding, bins = self.choosing, self._decoding, self.bins(point)
        (sentences, references, grammar), (others, answers, rules) = self._parts
        search = self.model.settings.search
        decode = OwnDecoder(Decoder(grammar, self.model.lms, search, bins=bins), sentences, references, decoding.k)
        result = tune_loop(
            decode,
            self.start,
            choosing.tuner(point),
            choosing.metric,
            decoding.options,
            place=LoopPlace(str(self.place(point)), resume=True, decoder=" ".join(self.digests)),
        )
        heldout = Decoder(rules, self.model.lms, search, bins=bins).decode(others, result.weights, derivations=False)
        stats = choosing.metric.stats(Batch.from_lines(heldout.texts, answers))
        score = choosing.metric.score(stats.sum(axis=0))
        return {
            **self.identity(point),
            "features": len(decode.decoder.feature_names),
            "tuned": result.iterations[-1].after,
            "heldout": float(score),
            "gain": float(choosing.metric.gain(score)),
            "cpu_seconds": round(time.process_time() - clock, 3),
            "note": result.ended,
            "record": {},
        }

    def after(self, point: Point) -> None:
        """Remove the lists of a loop once its line is kept: they are large."""
        shutil.rmtree(self.place(point) / LISTS, ignore_errors=True)


POINTS, PICTURE, WEIGHTS, BINS = "points.jsonl", "choice.png", "weights.txt", "bins.json"
NUMBERS = ("tuned", "heldout", "gain", "cpu_seconds")


@dataclasses.dataclass(frozen=True)
class SweepRecipe:
    """How another process gets the pools of a choice: from its file, with their digests."""

    path: str
    folder: str
    digests: tuple[str, str]

    def open(self) -> AnyPoints:
        """Return the pools; refuse others than those of the process that asks."""
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
                bins = bins_of_pool(
                    self.pools[0],
                    self.choosing.bins["features"],
                    options,
                    scope=self.choosing.scope,
                    by_use=bool(self.choosing.bins.get("by_use", False)),
                )
            self._induced = options.bins, bins, (induce_pool(self.pools[0], bins), induce_pool(self.pools[1], bins))
        return self._induced[1:]

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
