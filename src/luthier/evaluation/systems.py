"""A system: several replicas of one way to translate, on one test set."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank, selected_texts


class Lines(Protocol):
    """Anything with N texts: a list of strings, a column of them."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> str: ...


@dataclasses.dataclass(frozen=True, eq=False)
class System:
    """R replicas on N sentences.

    Attributes
    ----------
    name
    stats : metric's name → (R, N, S)
        Statistics of each translation, S being the metric's own number of them.
    texts : R times N texts, or nothing
        The translations, to be shown.
    """

    name: str
    stats: Mapping[str, npt.NDArray[Any]]
    texts: Sequence[Lines] = ()

    def __post_init__(self) -> None:
        if not self.stats:
            raise LuthierError(f"system {self.name!r} has no statistics of any metric")
        for metric, array in self.stats.items():
            if array.ndim != 3 or array.shape[:2] != (self.n_replicas, self.n_sentences) or not array.size:
                raise LuthierError(
                    f"expected statistics (replicas, sentences, S) of {metric!r} for system {self.name!r}, "
                    f"the same replicas and sentences as for other metrics, found shape {array.shape}"
                )
        lengths = [len(column) for column in self.texts]
        if lengths and lengths != [self.n_sentences] * self.n_replicas:
            raise LuthierError(
                f"expected {self.n_replicas} × {self.n_sentences} translations of system {self.name!r}, found {lengths}"
            )

    @property
    def n_replicas(self) -> int:
        """How many replicas, R."""
        return len(next(iter(self.stats.values())))

    @property
    def n_sentences(self) -> int:
        """How many sentences, N."""
        return int(next(iter(self.stats.values())).shape[1])

    def distinct_replicas(self) -> int:
        """Return how many replicas differ in the statistics of some sentence under some metric."""
        return len({tuple(array[r].tobytes() for array in self.stats.values()) for r in range(self.n_replicas)})


def system_from_pool(
    name: str,
    pool: Pool,
    weights: Float64,
    stats: Mapping[str, npt.NDArray[Any]],
    *,
    threads: int = 1,
) -> System:
    """Return the system of what R weight vectors select from a pool.

    Parameters
    ----------
    weights : (R, D)
        One vector for each replica.
    stats : metric's name → (M, S)
        Statistics of all hypotheses.
    """
    empty = np.flatnonzero(pool.list_lengths == 0)
    if len(empty):
        raise LuthierError(
            f"expected hypotheses for every sentence, found none for sentence {pool.sentence_ids[int(empty[0])]} "
            f"({len(empty)} such). hint: leave such sentences out of the pool"
        )
    rows = rerank(pool, np.atleast_2d(weights), threads=threads)  # (R, N)
    return System(
        name,
        {metric: values[rows] for metric, values in stats.items()},
        [selected_texts(pool, replica) for replica in rows],
    )
