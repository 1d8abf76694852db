"""Randomness: a seed at the doors, a generator inside, children for parallel work."""

from __future__ import annotations

import numpy as np


def make_rng(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the generator of a seed (0 is a seed like any other), or the generator itself."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
