"""Weights as the parameters that users of other decoders type: alpha and beta, scales of language models, penalties.

Most decoders score ``base + parameter · term + …``: weights are divided by that of the base, which selects the same.
A feature may also be a decoder's *total*, in which parameters were at work already. Their values then count in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from luthier.core.errors import LuthierError

Names = tuple[str, ...]
AM: Names = ("am", "ac", "acoustic", "acoustic_score", "am_score", "logit_score")
LM: Names = ("lm", "lm_logprob", "ngram", "kenlm")
LENGTH: Names = ("words", "length", "length_bonus", "tokens")


@dataclasses.dataclass(frozen=True)
class Fusion:
    """How a decoder adds scores, and how its parameters are written.

    Attributes
    ----------
    base : features whose parameter is 1; the first that has a weight is meant
    parameters : the features that each parameter multiplies
    write : the text of parameters
    total : features that are the base with all parameters at work
    complement : the parameter whose base has 1 minus it, as an interpolation has
    fixed : parameters that must have a value for the sum to be a plain one
    """

    parameters: Mapping[str, Names]
    write: Callable[[Mapping[str, float]], str]
    base: Names = ()
    total: Names = ()
    complement: str = ""
    fixed: Mapping[str, float] = dataclasses.field(default_factory=dict)


def _as_keywords(found: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in found.items())


def _as_overrides(found: Mapping[str, float]) -> str:
    return " ".join(f"{name}=[{value!r}]" for name, value in found.items())


def _as_options(found: Mapping[str, float]) -> str:
    return " ".join(f"--{name} {value!r}" for name, value in found.items())


def _as_yaml(found: Mapping[str, float]) -> str:
    return "\n".join(f"{name}: {value!r}" for name, value in found.items())


FUSIONS: Mapping[str, Fusion] = {
    "pyctcdecode": Fusion({"alpha": LM, "beta": LENGTH}, _as_keywords, AM, total=("lm_score",)),
    "nemo": Fusion({"beam_alpha": LM, "beam_beta": LENGTH}, _as_overrides, AM),
    "espnet": Fusion(
        {"ctc_weight": ("ctc",), "lm_weight": ("lm",), "ngram_weight": ("ngram",), "penalty": LENGTH},
        _as_yaml,
        ("decoder", "att", "attention"),
        complement="ctc_weight",
    ),
    "icefall": Fusion(
        {"ngram-lm-scale": ("ngram", "ngram_lm"), "attention-scale": ("attention", "att"), "lm-scale": ("lm", "nnlm")},
        _as_options,
        AM,
    ),
    "fairseq": Fusion(
        {
            "weight1": ("model1", "score1", "direct", "forward", "score"),
            "weight2": ("model2", "score2", "channel", "backward"),
            "weight3": ("lm", "model3", "score3"),
        },
        _as_options,
        fixed={"lenpen": 0.0},
    ),
    "marian": Fusion({"word-penalty": LENGTH}, _as_options),
}


def decoder_parameters(
    weights: Mapping[str, float], decoder: str, decoded_with: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return the parameters of a decoder under which it selects what the weights select.

    `decoded_with` are the parameters at work in a feature that is the decoder's total.

    >>> decoder_parameters({"am": 2.0, "lm": 1.0, "words": -0.5}, "nemo")
    {'beam_alpha': 0.5, 'beam_beta': -0.25}

    Raises
    ------
    LuthierError
        A weight that the decoder has no parameter for, by name, or a base that no parameters can be divided by.
    """
    fusion, used = FUSIONS[decoder], {name: value for name, value in weights.items() if value != 0}
    if decoder == "marian":
        return _of_ensemble(used)
    before = _before(fusion, decoder, used, decoded_with or {})
    found = {parameter: _one_of(names, used, parameter) for parameter, names in fusion.parameters.items()}
    base, total = _one_of(fusion.base, used, "the base"), _one_of(fusion.total, used, "the total")
    _refuse_others(fusion, decoder, used)
    if not fusion.base:
        return {**{name: used.get(feature, 0.0) for name, feature in found.items()}, **fusion.fixed}
    whole = used.get(total, 0.0)
    sums = {name: used.get(feature, 0.0) + whole * before.get(name, 0.0) for name, feature in found.items()}
    divisor = used.get(base, 0.0) + whole + sums.get(fusion.complement, 0.0)
    if divisor <= 0 or (fusion.complement and not 0 <= sums[fusion.complement] <= divisor):
        raise LuthierError(
            f"{decoder}: expected a positive weight of {' or '.join(map(repr, (*fusion.base, *fusion.total)))}, by "
            f"which the others are divided, found {divisor:g}. hint: bound it when tuning"
        )
    return {name: value / divisor for name, value in sums.items()}


