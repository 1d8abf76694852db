"""Turn weights into another form: 'name value' lines, a Moses [weight] section, or JSON.

luthier weights weights.txt weights.json
luthier weights weights.txt moses.ini
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output

GROUP = "lists"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier weights`."""
    parser.add_argument("input", metavar="IN", help="weights in any of the forms")
    parser.add_argument("output", metavar="OUT", help=".json is JSON, .ini a [weight] section, else lines")
    parser.add_argument("--to", choices=("text", "moses", "json"), help="the form (default: by OUT's ending)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Read and write."""
    from luthier.core.files.io import check_writable
    from luthier.kbest.weights import read_weights, write_weights
    from luthier.report.console import table

    check_writable(options.output)
    weights = read_weights(options.input)
    write_weights(weights, options.output, style=options.to)
    if options.output != "-":
        output.emit({"weights": dict(weights)}, lambda: table("weights", ("name", "weight"), list(weights.items())))
