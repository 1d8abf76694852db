"""Show what several metrics trade: the scores that no weights beat.

  luthier tradeoff pool.arrow --metric bleu --metric chrf --metric length --axis lm --plot front.pdf
  luthier tradeoff pool.arrow --metric bleu,chrf,ter --axis lm --axis wp -o front.tsv
  luthier tradeoff pool.arrow --metric bleu,column:comet --starts 40 -w mix.txt

Over a line (one --axis) or a plane (two) the Pareto front is exact: every interval or cell is visited. Over all
weights (no --axis) it is an inner front, of all intervals of exact line searches from many starts: other weights may
beat it. The answer also says which metrics conflict and by how much. Its mix has the largest smallest gain over w0,
each metric in units of its own noise. A metric without a direction, such as length, should be near 100.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.landscape import add_axis_options, add_picture_options, picture_width
from luthier.cli.options.lists import pool_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier tradeoff`."""
    add_axis_options(parser)
    parser.add_argument(
        "--metric",
        action="append",
        required=True,
        default=[],
        metavar="M",
        help="a metric, or several that commas separate; repeat it ('luthier list metrics' lists them)",
    )
    parser.add_argument(
        "--window",
        action="append",
        default=[],
        metavar="A=LO:HI",
        help="weights from LO to HI (default: a whole line; of a plane, about w0 as far as matters)",
    )
    parser.add_argument("--whole", action="store_true", help="the whole plane, where --window does not limit it")
    parser.add_argument(
        "--starts", type=int, default=20, metavar="N", help="line searches over all weights (default: 20)"
    )
    parser.add_argument("--heldout", metavar="POOL", help="unseen sentences on which the front is scored, too")
    parser.add_argument("--heldout-refs", nargs="+", default=[], metavar="R", help="references of the held-out list")
    parser.add_argument("-o", "--output", metavar="OUT", help="the front: a .tsv, .json or .arrow file")
    parser.add_argument("-w", "--weights-out", metavar="F", help="write the weights of the mix")
    add_picture_options(parser, "--plot", "draw all cells and the front")


def run(options: argparse.Namespace, output: Output) -> None:
    """Find the front, print it, write what was asked for."""
    from pathlib import Path

    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.core.files.tables import check_table_path
    from luthier.core.files.written import Written
    from luthier.jobs.tradeoff import tradeoff
    from luthier.kbest.weights import write_weights
    from luthier.report.figures.tradeoff import draw_tradeoff
    from luthier.report.tables.tradeoff import tradeoff_tables

    check_distinct(options.output, options.weights_out, options.plot)
    if options.output:
        check_table_path(options.output)
    if options.weights_out:
        check_writable(options.weights_out)
        check_apart(options.weights_out, options.pool, options.weights, *options.axis)
    width = picture_width(options, options.plot)
    pool = pool_from(options, options.pool)
    heldout = pool_from(options, options.heldout, options.heldout_refs) if options.heldout else None
    output.note(f"seed {options.seed}")
    found = tradeoff(
        pool,
        options.metric,
        axis=options.axis,
        weights=options.weights,
        window=options.window,
        whole=options.whole,
        starts=options.starts,
        heldout=heldout,
        seed=options.seed,
        threads=options.threads,
    )
    files = Written()
    if options.output:
        with files.answer(options.output):
            found.write_front(options.output)
    if options.weights_out:
        with files.answer(options.weights_out):
            write_weights(found.named_weights(found.mix), options.weights_out)
    if options.plot:
        with files.beside(options.plot):
            draw_tradeoff(found, Path(options.plot), width)
    if options.output != "-":
        output.emit({**found.as_dict(), "written": files.paths}, lambda: tradeoff_tables(found, files.paths))
    files.check()
