"""Randomness: a seed at the doors, a generator inside, children for parallel work."""

from __future__ import annotations

import numpy as np


def make_rng(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the generator of a seed (0 is a seed like any other), or the generator itself."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def child_rng(seed: int, number: int) -> np.random.Generator:
    """Return the generator of one unit of work: the child `number` of a seed, as `spawn` numbers them.

    >>> child_rng(5, 2).random() == make_rng(5).spawn(3)[2].random()
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
