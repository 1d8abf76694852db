"""The problem of candidates that are never listed: forests, or whatever else can say what is best along a line."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.geometry.lines.envelope import Envelope
from luthier.landscape.bounds import Bounds
from luthier.landscape.curve import LineCurve, curve_of
from luthier.landscape.problem import Problem, errors_of_differences
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch
from luthier.metrics.pools import score_selections

DIRECTIONS_AT_ONCE = 32


class Packed(Protocol):
    """Candidates of N sentences, packed; their strings are numbered as they are met, and keep their numbers."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D features."""

    @property
    def n_sentences(self) -> int:
        """How many sentences there are, N; each has a candidate."""

    @property
    def spread(self) -> Float64:
        """How much each feature differs between the candidates for a sentence, (D,)."""

    def envelopes(self, start: Float64, directions: Float64) -> list[Envelope]:
        """Return which string is the highest along each direction, (D,) and (Q, D): rows are numbers of strings."""

    def select(self, weights: Float64) -> Int64:
        """Return the number of the best string of each sentence: (W, D) → (W, N)."""

    def texts(self, first: int) -> tuple[Int64, Texts]:
        """Return sentence and text of the strings from number `first` on."""

    def digest(self) -> str:
        """Return a hash of all candidates."""


class StringScores:
    """The statistics of strings, each computed once; threads may ask at the same time."""

    def __init__(self, candidates: Packed, metric: Metric, references: Texts, reference_offsets: Int64) -> None:
        self._candidates, self._metric = candidates, metric
        self._references, self._offsets = references, np.asarray(reference_offsets, dtype=np.int64)
        self._stats: npt.NDArray[Any] = np.zeros((0, len(metric.stat_names)), dtype=np.int64)
        self._lock = threading.Lock()

    def all_met(self) -> npt.NDArray[Any]:
        """Return the statistics of all strings met so far, (M, S)."""
        with self._lock:
            sentences, texts = self._candidates.texts(len(self._stats))
            if len(sentences):
                new = self._new(sentences, texts)
                self._stats = frozen(np.concatenate([self._stats, new]) if len(self._stats) else new)
            return self._stats

    def _new(self, sentences: Int64, texts: Texts) -> npt.NDArray[Any]:
        order = np.argsort(sentences, kind="stable")
        batch = Batch.of(
            texts=texts.take(order),
            offsets=offsets_from_counts(np.bincount(sentences, minlength=len(self._offsets) - 1)),
            references=self._references,
            reference_offsets=self._offsets,
        )
        found = self._metric.stats(batch)
        stats = np.empty_like(found)
        stats[order] = found
        return stats


@dataclasses.dataclass(frozen=True, eq=False)
class PackedProblem(Problem):
    """Find weights whose best strings, one of each sentence, have the highest gain.

    Attributes
    ----------
    candidates : Packed
    metric : Metric
    scores : StringScores
    bounds : Bounds
    start : (D,) or None
        The weights that the candidates were found with.
    """

    size_means: ClassVar[str] = "a decoder of forests prunes by their size"

    candidates: Packed
    metric: Metric
    scores: StringScores
    bounds: Bounds
    start: Float64 | None = None

    @classmethod
    def of(
        cls,
        candidates: Packed,
        metric: Metric,
        references: Texts,
        reference_offsets: Int64,
        *,
        bounds: Bounds | None = None,
        start: Float64 | None = None,
    ) -> PackedProblem:
        """Return the problem of candidates, a metric and the references of each sentence."""
        if metric.higher_is_better is None:
            raise LuthierError(f"the metric {metric.name!r} has no direction: there is nothing to tune for")
        if not candidates.n_sentences or not candidates.names:
            raise LuthierError("expected sentences with candidates that have features, found none")
        if len(reference_offsets) - 1 != candidates.n_sentences:
            found = len(reference_offsets) - 1
            raise LuthierError(f"expected references of {candidates.n_sentences} sentences, found {found}")
        scores = StringScores(candidates, metric, references, reference_offsets)
        return cls(candidates, metric, scores, bounds or Bounds.none(len(candidates.names)), start)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D features."""
        return self.candidates.names

    @property
    def spread(self) -> Float64:
        """How much each feature differs between the candidates for a sentence, (D,)."""
        return self.candidates.spread

    @property
    def n_sentences(self) -> int:
        """How many sentences there are, N."""
        return self.candidates.n_sentences

    def default_start(self) -> Float64:
        """Return the weights that the candidates were found with, or equal ones, inside the bounds: (D,)."""
        return super().default_start() if self.start is None else self.bounds.clip(self.start)

    def identity(self) -> dict[str, str]:
        """Return the metric's signature and a hash of the candidates."""
        return {"metric": self.metric.signature, "candidates": self.candidates.digest()}

    def selected(self, weights: Float64) -> npt.NDArray[Any]:
        """Return the statistics of what each weight vector selects: (W, D) → (W, N, S)."""
        rows = self.candidates.select(weights)
        chosen: npt.NDArray[Any] = self.scores.all_met()[rows]
        return chosen

    def gains(self, weights: Float64) -> Float64:
        """Return the gain of each weight vector, (W, D) → (W,)."""
        rows = self.candidates.select(weights)
        return self.metric.gain(score_selections(self.scores.all_met(), rows, self.metric))

    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction, (D,) and (Q, D)."""
        for first in range(0, len(directions), DIRECTIONS_AT_ONCE):
            envelopes = self.candidates.envelopes(start, directions[first : first + DIRECTIONS_AT_ONCE])
            stats = self.scores.all_met()
            for envelope in envelopes:
                yield curve_of(envelope, stats, self.metric)

    def errors_of_differences(self, weights: Float64, to: int) -> Float64:
        """Return standard errors of differences in gain, by resampling the sentences: (W, D) → (W,)."""
        return errors_of_differences(self.metric, self.selected(weights), to)

    def with_bounds(self, bounds: Bounds) -> PackedProblem:
        """Return the same problem under other limits."""
        return dataclasses.replace(self, bounds=bounds)
