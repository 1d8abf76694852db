"""Turn weights into another form: lines, a Moses [weight] section, JSON, or a decoder's whole configuration.

luthier data weights weights.txt weights.json
luthier data weights weights.txt weights.ini
luthier data weights weights.txt tuned.ini --template moses.ini
luthier data weights weights.txt scaled.txt --normalize lm
"""

from __future__ import annotations

import argparse

from luthier.cli.options.weights import add_writing_options, normalized, write_weights_as
from luthier.cli.output import Output

STYLES = {"text": "text", "moses": "moses", "json": "json", "travatar": "equals", "joshua": "text", "cdec": "text"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier data weights`."""
    parser.add_argument("input", metavar="IN", help="weights in any of the forms")
    parser.add_argument("output", metavar="OUT", help=".json is JSON, .ini a [weight] section, else lines")
    parser.add_argument(
        "--to",
        choices=list(STYLES),
        help="the form (default: by OUT's ending): text, cdec and joshua are lines 'name value', travatar 'name=value'",
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
    write_weights_as(weights, options.output, options, STYLES.get(options.to))
    if options.output != "-":
        output.emit({"weights": dict(weights)}, lambda: table("weights", ("name", "weight"), list(weights.items())))