def written_for(weights: Mapping[str, float], decoder: str, decoded_with: Mapping[str, float]) -> str:
    """Return the parameters of a decoder as its users type them."""
    found = decoder_parameters(weights, decoder, decoded_with)
    if decoder != "marian":
        return FUSIONS[decoder].write(found)
    models = " ".join(repr(value) for name, value in found.items() if name != "word-penalty")
    return f"--weights {models} " + _as_options({"word-penalty": found["word-penalty"]})


def _of_ensemble(used: Mapping[str, float]) -> dict[str, float]:
    """Return Marian's: a weight for each model of its ensemble, F0, F1, …, in this order, and the penalty of words."""
    models = [name for name in used if name.removeprefix("F").isdigit() and name.startswith("F")]
    length = _one_of(LENGTH, used, "word-penalty")
    others = [name for name in used if name not in (*models, length)]
    if others or not models:
        raise _unknown("marian", others, "F0, F1, … (models of the ensemble)", LENGTH)
    n = 1 + max(int(name[1:]) for name in models)
    return {**{f"F{k}": used.get(f"F{k}", 0.0) for k in range(n)}, "word-penalty": 0.0 - used.get(length, 0.0)}


def _one_of(names: Names, used: Mapping[str, float], what: str) -> str:
    """Return the feature that has one of some names; '' if there is none."""
    found = [name for name in names if name in used]
    if len(found) > 1:
        raise LuthierError(f"expected one feature for {what}, found {' and '.join(map(repr, found))}")
    return found[0] if found else ""


def _before(
    fusion: Fusion, decoder: str, used: Mapping[str, float], decoded_with: Mapping[str, float]
) -> Mapping[str, float]:
    unknown = [name for name in decoded_with if name not in fusion.parameters]
    if unknown:
        raise LuthierError(f"{decoder} has no parameter {unknown[0]!r}. it has: {', '.join(fusion.parameters)}")
    total = _one_of(fusion.total, used, "the total")
    missing = [name for name in fusion.parameters if name not in decoded_with]
    if total and missing:
        raise LuthierError(
            f"{total!r} is the score with {' and '.join(fusion.parameters)} of {decoder} at work: expected their "
            f"values, found none of {missing[0]!r}. hint: say `decoded_with` {missing[0]}=VALUE"
        )
    return decoded_with


def _refuse_others(fusion: Fusion, decoder: str, used: Mapping[str, float]) -> None:
    known = [*fusion.base, *fusion.total, *(name for names in fusion.parameters.values() for name in names)]
    others = [name for name in used if name not in known]
    if others:
        terms = "; ".join(f"{parameter}: {', '.join(names)}" for parameter, names in fusion.parameters.items())
        raise _unknown(decoder, others, terms, fusion.base)


def _unknown(decoder: str, others: list[str], terms: str, more: Names) -> LuthierError:
    what = f"the weight of {others[0]!r}" if others else "no model"
    also = f"; {', '.join(more)}" if more else ""
    return LuthierError(
        f"{decoder}: no parameter for {what}. It has them for {terms}{also}. hint: give the feature one of these "
        "names, or tune without it (`drop`)"
    )
