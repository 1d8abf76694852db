"""What a tuning job leaves: the answer of each replica, with scores for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from luthier.core.arrays import Float64
from luthier.kbest.derived import derived_of
from luthier.kbest.weights import Weights
from luthier.landscape.forest_problem import PackedProblem
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.sharded_problem import PartedProblem
from luthier.tuning.run import Result


@dataclasses.dataclass(frozen=True, eq=False)
class Tuned:
    """One replica's answer, in the pool's own units, with scores (not gains) for the table.

    Attributes
    ----------
    seed : int
    weights : (D,)
    result : Result
    scores : before and after, on the tuning set and, where there is one, on the held-out set
    interval, heldout_interval : low and high
        Of the change on the tuning sentences, which is flattering, and on the held-out ones, where there are any.
    n_heldout : how many these are
    """

    seed: int
    weights: Float64
    result: Result
    scores: dict[str, float | None]
    interval: tuple[float, float]
    heldout_interval: tuple[float, float] | None = None
    n_heldout: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class TuningReport:
    """All replicas of a job, their average if asked for, and what holds for all of them.

    `oracle` is the score of the best selection; None where the candidates cannot be listed.
    """

    tuner: str
    metric: str
    problem: ListProblem | PackedProblem | PartedProblem
    names: tuple[str, ...]
    start: Float64
    oracle: float | None
    replicas: tuple[Tuned, ...]
    average: Float64 | None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return any(replica.result.interrupted for replica in self.replicas)

    def named(self, weights: Float64) -> Weights:
        """Return weights by name, with the formulas of features that were added to the lists."""
        return Weights.from_vector(self.names, weights, self._formulas())

    def _formulas(self) -> Mapping[str, str]:
        if isinstance(self.problem, ListProblem):
            return derived_of(self.problem.pool)
        return self.problem.source.manifest.derived if isinstance(self.problem, PartedProblem) else {}

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "tuner": self.tuner,
            "metric": self.metric,
            "start": self._by_name(self.start),
            "oracle": self.oracle,
            "replicas": [
                {
                    "seed": replica.seed,
                    **replica.scores,
                    "interval": list(replica.interval),
                    "heldout_interval": None if replica.heldout_interval is None else list(replica.heldout_interval),
                    "runs": len(replica.result.traces),
                    "agreed": replica.result.agreed,
                    "note": replica.result.note,
                    "record": dict(replica.result.record),
                    "interrupted": replica.result.interrupted,
                    "cpu_seconds": replica.result.seconds[0],
                    "weights": self._by_name(replica.weights),
                }
                for replica in self.replicas
            ],
            "average": None if self.average is None else self._by_name(self.average),
        }

    def _by_name(self, weights: Float64) -> dict[str, float]:
        return dict(zip(self.names, weights.tolist(), strict=True))
