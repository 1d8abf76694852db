"""Decide what linear weights can tell apart in a pool, with proofs.

  luthier geometry separable pool.arrow --metric bleu
  luthier geometry separable --example figure4 --plot figure4.png
  luthier geometry separable pool.arrow --bins local.json --bins global.json --json

Oracles: could a best hypothesis of each sentence win, by weights of its own, and by weights for all sentences? Pairs:
could PRO's pairs be ranked? A pair is in conflict if all weights that rank no pair the wrong way leave it tied. Each
verdict has a proof that is checked in exact arithmetic: weights, or a few constraints that contradict each other
(--json has them all). With --bins, the questions are answered again after the induction of bins.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier geometry separable`."""
    parser.add_argument("pool", metavar="POOL", nargs="?", help=HELP)
    parser.add_argument(
        "--example",
        metavar="NAME",
        help="figure4, figure5 or figure6 of Clark, Dyer and Lavie (2014), in place of a pool",
    )
    parser.add_argument(
        "--bins",
        action="append",
        default=[],
        metavar="B",
        help="also after the induction of these bins ('luthier engine bins'); may be repeated",
    )
    parser.add_argument(
        "--draws", type=int, default=5000, metavar="N", help="pairs drawn of each sentence (default: 5000)"
    )
    parser.add_argument("--kept", type=int, default=50, metavar="N", help="pairs kept of each sentence (default: 50)")
    parser.add_argument(
        "--alpha",
        type=float,
        default=5.0,
        metavar="X",
        help="least difference of gains in a pair, of 0-100 (default: 5)",
    )
    parser.add_argument(
        "--pairs",
        choices=("largest", "first", "all"),
        default="largest",
        help="which of the pairs drawn are kept: those of the largest differences, as PRO does, or a random sample; "
        "all: every pair, and what follows for LP-MERT and MIRA",
    )
    add_picture_options(parser, "--plot", "draw the pairs as points, and the weights that keep them apart")
    add_metric_options(parser, "bleu")
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Judge the pool; the verdict is no failure, so the exit code is 0."""
    from pathlib import Path

    from luthier.core.files.written import Written
    from luthier.jobs.separable import check_pairs, separable
    from luthier.report.tables.geometry import separability_tables

    check_pairs(draws=options.draws, kept=options.kept, alpha=options.alpha)
    width = picture_width(options, options.plot)
    found = separable(
        None if options.pool is None else pool_from(options, options.pool),
        metric_from(options),
        example=options.example,
        bins=options.bins,
        draws=options.draws,
        kept=options.kept,
        alpha=options.alpha,
        pairs=options.pairs,
        seed=options.seed,
    )
    written = Written()
    if options.plot:
        from luthier.report.figures.separable import draw_separability

        with written.beside(options.plot):
            draw_separability(found.models, Path(options.plot), width)
    output.emit(found.as_dict(), lambda: separability_tables(found.models, all_pairs=found.all_pairs))
    written.check()
    return 0
