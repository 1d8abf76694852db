"""Say which scorers help: each is left out, the others tuned again.

  luthier ablate pool.arrow --metric bleu --plot ablation.png
  luthier ablate list.jsonl --column comet --metric column:comet --group lms=lm,big_lm --forward

Every scorer, or group of scorers, is left out, and the others are tuned again from the weights of all. It is also
scored alone. Every sentence is re-ranked by weights of other folds. Δ is what the scorer adds to the score of all
sentences, with its 95 % interval; p is corrected for the number of scorers (Holm). A scorer helps, hurts, or cannot
be told; then the table says how large an effect would have been seen. 'luthier ablate POOL --method NAME --help' has
the options of a tuner.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from luthier.cli.options.fields import add_tuner_options, field_values
from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.options.lists import HELP, add_pool_options, pairs, pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output

COLD = 25, 14  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier ablate`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument(
        "--method", default="auto", metavar="NAME", help="the tuner; 'luthier list tuners' lists them (default: auto)"
    )
    parser.add_argument(
        "--group", action="append", default=[], metavar="NAME=A,B", help="scorers that are left out together; repeat it"
    )
    parser.add_argument(
        "--folds",
        type=int,
        default=5,
        metavar="N",
        help="each of N folds re-ranked by weights of the others (default: 5)",
    )
    parser.add_argument("--fold-by", metavar="COLUMN", help="a column whose equal numbers stay in one fold: documents")
    parser.add_argument("--forward", action="store_true", help="also add one scorer after another, the best first")
    parser.add_argument(
        "--level", type=float, default=0.05, metavar="X",
        help="chance that one of the scorers is said to help or hurt and does not, at most (default: 0.05)",
    )  # fmt: skip
    parser.add_argument("--bound", action="append", default=[], metavar="NAME=LO:HI", help="limits of a weight: lm=0:")
    add_picture_options(parser, "--plot", "draw what each scorer adds")
    add_metric_options(parser, "bleu")
    add_pool_options(parser)


def extend_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Add the options of the tuner that was named."""
    add_tuner_options(parser, arguments)


def run(options: argparse.Namespace, output: Output) -> None:
    """Leave scorers out, print a table, draw it where asked to."""
    from luthier.core.files.written import Written
    from luthier.core.plugins import load
    from luthier.jobs.ablate import ablate
    from luthier.report.tables.validation import ablation_tables
    from luthier.tuning.base import PACKAGE

    kind = load(PACKAGE, options.method)
    metric, method = metric_from(options), kind(**field_values(kind, options))
    width = picture_width(options, options.plot)
    groups = {name: text.split(",") for name, text in pairs(options.group, str, "--group").items()}
    found = ablate(
        pool_from(options, options.pool), metric, method, groups=groups, folds=options.folds,
        fold_by=options.fold_by or "", forward=options.forward, bound=pairs(options.bound, str, "--bound"),
        level=options.level, seed=options.seed, threads=options.threads,
    )  # fmt: skip
    files = Written()
    if options.plot:
        from pathlib import Path

        from luthier.report.figures.tuning import draw_ablation

        with files.beside(options.plot):
            draw_ablation(found, Path(options.plot), width)
    output.note(f"seed {options.seed}")
    about = {"seed": options.seed, **found.as_dict(), "written": files.paths}
    output.emit(about, lambda: ablation_tables(found, files.paths))
    files.check()
