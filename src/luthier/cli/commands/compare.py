"""Compare systems with a baseline: means, spreads, p-values, intervals, over replicas of each.

  luthier compare --refs ref.txt --baseline b.1 b.2 b.3 --system new n.1 n.2 n.3
  luthier compare --pool pool.arrow --weights old.txt --weights new.1.txt new.2.txt new.3.txt

Several files of a system are replicas: runs of an optimizer that differ in their seed. From a pool, the
first --weights is the baseline; each file of weights is a replica.
"""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.fields import add_field_options, field_values
from luthier.cli.metric_options import add_metric_options, metrics_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier compare`."""
    from luthier.evaluation.comparison import Settings

    parser.add_argument("--refs", nargs="+", default=[], metavar="R", help="references, one file each")
    parser.add_argument("--baseline", nargs="+", metavar="H", help="translations of the baseline, a file a replica")
    parser.add_argument(
        "--system", nargs="+", action="append", default=[], metavar=("NAME", "H"),
        help="a system's name and its translations",
    )  # fmt: skip
    parser.add_argument("--pool", metavar="POOL", help="instead of files of translations")
    parser.add_argument("--weights", nargs="+", action="append", default=[], metavar="W", help="a system of the pool")
    parser.add_argument("--table", choices=("text", "markdown", "latex"), default="text", help="form of the table")
    parser.add_argument("--decimals", type=int, default=1, metavar="N", help="digits behind the point (1)")
    parser.add_argument(
        "--sentences", type=int, default=0, metavar="N", help="also show the N most different sentences"
    )
    add_metric_options(parser, "bleu,ter,chrf,length")
    add_field_options(parser, Settings)


def run(options: argparse.Namespace, output: Output) -> None:
    """Compute the statistics, compare, print."""
    from luthier.core.tasks import Threads
    from luthier.evaluation.comparison import Settings, compare
    from luthier.pipelines.compare import most_different, systems_from_options
    from luthier.report.tables.comparison_report import comparison_report

    metrics = metrics_from(options)
    settings = Settings(**field_values(Settings, options))
    systems, references = systems_from_options(options, metrics, threads=options.threads)
    comparison = compare(systems, metrics, settings, engine=Threads(options.threads))
    sentences = most_different(systems, references, metrics, count=options.sentences)
    output.note(f"seed {options.seed}")
    output.emit(
        {**comparison.as_dict(), "sentences": [dataclasses.asdict(item) for item in sentences]},
        lambda: comparison_report(comparison, sentences, options.table, options.decimals),
    )
