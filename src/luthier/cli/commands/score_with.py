"""Score every hypothesis with one more scorer, into a new pool.

  luthier score-with 'python kiwi.py' pool.arrow --name kiwi -o scored.arrow
  luthier score-with ngram pool.arrow --option model=lm.arpa --name lm -o scored.arrow
  luthier score-with 'python comet.py' pool.arrow --references --name comet -o scored.arrow

A command gets a line of JSON for each hypothesis (id, src, hyp; ref with --references) and prints a number a
line, in the same order. It is started again when it dies, and ended when it is silent for an hour. Answers are
kept beside the output as they come: nothing is scored twice, and the same command resumes where it was ended.
'luthier list scorers' names those that need no command.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.lists import HELP, add_pool_options, pairs, pool_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier score-with`."""
    parser.add_argument("scorer", metavar="COMMAND", help="a command in quotes, or the name of a scorer")
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--name", required=True, metavar="NAME", help="what the numbers are called")
    parser.add_argument("-o", "--output", required=True, metavar="POOL2", help="the pool with the numbers")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of a scorer; of a command: seconds=S, how long it may be silent",
    )
    parser.add_argument(
        "--references", action="store_true", help="give it the references; the numbers are then a column to tune for"
    )
    parser.add_argument("--scorer-version", default="", metavar="V", help="another version scores anew")
    parser.add_argument(
        "--batch",
        type=int,
        default=64,
        metavar="N",
        help="hypotheses that a scorer without a command takes at once (64)",
    )
    parser.add_argument("--cache", metavar="FILE", help="where answers are kept (default: POOL2.scores)")
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Score, and say what the numbers are like."""
    from luthier.cli.options.fields import convert_fields
    from luthier.core import plugins
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_apart, check_writable
    from luthier.jobs.score_with import score_with
    from luthier.jobs.scoring_program import Program
    from luthier.report.console import table
    from luthier.scorers._scorer import PACKAGE

    if options.output == "-":
        raise LuthierError("a pool is a file: expected its name after -o, found -")
    check_writable(options.output)
    check_apart(options.output, options.pool)
    given = pairs(options.option, str, "--option", first=True)
    if given and (plugins.is_known(PACKAGE, options.scorer) or set(given) == {"seconds"}):
        method = plugins.load(PACKAGE, options.scorer) if plugins.is_known(PACKAGE, options.scorer) else Program
        given = convert_fields(method, given, options.scorer)
    found = score_with(
        options.scorer,
        pool_from(options, options.pool),
        name=options.name,
        output=options.output,
        option=given,
        references=options.references,
        scorer_version=options.scorer_version,
        batch=options.batch,
        cache=options.cache,
    )
    counts = [("hypotheses", found.hypotheses), ("scored now", found.scored), ("kept from before", found.kept)]
    numbers = [("lowest", found.low), ("mean", found.mean), ("highest", found.high)]
    rows = [*counts, *((label, "" if value is None else f"{value:.6g}") for label, value in numbers)]
    output.emit(found.as_dict(), lambda: table(f"{found.role} {found.name}", ("", "number"), rows))
