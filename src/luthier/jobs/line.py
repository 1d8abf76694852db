"""The score along a line of weights: ``luthier.line`` finds every interval on which it is constant."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.core.html import Shown
from luthier.core.params import DEFAULT_SEED, checked
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, axes_at, cores, weighted
from luthier.jobs.surface import check_choice, check_resamples
from luthier.kbest.derived import derived_of
from luthier.kbest.weights import Weights
from luthier.landscape.lines.line_report import LineReport, follow_line, read_window
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.robust import RobustOptimum, robust_place
from luthier.landscape.subspaces import read_subspace
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric


@dataclasses.dataclass(frozen=True, eq=False)
class Line(Shown):
    """Every interval of a line, and the chosen point.

    `report` has the intervals; `chosen` is the place that `choose` prefers to the highest score, or None.
    """

    report: LineReport
    chosen: RobustOptimum | None
    seed: int

    @property
    def weights(self) -> Weights:
        """The weights of the answer, by name."""
        report = self.report
        place = report.optimum.position if self.chosen is None else float(self.chosen.position)
        pool = report.problem.pool
        return Weights.from_vector(pool.features.names, report.line.weights([place]), derived_of(pool))

    def plot(self) -> Any:
        """Return a figure of matplotlib with the curve of the score."""
        from luthier.report.figures.line import line_picture

        return line_picture(self.report)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the curve itself."""
        about = {"seed": self.seed, **self.report.as_dict()}
        if self.chosen is not None:
            about["chosen"] = self.chosen.as_dict(self.report.axis.origin)
        return about


@checked
def line(
    pool: AnyPool,
    metric: str | Metric = "bleu",
    *,
    axis: AnyPath | Sequence[AnyPath],
    weights: AnyWeights | None = None,
    window: str = ":",
    check: int | None = None,
    resamples: int | None = None,
    choose: str = "highest",
    noise: float = 0.1,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
) -> Line:
    """Find the exact curve of a metric along a line of weights: all its intervals.

    Parameters
    ----------
    pool, metric
        Lists, or where they are; a metric or its name.
    axis
        A feature by its name, or a file of ``name value`` lines.
    weights
        w0, where the line begins: by name, a vector or a file (default: 1 for each feature, −1 for costs).
    window
        ``"lo:hi"``, weights of the feature or offsets along a file; an end that is left out is infinite.
    check
        How many intervals, drawn at random, are re-ranked; None is all of them.
    resamples
        Find the optimum on so many resamples of the sentences, too: `report.stability`.
    choose, noise
        Which place is the answer: ``highest``, ``robust``, ``worst`` or ``disc``, under noise of the weights.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0], "hyp": ["a", "b"], "lm": [1.0, 2], "tm": [2.0, 1], "q": [0.2, 0.5]}
    >>> found = line(pool_from_frame(frame, columns=["q"]), "column:q", axis="lm")
    >>> found.report.low.tolist(), found.report.scores.tolist(), found.weights["lm"] > 1
    ([-inf, 0.0], [0.2, 0.5], True)
    """
    check_choice(choose, noise)
    check_resamples(resamples)
    pool, start = weighted(pool, weights)
    subspace = read_subspace(pool, start, axes_at(axis), expected=1)
    limits = read_window(window, subspace)
    problem = ListProblem.of(pool, as_metric(metric))
    report = follow_line(problem, subspace, limits, check=check, resamples=resamples, seed=seed, threads=cores(threads))
    return Line(report, None if choose == "highest" else robust_place(report, choose, noise), seed)
