"""Write the hypotheses of a pool as the files that a scorer reads.

  luthier export pool.arrow --for comet -o scoring
  luthier export pool.arrow --for metricx -o scoring
  luthier export pool.arrow --for text -o scoring

Each file has the hypotheses in the order of the pool, which is the order in which 'luthier add' reads scores back.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output

SCORERS = ("comet", "metricx", "text")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier export`."""
    parser.add_argument("pool", metavar="POOL", help="a pool, or a list of any format")
    parser.add_argument(
        "--for",
        dest="scorer",
        choices=SCORERS,
        required=True,
        help="comet: src.txt, hyp.txt, ref.txt; metricx: input.jsonl; text: hyp.txt",
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder to write to")


def run(options: argparse.Namespace, output: Output) -> None:
    """Write, and say what was written."""
    from luthier.jobs.scorers import export
    from luthier.report.console import table

    found = export(options.pool, options.scorer, options.output)
    rows = [(path, found.hypotheses) for path in found.files]
    output.emit(found.as_dict(), lambda: table("written", ("file", "hypotheses"), rows))
