"""What several metrics trade: ``luthier.tradeoff`` finds their Pareto front over a line, a plane or all weights."""

from __future__ import annotations

from collections.abc import Sequence

from luthier.core.errors import LuthierError
from luthier.core.params import DEFAULT_SEED, checked
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, axes_at, cores, pool_at, weighted
from luthier.kbest.features import align_features
from luthier.landscape.lines.line_report import read_window as read_line_window
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane, read_window
from luthier.landscape.subspaces import read_start, read_subspace
from luthier.landscape.tradeoff.result import Tradeoff
from luthier.landscape.tradeoff.walks import inner_front, line_front, noise_at, plane_front, same_scores, scores_at
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric, split_specs
from luthier.metrics.several import Joint

PLACES = ("all weights", "line", "plane")


@checked
def tradeoff(
    pool: AnyPool,
    metric: str | Sequence[str | Metric],
    *,
    axis: AnyPath | Sequence[AnyPath] = (),
    weights: AnyWeights | None = None,
    window: str | Sequence[str] = (),
    whole: bool = False,
    starts: int = 20,
    heldout: AnyPool | None = None,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
) -> Tradeoff:
    """Find the Pareto front of several metrics: the scores that no other weights beat in all of them.

    Over a line (one `axis`) or a plane (two) the front is exact: every interval or cell is visited, none is sampled.
    Over all weights (no axis) it is an inner front, made of all intervals of exact line searches from many starts.

    Parameters
    ----------
    pool
        Lists, or where they are.
    metric
        Two metrics or more, by name (commas separate them) or themselves. One without a direction, such as ``length``,
        is better the nearer it is to 100.
    axis
        Features by their names, or files of ``name value`` lines.
    weights
        w0: by name, a vector or a file (default: 1 for each feature, −1 for costs).
    window, whole
        ``"lm=-1:1"`` for each axis (default: a line's whole length; of a plane, about w0 as far as matters), or the
        whole plane.
    starts
        Of the line searches over all weights.
    heldout
        Unseen lists on which the points of the front are scored, too.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0, 0], "hyp": ["a", "b", "c"], "lm": [0.0, 1, 2], "tm": [0.0, 2, 1], "p": [1.0, 2, 3]}
    >>> lists = pool_from_frame({**frame, "q": [3.0, 2.0, 1.0]}, columns=["p", "q"])
    >>> found = tradeoff(lists, "column:p,column:q", axis="lm")
    >>> found.scores.tolist(), found.exact
    ([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]], True)
    """
    metrics = _metrics(metric)
    axes = axes_at(axis) if axis else []
    windows = [window] if isinstance(window, str) else list(map(str, window))
    if len(axes) > 2 or (not axes and (windows or whole)) or starts < 1:
        raise LuthierError(
            f"expected no axis, one or two, windows along them, and `starts` of at least 1, found {len(axes)} axes"
        )
    lists, start = weighted(pool, weights)
    joint = Joint(tuple(metrics.values()))
    problem = ListProblem.of(lists, joint)
    start = problem.bounds.clip(read_start(problem.pool, start))
    noise = noise_at(problem, start)
    if len(axes) == 1:
        line = read_subspace(problem.pool, start, axes, expected=1)
        found = line_front(problem, line, read_line_window(windows[0] if windows else ":", line))
    elif axes:
        subspace = read_subspace(problem.pool, start, axes, expected=2)
        plane = Plane.make(problem, subspace, read_window(problem, subspace, windows, whole=whole))
        found = plane_front(plane, seed=seed, threads=cores(threads))
    else:
        found = inner_front(problem, start, noise, starts=starts, seed=seed)
    unseen = None if heldout is None else scores_at(_beside(problem, heldout), found.weights)
    return Tradeoff(
        problem=problem,
        labels=tuple(metrics),
        where=PLACES[len(axes)],
        exact=bool(axes),
        cells=found.cells,
        scores=found.scores,
        gains=joint.gains(found.scores),
        weights=found.weights,
        places=found.places,
        holds=same_scores(scores_at(problem, found.weights), found.scores),
        seen=found.seen,
        start_scores=scores_at(problem, start)[0],
        noise=noise,
        heldout_scores=unseen,
    )


def _metrics(metric: str | Sequence[str | Metric]) -> dict[str, Metric]:
    """Return two metrics or more by their labels."""
    given = [metric] if isinstance(metric, str) else list(metric)
    specs = [part for one in given for part in (split_specs(one) if isinstance(one, str) else [one])]
    found = {(one if isinstance(one, str) else one.name): as_metric(one) for one in specs}
    if len(found) < 2 or len(found) < len(specs):
        raise LuthierError(f"expected two metrics or more, each once, found {', '.join(found) or 'none'}")
    return found


def _beside(problem: ListProblem, heldout: AnyPool) -> ListProblem:
    pool = pool_at(heldout)
    features = align_features(pool.features, problem.names, problem.n_dense)
    return ListProblem.of(pool.with_features(features), problem.metric)
