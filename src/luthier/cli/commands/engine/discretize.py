"""Put bins in place of features in a grammar.

  luthier engine discretize grammar.gz --bins bins.json -o binned.gz
  luthier engine discretize grammars/ --bins bins.json -o binned/
  luthier engine discretize val.grammar --bins bins.json -o val.binned.grammar

Text in cdec's format is rewritten line by line, for any decoder that reads it. A folder of grammars is rewritten file
by file. A grammar of our own becomes another, or text (.txt, .gz, .zst, -).
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine discretize`."""
    parser.add_argument("grammar", metavar="GRAMMAR", help="a grammar, or a folder of them; - is standard input")
    parser.add_argument("--bins", required=True, metavar="BINS", help="a file of 'luthier engine bins'")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="a file or a text, as above; or a folder")


def run(options: argparse.Namespace, output: Output) -> None:
    """Rewrite, and say how much."""
    from luthier.jobs.bins import discretize
    from luthier.report.console import table

    result = discretize(options.grammar, options.bins, options.output)
    if options.output != "-":
        rows = [
            ("rules", result.rules),
            ("features", ", ".join(result.features)),
            ("columns", result.columns),
            ("written", result.output),
        ]
        output.emit(result.as_dict(), lambda: table("discretized", ("", ""), rows))
