"""Whether some weights make a selection: ``luthier.feasible`` decides it, with a proof either way."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from luthier.core.errors import LuthierError
from luthier.core.params import checked
from luthier.jobs.opening import AnyPath, AnyPool, pool_at
from luthier.kbest.pool import Pool
from luthier.landscape.selections.feasibility import Choice, Verdict, choose, judge
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric


@checked
def feasible(pool: AnyPool, select: AnyPath | npt.ArrayLike, *, metric: str | Metric = "bleu") -> Verdict:
    """Decide whether some weights make a given selection, with a proof that is checked in exact arithmetic.

    Parameters
    ----------
    pool
        Lists, or where they are.
    select
        ``oracle`` (the greedy corpus oracle of the metric), ``sentence-oracle``, ``first``, a file with a hypothesis
        number for each sentence, or rows of the pool as `rerank` returns them, −1 for no choice.
    metric
        A metric or its name, for the oracles.

    Returns
    -------
    Verdict
        Its `weights` have the largest margin; None if there are none, and its `contradiction()` says why.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0, 1, 1], "hyp": ["a", "b", "c", "d"], "lm": [1.0, 2, 1, 2]}
    >>> lists = pool_from_frame(frame)
    >>> feasible(lists, [0, 2]).weights["lm"] < 0, feasible(lists, [0, 3]).weights
    (True, None)
    """
    lists = pool_at(pool)
    if isinstance(select, str) or hasattr(select, "__fspath__"):
        return judge(lists, choose(lists, str(select), as_metric(metric)))
    return judge(lists, Choice("given rows", _rows(lists, select)))


def _rows(pool: Pool, select: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return rows of a pool, (N,), one of each list or −1."""
    rows = np.asarray(select)
    if rows.shape != (pool.n_sentences,) or rows.dtype.kind not in "iu":
        raise LuthierError(
            f"expected a row for each of {pool.n_sentences} sentences, found {rows.dtype} of shape {rows.shape}"
        )
    outside = (rows != -1) & ((rows < pool.offsets[:-1]) | (rows >= pool.offsets[1:]))
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise LuthierError(
            f"expected a row from {pool.offsets[at]} to {pool.offsets[at + 1] - 1} for sentence {at}, or -1, "
            f"found {rows[at]}"
        )
    return rows.astype(np.int64)
