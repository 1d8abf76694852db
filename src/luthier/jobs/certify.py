"""How far weights are from the best there are: ``luthier.certify`` bounds every box of a window, with a proof."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.core.arrays import Float64
from luthier.core.errors import Interrupted, LuthierError
from luthier.core.html import Shown
from luthier.core.params import checked
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, axes_at, cores, weighted
from luthier.kbest.derived import derived_of
from luthier.kbest.weights import Weights
from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.certified.certify import CertifyOptions
from luthier.landscape.certified.certify import certify as prove
from luthier.landscape.certified.space import span_space
from luthier.landscape.certified.windows import WindowOptions
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.subspaces import read_subspace
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric

MARGIN = 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class Certified(Shown):
    """What is proven of a window: the certificate, the weights it began at, (D,), and their score."""

    problem: ListProblem
    certificate: Certificate
    start: Float64
    start_score: float

    @property
    def weights(self) -> Weights:
        """The best weights found, by name."""
        return Weights.from_vector(self.problem.names, self.certificate.weights, derived_of(self.problem.pool))

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "start_score": self.start_score,
            **self.certificate.as_dict(),
            "names": list(self.problem.names),
        }


@checked
def certify(
    pool: AnyPool,
    metric: str | Metric = "bleu",
    *,
    axis: AnyPath | Sequence[AnyPath],
    weights: AnyWeights | None = None,
    span: AnyWeights | None = None,
    margin: float | None = None,
    window: str | Sequence[str] = (),
    reach: float = 0.0,
    whole: bool = False,
    principal: bool = True,
    ties: bool = True,
    gap: float = 0.01,
    limit: int = 100_000,
    checkpoint: str = "",
    resume: bool = False,
    threads: int | None = None,
) -> Certified:
    """Prove how far weights are from the best there are in a window round them.

    Parameters
    ----------
    pool, metric
        Lists, or where they are; a metric or its name.
    axis
        Features by their names, or files of ``name value`` lines: along these weights may move.
    weights
        w0: by name, a vector or a file (default: 1 for each feature, −1 for costs).
    span, margin
        Other weights: the window holds them and w0, and goes beyond by this share (default: 0.1).
    window, reach, whole
        ``"lm=-1:1"`` for some axes, one length along all of them, or no window at all.
    principal, ties
        Boxes along the principal axes of differences within lists; scores that are reached by ties only count.
    gap, limit
        Stop when no weights can gain more than `gap` over the best found, or after so many boxes.
    checkpoint, resume
        A file that keeps the search, and whether to resume it.

    Raises
    ------
    Interrupted
        If Ctrl-C is pressed; its `result` says what is proven so far.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0], "hyp": ["a", "b"], "lm": [1.0, 2], "tm": [2.0, 1], "q": [0.2, 0.5]}
    >>> lists, start = pool_from_frame(frame, columns=["q"]), {"lm": 1.0, "tm": 0.4}
    >>> found = certify(lists, "column:q", axis=["lm", "tm"], weights=start, whole=True)
    >>> found.certificate.score, found.certificate.complete
    (0.5, True)
    """
    windows = (window,) if isinstance(window, str) else tuple(window)
    place = WindowOptions(window=windows, reach=reach, whole=whole, principal=principal, ties=ties)
    settings = CertifyOptions(gap=gap, limit=limit, checkpoint=checkpoint, resume=resume, threads=cores(threads))
    if span is not None and (windows or reach or whole):
        raise LuthierError("expected `span` or a window of another kind, found both")
    if margin is not None and (span is None or not margin > 0):
        raise LuthierError("`margin` is a number above 0, and needs `span`")
    pool, start = weighted(pool, weights)
    subspace = read_subspace(pool, start, axes_at(axis))
    problem = ListProblem.of(pool, as_metric(metric))
    if span is None:
        space = place.space(problem, subspace)
    else:
        _, other = weighted(problem.pool, span)
        assert other is not None
        space = span_space(problem, subspace, other[None], margin or MARGIN, principal=principal)
        space = dataclasses.replace(space, ties=ties)
    found = prove(problem, space, subspace.start, settings)
    score = float(problem.metric.score(problem.stats[problem.select(subspace.start)].sum(axis=0)))
    result = Certified(problem, found, subspace.start, score)
    if found.stopped:
        raise Interrupted(result)
    return result
