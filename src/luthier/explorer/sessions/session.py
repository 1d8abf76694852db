"""What the explorer has open: the problem of some lists and a metric, weights by name, traces, bins."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.errors import LuthierError, unwarned
from luthier.core.progress import without_notices
from luthier.explorer.sessions.folders import record_of
from luthier.explorer.sessions.tail import Followed, TraceLines
from luthier.features.bins import Bins
from luthier.kbest.inspect import FeatureSummary, summarize_features
from luthier.kbest.pool import Pool
from luthier.kbest.weights import read_weights
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import effect_units
from luthier.metrics.base import Metric

EQUAL = "equal weights"
MOST_PAGES = 64  # whose newest requests are known
KEPT = 6  # things that are costly to make, such as planes; on large lists one may take some 50 MB

MOST_WAITING, KEPT_LATER = 4, 64  # things to be made in the background, and such that were made

Made = TypeVar("Made")


@dataclasses.dataclass(frozen=True, eq=False)
class Named:
    """A weight vector with a name, and what its run has left: unseen scores, intervals of weights; {} if nothing."""

    name: str
    weights: Float64
    record: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Superseded(LuthierError):
    """A newer request of the same view has come: nobody waits for this one."""


class Session:
    """Lists, a metric and what was named at the start; requests name these by number and bring nothing else.

    Parameters
    ----------
    pool : Pool
    metric : Metric
    named : the weights that were given, the start first; none: equal ones
    title : what the page calls the lists
    traces : files of states of tuners, or folders of loops, which may appear or grow later
    bins : for response curves, optional
    heldout : lists of unseen sentences, optional
    """

    def __init__(
        self,
        pool: Pool,
        metric: Metric,
        named: Sequence[Named] = (),
        *,
        title: str = "",
        traces: Sequence[str] = (),
        bins: Bins | None = None,
        heldout: Pool | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.problem = ListProblem.of(pool, metric)
        self.heldout = None if heldout is None else ListProblem.beside(self.problem, heldout)
        self.sighted = ProjectionCache(self.problem)
        self.numbers: Int64 = np.flatnonzero(pool.list_lengths > 0)  # of sentences, in the pool as it was given
        self.n_left_out = pool.n_sentences - len(self.numbers)
        self.named = tuple(named) or (Named(EQUAL, frozen(self.problem.default_start())),)
        self.title, self.traces, self.bins = title, tuple(traces), bins
        self.seed, self.threads = seed, threads
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._newest: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._lock, self._making = threading.Lock(), threading.Lock()
        self._waiting: OrderedDict[Any, Callable[[], Any]] = OrderedDict()
        self._later: OrderedDict[Any, Any] = OrderedDict()
        self._worker: threading.Thread | None = None

    @property
    def start(self) -> Float64:
        """The weights that the page begins with, (D,)."""
        return self.named[0].weights

    @functools.cached_property
    def selections(self) -> Int64:
        """What each of the named weights selects, (W, N)."""
        return frozen(np.stack([self.problem.select(item.weights) for item in self.named]))

    @functools.cached_property
    def scores(self) -> tuple[float, ...]:
        """The metric of each of the named weights."""
        return tuple(self.score_of(rows) for rows in self.selections)

    @functools.cached_property
    def units(self) -> Float64:
        """How much of each weight has the mean effect of a feature, at the start: (D,); 0 where it has none."""
        return frozen(effect_units(self.problem.spread, self.start))

    @functools.cached_property
    def features(self) -> tuple[FeatureSummary, ...]:
        """What there is to say of each feature: constant, redundant."""
        return summarize_features(self.problem.pool)

    @functools.cached_property
    def trace_lines(self) -> tuple[TraceLines, ...]:
        """Who reads the lines of each trace."""
        return tuple(TraceLines(path, self.problem) for path in self.traces)

    @functools.cached_property
    def followed(self) -> tuple[Followed, ...]:
        """The traces, as far as they have been read."""
        return tuple(Followed(lines.path, lines.shown) for lines in self.trace_lines)

    def score_of(self, rows: Int64) -> float:
        """Return the metric of a selection, (N,), as `luthier score` gives it."""
        return float(self.problem.metric.score(self.problem.stats[rows].sum(axis=0)))

    def kept(self, key: Any, make: Callable[[], Made]) -> Made:
        """Return what was made for a key; the last few are kept, and one is made at a time."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: Made = self._kept[key]
                return found
        with self._making:
            if key in self._kept:
                return self.kept(key, make)
            made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made

    def forget(self, kind: str) -> None:
        """Let go of what was kept under keys that begin with a word."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == kind]:
                del self._kept[key]

    def later(self, key: Any, make: Callable[[], Made]) -> Made | None:
        """Return what is made for a key in the background, None until it is there; the newest is made first."""
        with self._lock:
            if key in self._later:
                self._later.move_to_end(key)
                found: Made | LuthierError = self._later[key]
                if isinstance(found, LuthierError):
                    raise found
                return found
            self._waiting[key] = make
            self._waiting.move_to_end(key)
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, daemon=True)
                self._worker.start()
        return None

    def _work(self) -> None:
        """Make what is waited for, one after another, until nothing is."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._worker = None
                    return
                key, make = next(reversed(self._waiting.items()))
            made: Any
            try:
                with unwarned(), without_notices():
                    made = make()
            except LuthierError as error:
                made = error
            except Exception as error:  # a fault of ours must not end the worker
                made = LuthierError(f"a fault of luthier: {type(error).__name__}: {error}")
            with self._lock:
                self._waiting.pop(key, None)
                self._later[key] = made
                while len(self._later) > KEPT_LATER:
                    self._later.popitem(last=False)

    def begin(self, view: str, page: int, number: int) -> Callable[[], None]:
        """Note the newest request of a page's view; return what raises `Superseded` once there is a newer one.

        Every page, one that was loaded again included, has a number of its own and counts its requests from 1;
        requests without a number are never superseded.
        """
        key = view, page
        with self._lock:
            self._newest[key] = max(number, self._newest.get(key, number))
            self._newest.move_to_end(key)
            while len(self._newest) > MOST_PAGES:
                self._newest.popitem(last=False)

        def go_on() -> None:
            if 0 < number < self._newest.get(key, number):
                raise Superseded("a newer request has come")

        return go_on


def read_named(paths: Sequence[str], pool: Pool) -> list[Named]:
    """Return the weights of files, named after them; the folder is part of a name that two have."""
    names = [Path(path).name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise LuthierError("the same weights were given twice")
    vectors = [read_weights(path).vector(pool.features.names, source=path) for path in paths]
    return [
        Named(name, frozen(vector), record_of(path)) for name, path, vector in zip(names, paths, vectors, strict=True)
    ]


def by_name(session: Session, weights: Float64) -> Mapping[str, float]:
    """Return weights by the names of their features."""
    return dict(zip(session.problem.names, weights.tolist(), strict=True))
