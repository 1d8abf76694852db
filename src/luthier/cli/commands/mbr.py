"""Score or select by agreement within lists: minimum Bayes risk.

  luthier mbr pool.arrow --utility chrf --utility bleu --utility ter -o pool2.arrow
  luthier mbr pool.arrow --select chrf --prune -o out.txt
  luthier mbr pool.arrow --select chrf --posterior weights.txt --temperature 0.5 -o out.txt
  luthier mbr pool.arrow --score-with 'comet=python comet.py' --select comet --prune --bounds comet=0,1 -o out.txt
  luthier mbr pool.arrow --rover -o out.txt

A utility is a metric: the mean score of a hypothesis with each text of the evidence as its reference. Features
mbr_NAME are better when higher, so error rates are negated; 'luthier tune' finds their weights. All pairs are scored,
or, with --prune, those that can decide; the selection is the same.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.lists import HELP, add_pool_options, pairs, pool_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier mbr`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument(
        "--utility",
        action="append",
        default=[],
        metavar="U",
        help="a metric whose mean is added as the feature mbr_U: chrf, chrf++, bleu, ter, wer, cer, per, or a sum",
    )
    parser.add_argument("--select", metavar="U", help="write the hypothesis of each list that has the highest mean")
    parser.add_argument("--rover", action="store_true", help="write what wins the votes of a confusion network")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="a pool (--utility, --matrix) or a text; - is stdout"
    )
    group = parser.add_argument_group("evidence")
    group.add_argument("--evidence", metavar="POOL2", help="compare with the lists of this pool (default: its own)")
    group.add_argument("--first", type=int, metavar="N", help="with the first N of each list only")
    group.add_argument("--posterior", metavar="W", help="a text counts by softmax(w·h/τ) at these fixed weights")
    group.add_argument(
        "--temperature",
        type=float,
        action="append",
        default=[],
        metavar="T",
        help="the τ of --posterior; several add a feature each (default: 1)",
    )
    group.add_argument("--leave-self-out", action="store_true", help="compare a hypothesis with the others only")
    group.add_argument(
        "--matrix",
        action="append",
        default=[],
        metavar="NAME=NPZ",
        help="scores of pairs from elsewhere: a matrix for each sentence id, rows are hypotheses, columns evidence",
    )
    group.add_argument(
        "--score-with",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="a program or scorer of pairs, as of 'luthier score-with --references': the reference is the other text",
    )
    group.add_argument(
        "--bounds",
        action="append",
        default=[],
        metavar="NAME=LOW,HIGH",
        help="lowest and highest score of such a scorer, so that --prune can leave pairs unscored",
    )
    group.add_argument("--cache", metavar="FILE", help="where a scorer's answers are kept (default: OUT.scores)")
    group = parser.add_argument_group("speed")
    group.add_argument(
        "--aggregate", action="store_true", help="compare with mean n-gram counts (chrf, bleu), in linear time"
    )
    group.add_argument("--prune", action="store_true", help="with --select: leave out what cannot be the best")
    add_pool_options(parser)


def _bounds(text: str) -> tuple[float, float]:
    low, high = text.split(",")
    return float(low), float(high)


def run(options: argparse.Namespace, output: Output) -> None:
    """Score, write, and say what came out."""
    from luthier.core.files.io import check_apart, check_writable, open_output
    from luthier.jobs.mbr import mbr
    from luthier.jobs.rerank import BREAKS
    from luthier.jobs.score_with import KEPT
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.report.tables.lists import consensus_tables

    check_writable(options.output)
    check_apart(options.output, options.pool, options.evidence, options.posterior, options.cache)
    found = mbr(
        pool_from(options, options.pool),
        options.utility,
        select=options.select,
        evidence=options.evidence,
        first=options.first,
        counts=options.counts or None,
        posterior=options.posterior,
        temperature=options.temperature,
        leave_self_out=options.leave_self_out,
        matrix=pairs(options.matrix, str, "--matrix", first=True),
        score_with=pairs(options.score_with, str, "--score-with", first=True),
        bounds=pairs(options.bounds, _bounds, "--bounds", first=True),
        cache=options.cache or (f"{options.output}{KEPT}" if options.score_with and options.output != "-" else None),
        aggregate=options.aggregate,
        prune=options.prune,
        rover=options.rover,
        threads=options.threads,
    )
    if found.texts is None:
        save_pool(found.pool, options.output)
    else:
        with open_output(options.output) as file:
            file.write("".join(f"{BREAKS.sub(' ', text)}\n" for text in found.texts).encode("utf-8"))
    if options.output != "-":
        output.emit({**found.as_dict(), "output": options.output}, lambda: consensus_tables(found, options.output))
