"""Options of commands that read or write weights."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luthier.kbest.weights import Weights


def add_strict_option(parser: argparse.ArgumentParser) -> None:
    """Add --strict."""
    parser.add_argument(
        "--strict", action="store_true", help="refuse weights for features that the lists lack (default: they count 0)"
    )


def add_writing_options(parser: argparse.ArgumentParser) -> None:
    """Add how weights are written."""
    parser.add_argument(
        "--normalize", metavar="HOW", help="l1, l2, or the name of a feature whose weight becomes 1 (or -1)"
    )
    parser.add_argument(
        "--template",
        metavar="F",
        help="a decoder's configuration (moses.ini, joshua.config): write it with these weights",
    )


def normalized(weights: Weights, options: argparse.Namespace) -> Weights:
    """Return the weights as --normalize says."""
    return weights.normalized(options.normalize) if options.normalize else weights


def write_weights_as(weights: Weights, path: str, options: argparse.Namespace, style: Any = None) -> list[str]:
    """Write weights, into the --template if there is one; return the files."""
    if options.template:
        from luthier.kbest.weight_templates import write_into_template

        return write_into_template(weights, options.template, path)
    from luthier.kbest.weights import write_weights

    write_weights(weights, path, style=style)
    return [path]
