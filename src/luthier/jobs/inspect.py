"""What is in a pool: ``luthier.inspect``."""

from __future__ import annotations

import os

from luthier.core.errors import LuthierError
from luthier.core.params import checked
from luthier.jobs.opening import AnyPool, pool_at
from luthier.kbest.inspect import PoolSummary
from luthier.kbest.inspect import inspect as summarize


@checked
def inspect(pool: AnyPool, *, verify: bool = False) -> PoolSummary:
    """Summarise a pool: features, lists, repeats and redundancies.

    With `verify` its file is first compared with the digests that were written with it.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> found = inspect(pool_from_frame({"id": [0, 0], "hyp": ["a", "b"], "lm": [1.0, 2], "tm": [2.0, 4]}))
    >>> found.n_hypotheses, found.features[1].relation
    (2, '+2·lm')
    """
    if not verify:
        return summarize(pool_at(pool))
    from luthier.kbest.storage.pool_file import verify_pool

    if not isinstance(pool, str | os.PathLike):
        raise LuthierError("expected the file of a pool to verify, found a pool. hint: leave out `verify`")
    return summarize(verify_pool(pool))
