"""Weights for a search: by name, checked, with a stated default for every feature that is known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.progress import notice
from luthier.decoding.models import NAME
from luthier.kbest.weights import Weights

# Set by hand, where costs are negative: a start for tuning, and better than nothing without it.
DEFAULTS = {
    "EgivenFCoherent": -1.0, "SampleCountF": -0.1, "CountEF": 0.1, "MaxLexFgivenE": -0.5, "MaxLexEgivenF": -0.5,
    "IsSingletonF": -0.1, "IsSingletonFE": -0.1, "Glue": -0.1, "PassThrough": -5.0, "WordPenalty": -1.0,
}  # fmt: skip
MODEL_DEFAULT, UNKNOWN_DEFAULT = 1.0, -1.0
SHOWN = 5


def default_weights(names: Sequence[str], model_names: Sequence[str] = (NAME, f"{NAME}_OOV")) -> Weights:
    """Return the stated default weights: 0 for features that nothing is said of.

    `model_names` are two of each language model: what it says, and how many words it does not know.
    """
    known = dict(DEFAULTS)
    for said, unknown in zip(model_names[::2], model_names[1::2], strict=True):
        known[said], known[unknown] = MODEL_DEFAULT, UNKNOWN_DEFAULT
    return Weights({name: known.get(name, 0.0) for name in names})


def weight_vector(weights: Mapping[str, float], names: Sequence[str], *, quiet: bool = False) -> Float64:
    """Return the weights of features in their order, (D,); one that is missing counts 0, which is said unless `quiet`.

    Raises
    ------
    LuthierError
        A weight that is no finite number, or no feature with a weight other than 0.
    """
    for name, value in weights.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise LuthierError(f"expected a finite weight for {name!r}, found {value!r}")
    vector = np.array([float(weights.get(name, 0.0)) for name in names])
    if not vector.any():
        raise LuthierError(
            f"expected a weight other than 0 for a feature of the search ({', '.join(names[:SHOWN])} …), found none. "
            "hint: with all weights 0 every translation is as good as any other"
        )
    if quiet:
        return vector
    known = set(names)
    _say("have no weight, which counts 0", "features", [name for name in names if name not in weights])
    _say("are of no feature of the search, and are not used", "weights", [n for n in weights if n not in known])
    return vector


def _say(what: str, kind: str, names: Sequence[str]) -> None:
    if names:
        shown = ", ".join(repr(name) for name in names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
        notice(f"{len(names)} {kind} {what}: {shown}")
