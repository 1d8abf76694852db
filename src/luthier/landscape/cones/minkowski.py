"""Reverse search over a pool in a subspace of weights: cones streamed to a file, stopped and resumed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.core.files.arrow import Column, RecordWriter, file_rows, read_column, whole_rows, write_as_file
from luthier.core.files.io import STDIN, check_writable, locked
from luthier.core.files.written import secondary
from luthier.core.jit import Stopwatch
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Shared, held
from luthier.core.threads import stopping_gently
from luthier.geometry.minkowski.checks import Certainty, Checksum, Coverage, count_by_parts, partial_sums, share_covered
from luthier.geometry.minkowski.frontier import Ahead, SearchSetting
from luthier.geometry.minkowski.grid import coarse_lists, wide_spreads
from luthier.geometry.minkowski.reverse_search import Found, ReverseSearch
from luthier.geometry.minkowski.search_steps import Steps
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.subspace import Subspace
from luthier.kbest.pool import Pool
from luthier.landscape.cones.search_state import (
    Tally,
    checked_tally,
    is_unfinished,
    read_state,
    refusing_states,
    write_state,
)
from luthier.landscape.subspaces import project
from luthier.metrics.base import Metric
from luthier.metrics.pools import pool_statistics, score_selections

CHECKPOINT_SECONDS = 20.0
ROWS_AT_ONCE = 1 << 12  # vertices gathered before they are written


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """What is searched, and how.

    Attributes
    ----------
    output : str
        Where the cones go; the state of the search stands beside it.
    order : {"breadth", "depth", "best"}
    limit : int, optional
        Stop when so many vertices are found in all.
    whole : bool
        Search the whole fan, also cones that no weights of the subspace reach.
    resume : bool
        Go on from the state of an earlier search.
    checksum : bool
        Compare a complete search of the whole fan with what partial sums say.
    """

    output: str
    order: str = "breadth"
    limit: int | None = None
    whole: bool = False
    resume: bool = False
    threads: int = 1
    seed: int = 0
    checksum: bool = False

    @property
    def state_path(self) -> str:
        """Where the state of the search is kept."""
        return f"{self.output}.state"

    @property
    def rows_path(self) -> str:
        """Where the cones of an unfinished search are kept, so that it can go on."""
        return f"{self.output}.rows"

    @property
    def kept(self) -> list[str]:
        """The files a search leaves behind."""
        return [path for path in (self.output, self.state_path, self.rows_path) if Path(path).exists()]


@dataclasses.dataclass(frozen=True, eq=False)
class SearchReport:
    """The outcome of a search.

    Attributes
    ----------
    best_weights : (D,)
        In the best usable cone, at its point; of the start where there is no metric.
    start_score, best_score : float, None without a metric
    checksum : Checksum, None where none was asked for, or the search is not complete
    """

    tally: Tally
    subspace: Subspace
    names: tuple[str, ...]
    options: SearchOptions
    metric: str
    start_score: float | None
    best_score: float | None
    best_weights: Float64
    coverage: Coverage
    complete: bool
    interrupted: bool
    seconds: float
    checksum: Checksum | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        t = self.tally
        return {
            "found": t.found,
            "usable": t.usable,
            "uncertain": t.uncertain,
            "deepest": t.deepest,
            "complete": self.complete,
            "interrupted": self.interrupted,
            "covered": dataclasses.asdict(self.coverage),
            "metric": self.metric,
            "start_score": self.start_score,
            "best_score": self.best_score,
            "best_vertex": t.best,
            "best_margin": t.best_margin if np.isfinite(t.best_margin) else None,  # no list has a choice
            "best_position": dict(zip(self.subspace.names, t.best_position, strict=False)),
            "weights": dict(zip(self.names, self.best_weights.tolist(), strict=True)),
            "cpu_seconds": self.seconds,
            "checksum": None if self.checksum is None else dataclasses.asdict(self.checksum),
        }


class SearchJob:
    """One search over one pool; an `engine` finds children of vertices ahead, and nothing depends on it."""

    def __init__(
        self,
        pool: Pool,
        subspace: Subspace,
        metric: Metric | None,
        options: SearchOptions,
        *,
        engine: Engine | None = None,
    ) -> None:
        if not pool.n_hypotheses:
            raise LuthierError("expected a pool with hypotheses, found an empty one")
        if metric is not None and metric.higher_is_better is None:
            raise LuthierError(f"the metric {metric.name!r} has no direction: there is no best. hint: `metric` none")
        if options.order == "best" and metric is None:
            raise LuthierError("the best vertices first: that order needs a metric to be guided by")
        if options.output == STDIN:
            raise LuthierError("rows that may be resumed cannot go to standard output. hint: name a file")
        self.sentences = np.flatnonzero(pool.list_lengths > 0)
        self.pool = pool if len(self.sentences) == pool.n_sentences else pool.take_sentences(self.sentences)
        self.subspace, self.metric, self.options, self.names = subspace, metric, options, pool.features.names
        self.stats = None if metric is None else pool_statistics(self.pool, metric)
        points = project(self.pool, subspace)
        if options.checksum:
            partial_sums(self.pool.offsets, points)  # refuse too many before the search
        self.summands = Summands.of(self.pool.offsets, points)
        start = np.zeros(subspace.n_axes + 1)
        start[0] = 1.0
        self.engine, self.setting = engine, SearchSetting(self.summands, start, None if options.whole else -start[None])
        self.search = ReverseSearch(
            self.summands, start, limits=self.setting.limits, order=options.order,
            score=None if metric is None else self.gains, threads=options.threads,
        )  # fmt: skip
        self.plane = Steps(self.summands, start, limits=-start[None], shortcut=False)
        self.tally = Tally()
        self.certainty = Certainty(self.summands, self.pool.offsets, points, self._rounding_of_scores())
        self._warn_of_rounding(points)

    def _rounding_of_scores(self) -> Float64:
        """Return by how much a difference of two scores of a list can be wrong, per unit of each coordinate: (N, M+1).

        A score of D products is wrong by (D + 2) roundings of the sum of their sizes at most, in any order.
        """
        f = self.pool.features
        sizes = dataclasses.replace(f, dense=np.abs(f.dense), values=np.abs(f.values)).scores(
            np.abs(self.subspace.matrix)
        )
        largest = np.maximum.reduceat(sizes, self.pool.offsets[:-1], axis=1).T
        return np.asarray(2 * (len(f.names) + len(sizes) + 2) * 2.0**-52 * largest, np.float64)

    def _warn_of_rounding(self, points: Float64) -> None:
        """Say so where a list spreads so far, or is so small, that differences may be lost on its grid."""
        wide, coarse = wide_spreads(self.pool.offsets, points), coarse_lists(self.pool.offsets, points)
        if not wide and not coarse:
            return
        lists = len({number for number, _, _ in wide or coarse})
        s, i, amount = (wide or coarse)[0]
        axis, many = ("the start", *self.subspace.names)[i], "s" * (lists > 1)
        if wide:
            said = (
                f"{lists:,} list{many} spread 2^30 times as far as others, or as their rows are mostly apart, the "
                f"widest (sentence {self.sentences[s]}) by {amount:.3g} along {axis}: differences below 2^-36 of that "
                "may be lost. hint: a value that represents the log of 0 may be nearer to the others"
            )
        else:
            said = (
                f"{lists:,} list{many} are rounded by nearly what their values are apart, sentence {self.sentences[s]} "
                f"by {amount:.3g} along {axis}: smaller differences may be lost. hint: there that axis does next to "
                "nothing beside another"
            )
        warnings.warn(said, LuthierWarning, stacklevel=2)

    def gains(self, rows: Int64) -> Float64:
        """Return the gain of selections, (n, N) → (n,)."""
        if self.metric is None or self.stats is None:
            raise AssertionError("no search without a metric asks for gains")
        return self.metric.gain(score_selections(self.stats, rows, self.metric))

    @functools.cached_property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a search to be resumed."""
        return {
            "pool": self.pool.digest(),
            "subspace": hashlib.blake2b(self.subspace.matrix.tobytes(), digest_size=16).hexdigest(),
            "metric": "none" if self.metric is None else self.metric.signature,
            "order": self.options.order,
            "whole": self.options.whole,
        }

    def run(self) -> SearchReport:
        """Search until all is found, the limit is reached, or Ctrl-C is pressed; then sum up.

        Raises
        ------
        LuthierError
            If another process searches into the same output.
        """
        with locked(self.options.output):
            return self._run()

    def _run(self) -> SearchReport:
        stopwatch, stop = Stopwatch(), threading.Event()
        if self.options.resume:
            self._restore()
        elif is_unfinished(self.options.state_path):
            raise LuthierError(
                f"{self.options.state_path}: there is an unfinished search already. hint: `resume` goes on from it; "
                "remove it to start anew"
            )
        if not self.search.complete:
            self._search(stop)
        elif Path(self.options.rows_path).exists():  # all was found, and the output could not be written
            self._finish()
        return self._report(stop.is_set() and not self.search.complete, stopwatch.seconds()[0])

    def _search(self, stop: threading.Event) -> None:
        """Search into the rows; write them as the output, and drop them if there is nothing left to find."""
        options = self.options
        about = {**self.identity, "axes": list(self.subspace.names), "sentences": len(self.sentences)}
        check_writable(options.state_path)
        with RecordWriter(options.rows_path, about, self.tally.length) as writer, stopping_gently(stop):
            self._stream(writer, stop)
            self._save(writer)
        self._finish()

    def _finish(self) -> None:
        write_as_file(self.options.rows_path, self.options.output)
        if self.search.complete:
            Path(self.options.rows_path).unlink()

    def _stream(self, writer: RecordWriter, stop: threading.Event) -> None:
        waiting: list[Found] = []
        saved = time.monotonic()
        with contextlib.ExitStack() as stack:
            advance = stack.enter_context(progress("vertices", self.options.limit))
            advance(self.search.n_found)
            ahead = None
            if self.engine is not None:
                given = stack.enter_context(held(self.engine, Shared(self.setting)))
                ahead = Ahead(self.summands, given, self.engine, self.options.order)
            for block in self.search.run(self.options.limit, stop, ahead=ahead):
                waiting.append(block)
                advance(len(block))
                if sum(map(len, waiting)) >= ROWS_AT_ONCE:
                    self._write(writer, waiting)
                    waiting = []
                    if time.monotonic() - saved > CHECKPOINT_SECONDS:
                        self._save(writer)
                        saved = time.monotonic()
        self._write(writer, waiting)

    def _write(self, writer: RecordWriter, blocks: list[Found]) -> None:
        """Append vertices to the file, and count them."""
        if not blocks:
            return
        numbers = np.concatenate([block.numbers for block in blocks])
        points = np.concatenate([block.points for block in blocks])
        selections = np.concatenate([block.selections for block in blocks])
        usable = np.ones(len(points), np.bool_)
        if self.options.whole:
            usable, inside, _ = self.plane.points(selections)
            points = np.where(usable[:, None], inside, points)
        # scaled so that the start counts 1; beyond the plane no scale does that
        heights = np.where(usable, points[:, 0], 1.0)
        coordinates = points / heights[:, None]
        margins, certain = self.certainty.judge(coordinates, selections)
        columns = self._columns(blocks)
        columns |= {"usable": usable, "certain": certain, "coordinates": coordinates, "margin": margins}
        gains = np.where(numbers == 0, 0.0, -np.inf)
        if self.metric is not None:
            gains = np.concatenate([np.empty(0) if block.gains is None else block.gains for block in blocks])
            columns["metric"] = self._score(gains)
        writer.append(columns)
        t = self.tally
        t.found, t.usable = t.found + len(usable), t.usable + int(usable.sum())
        t.uncertain += int(np.sum(usable & ~certain))
        t.deepest = max(t.deepest, *(int(block.depths.max()) for block in blocks))
        gains = np.where(usable, gains, -np.inf)
        best = int(np.argmax(gains))
        if gains[best] > t.best_gain:
            t.best, t.best_gain, t.best_margin = int(numbers[best]), float(gains[best]), float(margins[best])
            t.best_position = tuple(coordinates[best, 1:].tolist())

    def _columns(self, blocks: list[Found]) -> dict[str, Column]:
        lists = np.concatenate([block.change_lists for block in blocks])
        rows = np.concatenate([block.change_rows for block in blocks]) - self.pool.offsets[lists]
        first = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(block.change_first) for block in blocks]))])
        return {
            "vertex": np.concatenate([block.numbers for block in blocks]),
            "parent": np.concatenate([block.parents for block in blocks]),
            "depth": np.concatenate([block.depths for block in blocks]),
            "sentences": (first, self.sentences[lists].astype(np.int32)),
            "hypotheses": (first, rows.astype(np.int32)),
            "key": np.concatenate([block.keys for block in blocks]),
        }

    def _score(self, gains: Any) -> Any:
        return gains if self.metric is None or self.metric.higher_is_better else -gains

    def _save(self, writer: RecordWriter) -> None:
        """Write the state beside the output, in one piece; what follows in the rows does not count yet."""
        self.tally.length = writer.length
        with secondary(self.options.state_path):
            write_state(self.options.state_path, self.identity, dataclasses.asdict(self.tally), self.search.state())

    def _restore(self) -> None:
        options = self.options
        identity, tally, state = read_state(options.state_path)
        different = [name for name, value in self.identity.items() if identity.get(name) != value]
        if different:
            raise LuthierError(
                f"{options.state_path}: the state is of another search: its {different[0]} is not the same. "
                "hint: run that search's command, or name another output"
            )
        with refusing_states(options.state_path):
            self.search.restore(state)
            self.tally = checked_tally(tally, self.search.n_found, self.subspace.n_axes)
        complete = self.search.complete and not Path(options.rows_path).exists()
        path = options.output if complete else options.rows_path
        n_whole = file_rows(path) if complete else whole_rows(path, self.tally.length)
        if n_whole != self.tally.found:
            raise InputError(
                expected=f"the {self.tally.found:,} vertices found before", found=f"{n_whole:,} of them, or other rows",
                path=path, hint=f"remove {options.state_path} to start anew, without `resume`",
            )  # fmt: skip

    def _report(self, interrupted: bool, seconds: float) -> SearchReport:
        keys = np.concatenate([np.empty(0, np.uint64), *read_column(self.options.output, "key", "uint64")])
        start_score = best_score = None
        if self.metric is not None and self.stats is not None:
            start = self.summands.rows(self.summands.select(self.search.steps.goal[None])[0])
            start_score = float(score_selections(self.stats, start, self.metric)[0])
            best_score = float(self._score(self.tally.best_gain)) if self.tally.best >= 0 else None
        position = self.tally.best_position or (0.0,) * self.subspace.n_axes
        return SearchReport(
            tally=self.tally, subspace=self.subspace, names=self.names, options=self.options,
            metric="none" if self.metric is None else self.metric.signature, start_score=start_score,
            best_score=best_score, best_weights=self.subspace.weights(position),
            coverage=share_covered(self.search, keys, make_rng(self.options.seed)), complete=self.search.complete,
            interrupted=interrupted, seconds=seconds, checksum=self._checksum(),
        )  # fmt: skip

    def _checksum(self) -> Checksum | None:
        """Return what partial sums say of a complete search."""
        if not self.options.checksum or not self.search.complete:
            return None
        return count_by_parts(self.pool.offsets, project(self.pool, self.subspace), self.tally.found)
