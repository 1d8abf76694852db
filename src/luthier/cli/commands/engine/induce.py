"""Give the hypotheses of a pool the columns of bins, from the rules in their derivations.

  luthier engine induce pool.arrow --bins bins.json -o binned.arrow

A hypothesis counts how many of its rules fell into each bin. The pool says which columns are ordered bins of one
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
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_apart, check_writable
    from luthier.features.bins_file import read_bins
    from luthier.features.induction import induce_pool
    from luthier.kbest.storage.pool_file import open_pool, save_pool
    from luthier.report.console import table

    check_writable(options.output)
    check_apart(options.output, options.pool, options.bins)
    bins, pool = read_bins(options.bins), open_pool(options.pool)
    try:
        induced = induce_pool(pool, bins)
    except LuthierError as error:
        raise LuthierError(f"{options.pool}: {error}") from None
    save_pool(induced, options.output)
    fired = {name: len(names) for name, names in ((group.name, group.columns) for group in bins.groups)}
    record = {"output": options.output, "features": induced.n_features, "bins": fired}
    rows = [("hypotheses", induced.n_hypotheses), ("features", induced.n_features), ("of them bins", len(bins.names))]
    output.emit(record, lambda: table("induced", ("", ""), rows))
