"""Tune weights on a pool for a metric.

  luthier tune pool.arrow --metric bleu --method mert -o weights.txt
  luthier tune pool.arrow --method pro --heldout heldout.arrow --replicas 3 -o weights.txt

Each tuner has options of its own: 'luthier tune POOL --method NAME --help' shows them, 'luthier tuners'
lists all. Ctrl-C keeps the best weights so far.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from luthier.cli.fields import add_field_options, field_values
from luthier.cli.metric_options import add_metric_options, metrics_from
from luthier.cli.output import Output
from luthier.cli.reading_options import pairs

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all tuners share."""
    from luthier.tuning.run_options import RunOptions

    parser.add_argument("pool", metavar="POOL")
    parser.add_argument("--method", required=True, metavar="NAME", help="the tuner; 'luthier tuners' lists them")
    parser.add_argument("-o", "--output", required=True, metavar="W", help="weights to write (.txt, .json, .ini)")
    parser.add_argument("--start", metavar="W", help="weights to start from (default: equal, negative for costs)")
    parser.add_argument("--heldout", metavar="POOL", help="unseen sentences that choose the answer")
    parser.add_argument(
        "--bound", action="append", default=[], metavar="NAME=LO:HI",
        help="limits of a weight: lm=0: (not negative), wp=-1:1, tm=0.5 (fixed)",
    )  # fmt: skip
    parser.add_argument(
        "--standardize-features",
        action="store_true",
        help="bring features to one scale while tuning; undone at the end",
    )
    parser.add_argument("--replicas", type=int, default=1, metavar="N", help="as many seeds, weights.1.txt and so on")
    parser.add_argument("--average-replicas", action="store_true", help="also write their average")
    parser.add_argument("--trace", metavar="JSONL", help="write every state of every run")
    parser.add_argument("--plot", metavar="PNG", help="draw the score by step, and by each weight at the end")
    add_metric_options(parser, "bleu")
    add_field_options(parser, RunOptions)


def extend_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Add the options of the tuner that was named."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--method")
    name = peek.parse_known_args(list(arguments))[0].method
    if name:
        from luthier.core.plugins import load
        from luthier.tuning.base import PACKAGE

        add_field_options(parser, load(PACKAGE, name), f"options of {name}")


def run(options: argparse.Namespace, output: Output) -> int:
    """Tune, write the weights, show what was reached."""
    from luthier.core.plugins import load
    from luthier.pipelines.tune_command import tune_from_options, write_all
    from luthier.report.tables.tuning import tuning_report, tuning_tables
    from luthier.tuning.base import PACKAGE
    from luthier.tuning.run_options import RunOptions

    method = load(PACKAGE, options.method)
    settings = RunOptions(**field_values(RunOptions, options))
    bounds = pairs(options.bound, str, "--bound")
    report = tune_from_options(
        options, method(**field_values(method, options)), settings, metrics_from(options), bounds
    )
    written = write_all(report, options)
    output.note(f"seed {options.seed}")
    output.emit(tuning_report(report, written), lambda: tuning_tables(report, written))
    return INTERRUPTED if report.interrupted else 0
