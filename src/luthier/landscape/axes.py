"""How a place along an axis of weights is told: by the weight itself, or by an offset.

An axis that is one feature moves one weight: a place along it is that weight. An axis that combines features has no
weight of its own: a place along it is an offset, what the direction is multiplied by before it is added to w0.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from luthier.core.arrays import Float64
from luthier.geometry.subspace import Subspace


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of a subspace.

    Attributes
    ----------
    name : str
    is_weight : bool
        Whether it is one feature.
    origin : float
        What is told at offset 0: the feature's weight in w0; 0 for a combination of features.
    """

    name: str
    is_weight: bool
    origin: float

    @property
    def kind(self) -> str:
        """What a place along it is: ``weight`` or ``offset``."""
        return "weight" if self.is_weight else "offset"

    @property
    def label(self) -> str:
        """What stands at an axis of a picture, or before a number."""
        return f"weight of {self.name}" if self.is_weight else f"offset along {Path(self.name).name}"


def axes_of(subspace: Subspace) -> tuple[Axis, ...]:
    """Return the axes of a subspace.

    >>> line = Subspace(np.array([0.5, 2.0]), np.array([[0.0, 1.0]]), ("lm",))
    >>> axes_of(line)
    (Axis(name='lm', is_weight=True, origin=2.0),)
    >>> axes_of(Subspace(np.array([0.5, 2.0]), np.array([[1.0, 1.0]]), ("both.txt",)))[0].label
    'offset along both.txt'
    """
    found = []
    for name, direction in zip(subspace.names, subspace.directions, strict=True):
        moving = np.flatnonzero(direction)
        single = len(moving) == 1 and direction[moving[0]] == 1.0
        found.append(Axis(name, bool(single), float(subspace.start[moving[0]]) if single else 0.0))
    return tuple(found)


def origins(subspace: Subspace) -> Float64:
    """Return what is told at offset 0 of each axis, (Q,)."""
    return np.array([axis.origin for axis in axes_of(subspace)])
