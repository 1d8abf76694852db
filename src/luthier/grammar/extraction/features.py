"""The numbers of a rule: logarithms with cdec's names, raw probabilities, and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64


class Counts(NamedTuple):
    """What the features of R rules are made of, each (R,).

    Attributes
    ----------
    samples : c(f)
        Occurrences of the pattern that were looked at.
    pairs : c(f, e)
        Those of them that gave this rule.
    having : Σ_e c(f, e)
        Those that gave any rule with this source side.
    lex_e_given_f, lex_f_given_e
        Lexical costs.
    """

    samples: Int64
    pairs: Int64
    having: Int64
    lex_e_given_f: Float64
    lex_f_given_e: Float64


def compute_features(names: Sequence[str], counts: Counts) -> Float64:
    """Return the named features of every rule, (R, len(names)).

    −log10 c(f,e)/c(f), log10(1 + c(f)), log10(1 + c(f,e)), the lexical costs, whether f or (f, e) was seen once; the
    probabilities behind the costs, 10^−cost; and the counts themselves.
    """
    samples, pairs, having, lex_e, lex_f = counts
    makers: dict[str, Callable[[], npt.NDArray[Any]]] = {
        "EgivenFCoherent": lambda: -np.log10(pairs / samples) + 0.0,  # no −0
        "SampleCountF": lambda: np.log10(1.0 + samples),
        "CountEF": lambda: np.log10(1.0 + pairs),
        "MaxLexFgivenE": lambda: lex_f,
        "MaxLexEgivenF": lambda: lex_e,
        "IsSingletonF": lambda: having == 1,
        "IsSingletonFE": lambda: pairs == 1,
        "P_EgivenFCoherent": lambda: pairs / samples,
        "P_MaxLexEgivenF": lambda: 10.0**-lex_e,
        "P_MaxLexFgivenE": lambda: 10.0**-lex_f,
        "C_F": lambda: samples,
        "C_FE": lambda: pairs,
    }
    out = np.empty((len(pairs), len(names)))
    for k, name in enumerate(names):
        out[:, k] = makers[name]()
    return out
