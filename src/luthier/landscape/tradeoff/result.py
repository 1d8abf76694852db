"""What several metrics trade: the front with its weights, pairs that conflict, and the mix that no metric dislikes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64
from luthier.core.files.tables import write_table
from luthier.core.html import Shown
from luthier.kbest.derived import derived_of
from luthier.kbest.weights import Weights
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.tradeoff.front import pareto
from luthier.metrics.several import Joint


@dataclasses.dataclass(frozen=True)
class Conflict:
    """What two metrics trade.

    Attributes
    ----------
    first, second : labels of the metrics
    points : int
        Of the front of these two alone; with one point they do not conflict.
    first_price, second_price : float
        What the first loses where the second is at its best, and the other way round, in points of its score.
    first_noise, second_noise : float
        The same in units of its own noise s_sel.
    """

    first: str
    second: str
    points: int
    first_price: float
    second_price: float
    first_noise: float
    second_noise: float


@dataclasses.dataclass(frozen=True, eq=False)
class Tradeoff(Shown):
    """The Pareto front of several metrics.

    Attributes
    ----------
    problem : ListProblem of a Joint metric
    labels : of the K metrics
    where : str
        What was looked at: ``line``, ``plane`` or ``all weights``.
    exact : bool
        Whether the front is that of all weights there; otherwise other weights may beat it (an inner front).
    cells : int
        Intervals of the line, cells of the plane, or intervals of all lines that were searched.
    scores, gains : (n, K)
        Of the front, by falling gain of the first metric.
    weights : (n, D)
    places : name → (n,)
        Where the points are: the ends of an interval, a place and a radius of a cell; places are offsets from w0.
    holds : (n,) bool
        Whether the lists, re-ranked at the weights, have these scores.
    seen : (m, K)
        Scores of a sample of all cells, for the picture.
    start_scores, noise : (K,)
        At w0: the scores, and their standard deviation over resamples of the sentences.
    heldout_scores : (n, K), or None without held-out lists
    """

    problem: ListProblem
    labels: tuple[str, ...]
    where: str
    exact: bool
    cells: int
    scores: Float64
    gains: Float64
    weights: Float64
    places: Mapping[str, Float64]
    holds: Bool
    seen: Float64
    start_scores: Float64
    noise: Float64
    heldout_scores: Float64 | None = None

    @property
    def joint(self) -> Joint:
        """The metrics side by side."""
        assert isinstance(self.problem.metric, Joint)
        return self.problem.metric

    @property
    def best(self) -> list[int]:
        """The point of the front that is best for each metric, (K,)."""
        return [int(pareto(np.roll(self.gains, -k, axis=1))[0]) for k in range(len(self.labels))]

    @property
    def advantages(self) -> Float64:
        """The gains of the points over w0, in units of each metric's own noise, (n, K)."""
        start = self.joint.gains(self.start_scores)
        return np.asarray((self.gains - start) / self.noise)

    @property
    def mix(self) -> int:
        """The point whose smallest advantage is the largest; of equals the one with the largest sum."""
        advantages = self.advantages
        return int(np.lexsort((-advantages.sum(axis=1), -np.round(advantages.min(axis=1), 9)))[0])

    @property
    def conflicts(self) -> list[Conflict]:
        """What each pair of metrics trades."""
        found = []
        for a, b in itertools.combinations(range(len(self.labels)), 2):
            pair = self.gains[:, [a, b]]
            front = pair[pareto(pair)]
            first, second = front[0, 0] - front[-1, 0], front[-1, 1] - front[0, 1]
            prices = float(first), float(second), float(first / self.noise[a]), float(second / self.noise[b])
            found.append(Conflict(self.labels[a], self.labels[b], len(front), *prices))
        return found

    def named_weights(self, point: int) -> Weights:
        """Return the weights of a point of the front, by name."""
        return Weights.from_vector(self.problem.names, self.weights[point], derived_of(self.problem.pool))

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, with the whole front."""
        mix = self.mix
        return {
            "metrics": dict(zip(self.labels, (part.signature for part in self.joint.parts), strict=True)),
            "where": self.where,
            "exact": self.exact,
            "cells": self.cells,
            "start": self._by_metric(self.start_scores),
            "noise": self._by_metric(self.noise),
            "front": [self._point(i) for i in range(len(self.scores))],
            "best": dict(zip(self.labels, self.best, strict=True)),
            "conflicts": [dataclasses.asdict(conflict) for conflict in self.conflicts],
            "mix": {"point": mix, "advantages": self._by_metric(self.advantages[mix])},
        }

    def write_front(self, path: str) -> None:
        """Write the front with scores, places and weights as an .arrow, .tsv or .json table."""
        columns: dict[str, Any] = {label: self.scores[:, k] for k, label in enumerate(self.labels)}
        if self.heldout_scores is not None:
            columns |= {f"heldout:{label}": self.heldout_scores[:, k] for k, label in enumerate(self.labels)}
        columns |= dict(self.places)
        columns |= {f"weight:{name}": self.weights[:, d] for d, name in enumerate(self.problem.names)}
        write_table(path, columns, self.as_dict())

    def _by_metric(self, values: Float64) -> dict[str, float]:
        return dict(zip(self.labels, values.tolist(), strict=True))

    def _point(self, i: int) -> dict[str, Any]:
        places = {name: float(column[i]) for name, column in self.places.items()}
        return {
            "scores": self._by_metric(self.scores[i]),
            **({} if self.heldout_scores is None else {"heldout": self._by_metric(self.heldout_scores[i])}),
            **{name: value if np.isfinite(value) else None for name, value in places.items()},
            "holds": bool(self.holds[i]),
            "weights": dict(zip(self.problem.names, self.weights[i].tolist(), strict=True)),
        }
