"""The cones of weights that select alike: ``luthier.cones`` finds them by reverse search, streamed to a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.core.errors import Interrupted, LuthierError
from luthier.core.html import Shown
from luthier.core.params import DEFAULT_SEED, checked, path_of
from luthier.core.tasks import Engine
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, axes_at, cores, weighted
from luthier.kbest.derived import derived_of
from luthier.kbest.weights import Weights
from luthier.landscape.cones.minkowski import SearchJob, SearchOptions, SearchReport
from luthier.landscape.subspaces import read_subspace
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric

ORDERS = ("breadth", "depth", "best")


@dataclasses.dataclass(frozen=True, eq=False)
class Cones(Shown):
    """A search that has run: its report, and the search itself, from which it can be drawn."""

    report: SearchReport
    search: SearchJob
    seed: int

    @property
    def weights(self) -> Weights:
        """The weights of the best cone, by name; those of the start where there is no metric."""
        return Weights.from_vector(self.report.names, self.report.best_weights, derived_of(self.search.pool))

    @property
    def written(self) -> list[str]:
        """The files that the search leaves behind: the cones, and its state while it is not complete."""
        return self.search.options.kept

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the cones."""
        return {"seed": self.seed, **self.report.as_dict()}


@checked
def cones(
    pool: AnyPool,
    metric: str | Metric | None = "bleu",
    *,
    axis: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    weights: AnyWeights | None = None,
    order: str = "breadth",
    limit: int | None = None,
    whole: bool = False,
    checksum: bool = False,
    resume: bool = False,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    engine: Engine | None = None,
) -> Cones:
    """Find the cones of weights that select alike, in a subspace of any dimension, by reverse search.

    Parameters
    ----------
    pool, metric
        Lists, or where they are; a metric or its name, None or ``none`` for none.
    axis
        Features by their names, or files of ``name value`` lines.
    output
        The Arrow file to which cones are streamed as they are found.
    weights
        w0: by name, a vector or a file (default: 1 for each feature, −1 for costs).
    order, limit
        Nearest to w0 first (``breadth``), ``depth``-first or guided by the metric (``best``); stop at so many cones.
    whole, checksum
        Search cones beyond the subspace, too; compare their number with what partial sums say.
    resume
        Go on with a search that was stopped.

    Raises
    ------
    Interrupted
        If Ctrl-C is pressed; its `result` is the search so far, which `resume` resumes.
    """
    if order not in ORDERS:
        raise LuthierError(f"expected the order {', '.join(ORDERS)}, found {order!r}")
    check_search(limit=limit, whole=whole, checksum=checksum)
    settings = SearchOptions(
        output=path_of(output),
        order=order,
        limit=limit,
        whole=whole,
        resume=resume,
        threads=cores(threads),
        seed=seed,
        checksum=checksum,
    )
    scored = None if metric is None or metric == "none" else as_metric(metric)
    lists, start = weighted(pool, weights)
    search = SearchJob(lists, read_subspace(lists, start, axes_at(axis)), scored, settings, engine=engine)
    found = Cones(search.run(), search, seed)
    if found.report.interrupted:
        raise Interrupted(found)
    return found


def check_search(*, limit: int | None, whole: bool, checksum: bool) -> None:
    """Raise where options of a search exclude each other."""
    if limit is not None and limit < 1:
        raise LuthierError(f"expected `limit` of at least 1, found {limit}")
    if checksum and not whole:
        raise LuthierError("a checksum counts the whole fan. hint: add `whole`")
