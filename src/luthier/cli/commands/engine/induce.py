"""Add columns of bins to a pool, from the rules of its derivations.

  luthier engine induce pool.arrow --bins bins.json -o binned.arrow

A column counts how many rules of a hypothesis fall into its bin. The pool says which columns are ordered bins of one
feature; its derivations stay as they are.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine induce`."""
    parser.add_argument("pool", metavar="POOL", help="a pool with derivations (without, for bins made with --global)")
    parser.add_argument("--bins", required=True, metavar="BINS", help="a file of 'luthier engine bins'")
    parser.add_argument("-o", "--output", required=True, metavar="POOL", help="the new pool")


def run(options: argparse.Namespace, output: Output) -> None:
    """Induce and save."""
    from luthier.jobs.bins import induce
    from luthier.report.console import table

    found = induce(options.pool, options.bins, output=options.output)
    pool = found.pool
    rows = [("hypotheses", pool.n_hypotheses), ("features", pool.n_features), ("of them bins", len(found.bins.names))]
    output.emit({"output": options.output, **found.as_dict()}, lambda: table("induced", ("", ""), rows))
