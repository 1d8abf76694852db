"""Turn weights into another form: lines, Moses, JSON, configurations.

luthier data weights weights.txt weights.json
luthier data weights weights.txt weights.ini
luthier data weights weights.txt tuned.ini --template moses.ini
luthier data weights weights.txt scaled.txt --normalize lm
luthier data weights weights.json - --to pyctcdecode --decoded-with alpha=0.5 --decoded-with beta=1.5

For pyctcdecode, nemo, espnet, icefall, fairseq and marian it writes what their users type. A weight that such a
decoder has no parameter for is refused.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.options.weights import add_writing_options, normalized, write_weights_as
from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.kbest.weights import Weights

DECODERS = ("pyctcdecode", "nemo", "espnet", "icefall", "fairseq", "marian")
STYLES = {"text": "text", "moses": "moses", "json": "json", "travatar": "equals", "joshua": "text", "cdec": "text"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier data weights`."""
    parser.add_argument("input", metavar="IN", help="weights in any of the forms")
    parser.add_argument("output", metavar="OUT", help=".json is JSON, .ini a [weight] section, else lines")
    parser.add_argument(
        "--to",
        choices=[*STYLES, *DECODERS],
        help="the form (default: by OUT's ending): text, cdec and joshua are lines 'name value', travatar 'name=value'",
    )
    parser.add_argument(
        "--decoded-with",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter inside a feature that is the decoder's total, as pyctcdecode's lm_score is",
    )
    add_writing_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Read and write."""
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_writable
    from luthier.kbest.weights import read_weights
    from luthier.report.console import table

    check_writable(options.output)
    if options.template and options.to:
        raise LuthierError("--template has the form of its own: leave --to out")
    weights = normalized(read_weights(options.input), options)
    if options.to in DECODERS:
        _write_parameters(weights, options, output)
        return
    if options.decoded_with:
        raise LuthierError(f"--decoded-with is for --to {', '.join(DECODERS)}")
    write_weights_as(weights, options.output, options, STYLES.get(options.to))
    if options.output != "-":
        output.emit({"weights": dict(weights)}, lambda: table("weights", ("name", "weight"), list(weights.items())))


def _write_parameters(weights: Weights, options: argparse.Namespace, output: Output) -> None:
    """Write weights as the parameters of another decoder."""
    from luthier.cli.options.lists import pairs
    from luthier.core.files.io import write_lines
    from luthier.kbest.fusion import decoder_parameters, written_for

    before = pairs(options.decoded_with, float, "--decoded-with")
    write_lines(options.output, [written_for(weights, options.to, before)])
    if options.output != "-":
        from luthier.report.console import table

        found = decoder_parameters(weights, options.to, before)
        output.emit({"parameters": found}, lambda: table(options.to, ("parameter", "value"), list(found.items())))
