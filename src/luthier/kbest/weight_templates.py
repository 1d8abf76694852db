"""Weights put into a decoder's own configuration: every other line of it stays as it is.

A Moses configuration (it has a ``[weight]`` section) gets the numbers of its features in place. Weights that have no
line there are those of sparse features: they go to a file of their own, which ``[weight-file]`` then names, with those
of the file that it named before. Any other configuration, such as Joshua's, has lines ``name value``: those get new
values, and names without a line are added.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from luthier.core.errors import LuthierError
from luthier.core.files.io import display_name, write_lines
from luthier.corpus.lines import read_lines
from luthier.kbest.weights import MOSES_SECTION, SPARSE_SECTION, Weights, sparse_weights, write_weights

PAIR = re.compile(r"(\s*)(\S+)(\s+)([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(\s*)")


def write_into_template(weights: Weights, template: str, output: str) -> list[str]:
    """Write a copy of `template` with these weights to `output`, which may be the same; return the files written."""
    lines = list(read_lines(template))
    formulas = [f"# add {name}={formula}" for name, formula in weights.derived.items()]
    if not any(line.strip() == MOSES_SECTION for line in lines):
        write_lines(output, [*formulas, *_filled_pairs(lines, weights, template)])
        return [output]
    filled, rest = fill_moses(lines, weights)
    if not rest:
        write_lines(output, [*formulas, *filled])
        return [output]
    sparse = f"{output}.sparse"
    write_weights({**sparse_weights(lines, template), **rest}, sparse, style="text")
    write_lines(output, [*formulas, *_naming_file(filled, sparse)])
    return [output, sparse]


def fill_moses(lines: Sequence[str], weights: Mapping[str, float]) -> tuple[list[str], dict[str, float]]:
    """Return the lines of a Moses configuration with new weights, and the weights that have no line in it.

    >>> fill_moses(["[weight]", "LM0= 0.5", "TM0= 1 1", "Unknown0= 1"], {"LM0": 2.0, "TM0_1": 3.0, "pp_a": 4.0})
    (['[weight]', 'LM0= 2.0', 'TM0= 1 3.0', 'Unknown0= 1'], {'pp_a': 4.0})
    """
    filled, rest, inside = [], dict(weights), False
    for line in lines:
        text = line.strip()
        if text.startswith("["):
            inside = text == MOSES_SECTION
        label, equals, values = text.rpartition("=")
        old = values.split()
        if not inside or not equals or not old or text.startswith("#"):
            filled.append(line)
            continue
        label = label.strip()
        names = [label] if len(old) == 1 else [f"{label}_{k}" for k in range(len(old))]
        new = [repr(float(rest.pop(name))) if name in rest else value for name, value in zip(names, old, strict=True)]
        filled.append(f"{label}= {' '.join(new)}")
    return filled, rest


def _naming_file(lines: Sequence[str], sparse: str) -> list[str]:
    """Return the lines of a Moses configuration whose sparse weights are in a file."""
    found, inside = [], False
    for line in lines:
        if line.strip().startswith("["):
            inside = line.strip() == SPARSE_SECTION
        if not inside:
            found.append(line)
    return [*found, "", SPARSE_SECTION, sparse]


def _filled_pairs(lines: Sequence[str], weights: Mapping[str, float], template: str) -> list[str]:
    """Return lines of which those that are ``name value`` have new values."""
    filled, rest = [], dict(weights)
    for line in lines:
        pair = PAIR.fullmatch(line)
        if pair and pair[2] in rest:
            line = f"{pair[1]}{pair[2]}{pair[3]}{float(rest.pop(pair[2]))!r}{pair[5]}"
        filled.append(line)
    if len(rest) == len(weights):
        raise LuthierError(
            f"{display_name(template)}: expected a [weight] section, or lines 'name value' with a name of the weights, "
            "found neither. hint: is it the decoder's configuration?"
        )
    return [*filled, *(f"{name} {float(value)!r}" for name, value in rest.items())]
