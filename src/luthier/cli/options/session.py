"""Options of commands that open the explorer's session: lists, a metric, weights, traces."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.options.weights import add_metric_options, metric_from

if TYPE_CHECKING:
    from luthier.explorer.endpoints.session import Session


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is looked at."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--weights", nargs="+", default=[], metavar="W", help="files of weights, the start first")
    parser.add_argument(
        "--trace", nargs="+", default=[], metavar="T", help="files of 'luthier tune --trace', or loops' folders"
    )
    parser.add_argument("--bins", metavar="BINS", help="a file of 'luthier engine bins', for response curves")
    parser.add_argument("--heldout", metavar="POOL", help="unseen sentences, shown beside: a pool or a list")
    parser.add_argument("--heldout-refs", nargs="+", default=[], metavar="R", help="references of the held-out list")
    add_metric_options(parser, "bleu")
    add_pool_options(parser)


def session_from(options: argparse.Namespace) -> Session:
    """Return what the options name, opened."""
    from pathlib import Path

    from luthier.explorer.endpoints.session import Session, read_named
    from luthier.features.bins_file import read_bins

    metric = metric_from(options)
    pool = pool_from(options, options.pool)
    bins = read_bins(options.bins) if options.bins else None
    title = "standard input" if options.pool == "-" else Path(options.pool).name
    heldout = pool_from(options, options.heldout, options.heldout_refs) if options.heldout else None
    return Session(
        pool,
        metric,
        read_named(options.weights, pool),
        title=title,
        traces=options.trace,
        bins=bins,
        heldout=heldout,
        seed=options.seed,
        threads=options.threads,
    )
