"""The problem of a sharded pool: each part is asked, and what they answer is put together in their order.

No process holds the whole. Whole numbers are summed where they are; other numbers travel and are added here, sentence
after sentence, so that the last bit is that of the pool in one piece. A curve is made from the breakpoints of all
parts by the same sweep.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, frozen
from luthier.core.errors import LuthierError
from luthier.core.tasks import Engine, Shared, run_units
from luthier.kbest.groups import Groups
from luthier.kbest.shards.manifest import Manifest
from luthier.kbest.shards.shard import check_files
from luthier.landscape import shard_work as work
from luthier.landscape.bounds import Bounds
from luthier.landscape.curve import LineCurve, curve_of
from luthier.landscape.problem import Problem, errors_of_differences
from luthier.landscape.shard_work import joined, whole_envelope
from luthier.metrics.base import Metric
from luthier.metrics.pools import score_selections

LISTS_AT_ONCE = 1 << 22  # lists times directions: bounds what parts send at a time at some 200 MB
DIRECTIONS_AT_ONCE = 32


@dataclasses.dataclass
class Traffic:
    """What parts have sent: answers, and their bytes before they are wrapped up for the way."""

    answers: int = 0
    n_bytes: int = 0
    lines: int = 0
    _lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def add(self, answers: Sequence[Any], lines: int = 0) -> None:
        """Count the answers to one question; runs in several threads may ask."""
        items = [item for answer in answers for item in (answer if isinstance(answer, list) else [answer])]
        with self._lock:
            self.answers += len(answers)
            self.n_bytes += sum(item.nbytes for item in items)
            self.lines += lines

    def as_dict(self) -> dict[str, int]:
        """Return it for JSON."""
        return {"answers": self.answers, "bytes": self.n_bytes, "lines": self.lines}


@dataclasses.dataclass(frozen=True, eq=False)
class ShardedProblem(Problem):
    """Find weights whose selections, one of each list of all parts, have the highest gain.

    Attributes
    ----------
    source : ShardSource
    bounds : Bounds
    engine : who works on the parts; None is this process, one after another
    traffic : Traffic
    """

    source: work.ShardSource
    bounds: Bounds
    engine: Engine | None = None
    traffic: Traffic = dataclasses.field(default_factory=Traffic)

    @classmethod
    def of(
        cls, manifest: Manifest, metric: Metric, *, bounds: Bounds | None = None, engine: Engine | None = None
    ) -> ShardedProblem:
        """Return the problem of shards that hold the metric's statistics."""
        if metric.higher_is_better is None:
            raise LuthierError(f"the metric {metric.name!r} has no direction: there is nothing to tune for")
        source = work.ShardSource(manifest, metric)
        if not source.filled or not manifest.feature_names:
            raise LuthierError("expected a sharded pool with hypotheses that have features, found none")
        check_files(manifest)
        return cls(source, bounds or Bounds.none(len(manifest.feature_names)), engine)

    def __repr__(self) -> str:
        """Return a short sentence."""
        return f"<Problem: {self.metric.name} of {self.source.manifest!r}>"

    @property
    def metric(self) -> Metric:  # type: ignore[override]
        """What the gain is of."""
        return self.source.metric

    @property
    def n_dense(self) -> int:
        """How many of the features are dense."""
        return self.source.manifest.n_dense

    @property
    def derived(self) -> Mapping[str, str]:
        """Formulas of features that were added to the lists."""
        return self.source.manifest.derived

    @property
    def parallel(self) -> bool:
        """Whether an engine works on the shards."""
        return self.engine is not None

    def notes(self) -> list[str]:
        """Return what the shards have sent."""
        sent = self.traffic
        return [
            f"{len(self.source.manifest.parts)} parts sent {sent.n_bytes:,} bytes in {sent.answers:,} answers, "
            f"{sent.lines:,} lines among what was asked"
        ]

    def lists_alike(self) -> int:
        """Return in how many lists all hypotheses have the same statistics."""
        return sum(int(found.sum()) for found in self._ask(work.shard_alike, lambda part: part))

    def lists_tied(self, weights: Float64) -> int:
        """Return in how many lists the winner ties with hypotheses of other statistics."""
        found = self._ask(work.shard_ties, lambda part: work.WeightsRequest(part, work.vectors(weights[None])))
        return sum(int(count.sum()) for count in found)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D features."""
        return self.source.manifest.feature_names

    @property
    def groups(self) -> Groups:
        """Which features are the ordered bins of one."""
        return self.source.manifest.groups

    @property
    def n_sentences(self) -> int:
        """How many lists there are that are not empty."""
        return sum(part.filled for part in self.source.manifest.parts)

    @property
    def spread(self) -> Float64:
        """How much each feature differs within lists, (D,), as the manifest has it of the whole pool."""
        return frozen(np.array(self.source.manifest.spread))

    def identity(self) -> dict[str, str]:
        """Return the metric's signature and the whole pool's digest: a checkpoint fits both forms of a pool."""
        return {"metric": self.metric.signature, "pool": self.source.manifest.lists}

    def default_start(self) -> Float64:
        """Return equal weights, negative for costs, inside the bounds: (D,)."""
        return self.bounds.clip(self.source.manifest.signs)

    def gains(self, weights: Float64) -> Float64:
        """Return the gain of each weight vector, (W, D) → (W,)."""
        found = self._ask(work.shard_sums, lambda part: work.WeightsRequest(part, work.vectors(weights)))
        terms = np.concatenate(found, axis=1)  # (W, n, S)
        if self.source.whole_numbers:
            return self.metric.gain(self.metric.score(terms.sum(axis=1)))
        rows = np.arange(terms.shape[0] * terms.shape[1]).reshape(terms.shape[:2])
        return self.metric.gain(score_selections(terms.reshape(-1, terms.shape[2]), rows, self.metric))

    def selected(self, weights: Float64) -> npt.NDArray[Any]:
        """Return the statistics of what each weight vector selects: (W, D) → (W, N, S)."""
        found = self._ask(work.shard_selected, lambda part: work.WeightsRequest(part, work.vectors(weights)))
        return joined(found, axis=1)

    def oracle_score(self) -> float:
        """Return the score of the best hypotheses of all lists, each by its own sentence score."""
        return float(self.metric.score(self.best_statistics().sum(axis=0)))

    @property
    def signs(self) -> Float64:
        """+1 for a score, −1 for a cost, as declared, (D,)."""
        return np.array(self.source.manifest.signs)

    @functools.cached_property
    def moving(self) -> Bool:
        """Which features differ within some list, (D,): all others select nothing."""
        parts: Bool = np.concatenate(self._ask(work.shard_moving, lambda part: part))
        return frozen(np.logical_or.reduce(parts, axis=0))

    def best_statistics(self) -> npt.NDArray[Any]:
        """Return the statistics of the hypothesis with the best sentence score of each list, (N, S)."""
        return joined(self._ask(work.shard_best, lambda part: part))

    def mean_statistics(self) -> Float64:
        """Return the mean statistics of each list, (N, S): what a random choice has on average."""
        return np.concatenate(self._ask(work.shard_means, lambda part: part))

    def tied_statistics(self, weights: Float64) -> Float64:
        """Return the mean statistics of the rows that tie for the best score in each list, (D,) → (N, S)."""
        asked = work.vectors(weights[None])
        return np.concatenate(self._ask(work.shard_tied, lambda part: work.WeightsRequest(part, asked)))

    def agreement(self, columns: Sequence[int]) -> Float64:
        """Return Σ h·(g − mean g) of each list for some features, (N, Q): summed, the sign of their correlation."""
        wanted = tuple(int(column) for column in columns)
        return np.concatenate(self._ask(work.shard_agreement, lambda part: work.ColumnsRequest(part, wanted)))

    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction, (D,) and (Q, D)."""
        at_once = max(1, min(DIRECTIONS_AT_ONCE, LISTS_AT_ONCE // max(1, self.n_sentences)))
        begin = tuple(start.tolist())
        for first in range(0, len(directions), at_once):
            some = work.vectors(directions[first : first + at_once])
            question = functools.partial(work.LinesRequest, start=begin, directions=some)
            found = self._ask(work.shard_lines, question, lines=len(some))
            for line in zip(*found, strict=True):
                yield curve_of(*whole_envelope(line), self.metric)

    def errors_of_differences(self, weights: Float64, to: int) -> Float64:
        """Return standard errors of differences in gain, by resampling the sentences: (W, D) → (W,)."""
        return errors_of_differences(self.metric, self.selected(weights), to)

    def with_bounds(self, bounds: Bounds) -> ShardedProblem:
        """Return the same problem under other limits."""
        return dataclasses.replace(self, bounds=bounds)

    def _ask(
        self, function: Callable[[work.ShardSource, Any], Any], question: Callable[[int], Any], *, lines: int = 0
    ) -> list[Any]:
        """Return the answers of all parts that have lists, in order."""
        units = {part: question(part) for part in self.source.filled}
        given = Shared(self.source, work.ShardsRecipe.of(self.source))
        answers = list(run_units(function, given, units, engine=self.engine).values())
        self.traffic.add(answers, lines)
        return answers
