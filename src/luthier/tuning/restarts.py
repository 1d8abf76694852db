"""Where runs start: the given weights, and others drawn about them or anywhere."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds
from luthier.tuning.run_options import RESTART_KINDS

PERTURBED_FEATURES = 3


def draw_start(kind: str, start: Float64, scale: Float64, bounds: Bounds, rng: np.random.Generator) -> Float64:
    """Return a start of one more run, inside the bounds, (D,).

    Parameters
    ----------
    kind
        ``random``: every free weight anew, normal, in units of `scale`. ``perturbed``: every free weight
        moved by a normal amount. ``few``: three free weights moved, as [zhao2009] do. ``walk``: as
        ``perturbed``, from where the run before ended [moore2008]; `start` is then that end.
    scale : (D,)
        How much of each weight counts as one unit: weights whose features spread little are larger.
    """
    if kind not in RESTART_KINDS:
        raise LuthierError(f"expected one of {', '.join(RESTART_KINDS)}, found {kind!r}")
    noise = rng.standard_normal(len(start)) * scale
    if kind == "random":
        moved = noise
    elif kind == "few":
        free = np.flatnonzero(~bounds.fixed)
        chosen = rng.choice(free, size=min(PERTURBED_FEATURES, len(free)), replace=False)
        moved = start.copy()
        moved[chosen] += noise[chosen]
    else:
        moved = start + noise
    return bounds.clip(np.where(bounds.fixed, start, moved))
