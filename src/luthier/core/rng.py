"""Randomness: a seed at the doors, a generator inside, children for parallel work."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def make_rng(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the generator of a seed (0 is a seed like any other), or the generator itself."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def child_rng(seed: int, number: int) -> np.random.Generator:
    """Return the generator of one unit of work: the child `number` of a seed, as `spawn` numbers them.

    >>> child_rng(5, 2).random() == make_rng(5).spawn(3)[2].random()
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def resample_counts(seed: int, number: int, size: int) -> npt.NDArray[np.int64]:
    """Return how often each of `size` sentences is in resample `number` of a seed: as many drawn with replacement.

    >>> int(resample_counts(0, 3, 10).sum())
    10
    """
    return np.bincount(child_rng(seed, number).integers(size, size=size), minlength=size)
