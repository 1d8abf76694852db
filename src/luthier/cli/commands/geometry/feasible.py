"""Decide whether some weights make a given selection, with a proof.

  luthier geometry feasible pool.arrow --select oracle --metric bleu
  luthier geometry feasible pool.arrow --select picks.txt -o found.txt

The selection is 'oracle' (the greedy corpus oracle of the metric), 'sentence-oracle', 'first', or a file with one
hypothesis number for each sentence, from 0 ('-' leaves a sentence out). Exit code 0: it is feasible, and the weights
of the largest margin are shown (-o writes them). Exit code 1: it is infeasible, and a few constraints that contradict
each other are shown. Hypotheses with equal features count as one.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output

INFEASIBLE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier geometry feasible`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument(
        "--select",
        required=True,
        metavar="WHAT",
        help="oracle, sentence-oracle, first, or a file of hypothesis numbers",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="write the weights here, if there are any")
    add_picture_options(parser, "--plot", "draw the proof")
    add_metric_options(parser, "bleu")
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Judge the selection; return 0 if it is feasible, 1 if not."""
    from pathlib import Path

    from luthier.core.files.io import check_distinct, check_writable
    from luthier.core.files.written import Written
    from luthier.jobs.feasible import feasible
    from luthier.kbest.weights import write_weights
    from luthier.report.figures.feasibility import draw_verdict
    from luthier.report.tables.geometry import feasible_table, infeasible_table

    check_distinct(options.output, options.plot)
    if options.output:
        check_writable(options.output)
    width, metric = picture_width(options, options.plot), metric_from(options)
    verdict = feasible(pool_from(options, options.pool), options.select, metric=metric)
    told, written = verdict.as_dict(), Written()
    if verdict.weights is not None and options.output:
        with written.answer(options.output):
            write_weights(verdict.weights, options.output)
    if options.plot:
        with written.beside(options.plot):
            draw_verdict(verdict, Path(options.plot), width)
    if verdict.weights is None:
        output.emit(told, lambda: infeasible_table(verdict))
        return INFEASIBLE
    if options.output != "-":
        output.emit(told, lambda: feasible_table(verdict))
    written.check()
    return 0
