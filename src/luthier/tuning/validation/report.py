"""What a tuning job leaves: the answer of each replica, with scores for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.html import as_table
from luthier.kbest.weights import Weights
from luthier.landscape.problem import Problem
from luthier.metrics.several import Constrained, WorstOf
from luthier.tuning.answer import Result
from luthier.tuning.validation.baselines import START, Baselines
from luthier.tuning.validation.folds import CrossValidation
from luthier.tuning.validation.resampling import Resampling


@dataclasses.dataclass(frozen=True, eq=False)
class Tuned:
    """One replica's answer, in the pool's own units, with scores (not gains) for the table.

    Attributes
    ----------
    seed : int
    weights : (D,)
    result : Result
    scores : of the best baseline, of the start and of the answer, on the tuning set and on the held-out set, if any
    interval, heldout_interval : low and high
        Of what is added to the best baseline, on the tuning sentences, which is flattering, and on the held-out ones.
    n_heldout : how many these are
    baseline : its name; where the candidates cannot be listed, that of the start
    """

    seed: int
    weights: Float64
    result: Result
    scores: dict[str, float | None]
    interval: tuple[float, float]
    heldout_interval: tuple[float, float] | None = None
    n_heldout: int = 0
    baseline: str = START


@dataclasses.dataclass(frozen=True, eq=False)
class TuningReport:
    """All replicas of a job, their average if asked for, and what holds for all of them.

    `oracle` is the score of the best selection, `baselines` what can be had without tuning; None where the candidates
    cannot be listed.
    """

    tuner: str
    metric: str
    problem: Problem
    names: tuple[str, ...]
    start: Float64
    oracle: float | None
    replicas: tuple[Tuned, ...]
    average: Float64 | None
    baselines: Baselines | None = None
    heldout_baselines: Baselines | None = None
    searched: Any = None
    resampled: Resampling | None = None
    folds: CrossValidation | None = None

    @property
    def weights(self) -> Weights:
        """The answer by name: the average of the replicas where there is one, else the first replica's."""
        return self.named(self.replicas[0].weights if self.average is None else self.average)

    @property
    def baseline(self) -> str:
        """The name of the best of what can be had without tuning, on the tuning sentences."""
        return self.replicas[0].baseline

    @property
    def before(self) -> float:
        """The score of that baseline on the tuning sentences."""
        return self._score("tune_baseline")

    @property
    def after(self) -> float:
        """The score of the tuning sentences at the answer of the first replica."""
        return self._score("tune_after")

    @property
    def interval(self) -> tuple[float, float]:
        """Of what the answer adds to the baseline on the tuning sentences, by paired bootstrap: it is flattering."""
        return self.replicas[0].interval

    @property
    def heldout_before(self) -> float | None:
        """The score of the baseline on the held-out sentences."""
        return self.replicas[0].scores["heldout_baseline"]

    @property
    def heldout_after(self) -> float | None:
        """The score of the held-out sentences at the answer of the first replica."""
        return self.replicas[0].scores["heldout_after"]

    def _score(self, name: str) -> float:
        found = self.replicas[0].scores[name]
        assert found is not None
        return found

    def __repr__(self) -> str:
        """Return a short sentence."""
        scores = [self.before, self.after, *self.interval]
        held = [] if self.heldout_after is None else [self.heldout_before, self.heldout_after]
        p = 2 if max(map(abs, scores)) > 1.5 else 4
        said = f"{scores[0]:.{p}f} ({self.baseline}) → {scores[1]:.{p}f} ({scores[2]:+.{p}f} … {scores[3]:+.{p}f})"
        unseen = f", held out {held[0]:.{p}f} → {held[1]:.{p}f}" if held else ""
        name = self.problem.metric.label
        return f"<{name} {said}{unseen}; {len(self.names)} weights by {self.tuner.partition('(')[0]}>"

    def _repr_html_(self) -> str:
        """Return the answer for a notebook: what it adds to what needs no tuning, and the weights by their effect."""
        first, folds = self.replicas[0], self.folds
        if folds is not None:
            rows = [(one.name, one.score, _added(one.difference, one.interval)) for one in folds.rivals]
            rows.append(("tuned", folds.score, ""))
            where = f"on {len(folds.folds):,} sentences, none seen by its weights ({folds.n_folds} folds)"
        elif self.heldout_after is not None and first.heldout_interval is not None:
            before = self.heldout_before or 0.0
            added = _added(self.heldout_after - before, first.heldout_interval)
            rows = [(self.baseline, before, added), ("tuned", self.heldout_after, "")]
            where = f"on {first.n_heldout:,} held-out sentences"
        else:
            rows = [(self.baseline, self.before, _added(self.after - self.before, self.interval))]
            rows.append(("tuned", self.after, ""))
            where = "on the sentences it was tuned on, which flatters"
        scores = as_table(f"{self.problem.metric.label} {where}", ("", "score", "tuned adds, 95 % interval"), rows)
        return f"{scores}{self.weights._repr_html_()}"

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return any(replica.result.interrupted for replica in self.replicas)

    def named(self, weights: Float64) -> Weights:
        """Return weights by name, with the formulas of features that were added to the lists."""
        return Weights.from_vector(self.names, weights, self.problem.derived, self.problem.missing)

    @property
    def parts(self) -> list[tuple[str, float, float]]:
        """Of several metrics that were tuned for, or limited: the name, and the scores at the start and the answer."""
        metric = self.problem.metric
        if not isinstance(metric, WorstOf | Constrained):
            return []
        selected = self.problem.selected(np.array([self.start, self.replicas[0].weights]))
        start, tuned = (metric.part_scores(own.sum(axis=0)) for own in selected)
        return [(label, start[label], tuned[label]) for label in start]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        parts = [{"metric": label, "start": start, "tuned": tuned} for label, start, tuned in self.parts]
        return {
            "tuner": self.tuner,
            "metric": self.metric,
            **({"parts": parts} if parts else {}),
            "start": self._by_name(self.start),
            "oracle": self.oracle,
            "baselines": None if self.baselines is None else self.baselines.as_dict(),
            "heldout_baselines": None if self.heldout_baselines is None else self.heldout_baselines.as_dict(),
            "replicas": [
                {
                    "seed": replica.seed,
                    "baseline": replica.baseline,
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
            **({} if self.searched is None else {"search": self.searched.as_dict()}),
            **({} if self.resampled is None else {"resamples": self.resampled.as_dict()}),
            **({} if self.folds is None else {"folds": self.folds.as_dict()}),
        }

    def _by_name(self, weights: Float64) -> dict[str, float]:
        return dict(zip(self.names, weights.tolist(), strict=True))


# Where the weights of several replicas go.


def numbered(path: str, number: int) -> str:
    """Return ``weights.3.txt`` for ``weights.txt`` and 3."""
    place = Path(path)
    return str(place.with_name(f"{place.stem}.{number}{place.suffix}"))


def answers(report: TuningReport, output: str) -> dict[str, Weights]:
    """Return the weights of each replica (numbered if there are several), and the average as `output`, by file."""
    several = len(report.replicas) > 1
    found = {
        numbered(output, number) if several else output: report.named(tuned.weights)
        for number, tuned in enumerate(report.replicas, start=1)
    }
    return found if report.average is None else {**found, output: report.named(report.average)}


def answer_paths(output: str, replicas: int, *, average: bool = False) -> Sequence[str]:
    """Return the files that a job will write, so that they can be checked before it runs."""
    several = [numbered(output, number + 1) for number in range(replicas)] if replicas > 1 else []
    return [*several, output] if average or not several else several


def _added(difference: float, interval: tuple[float, float]) -> str:
    return f"{difference:+.3g} ({interval[0]:+.3g} … {interval[1]:+.3g})"
