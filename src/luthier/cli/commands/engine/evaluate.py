"""Score a trained model, with intervals; --against another, p-values.

luthier engine evaluate model --source test.src --refs test.ref
luthier engine evaluate model --against baseline --source test.src --refs test.ref --metric bleu --metric chrf
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.options.weights import add_metric_options, metrics_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine evaluate`."""
    from luthier.evaluation.comparison import Settings

    parser.add_argument("model", metavar="MODEL", help="a folder that 'luthier train' made")
    parser.add_argument("--source", required=True, metavar="S", help="the text to translate")
    parser.add_argument("--refs", required=True, nargs="+", metavar="R", help="its references, one file each")
    parser.add_argument("--against", metavar="MODEL", help="another model: the baseline")
    parser.add_argument("--weights", metavar="W", help="weights in place of the model's own")
    parser.add_argument("--mbr", metavar="METRIC", help="translate by the one of the K best that agrees most with them")
    parser.add_argument("-k", type=int, default=100, metavar="K", help="how many --mbr compares (default: 100)")
    parser.add_argument("-o", "--output", metavar="TXT", help="where the translations go")
    add_metric_options(parser, "bleu")
    add_field_options(parser, Settings)


def run(options: argparse.Namespace, output: Output) -> None:
    """Translate, score, compare."""
    from luthier.core.files.written import Written
    from luthier.evaluation.comparison import Settings
    from luthier.jobs.evaluate import evaluate
    from luthier.report.tables.training import evaluation_tables

    written = Written()
    found = evaluate(
        options.model,
        options.source,
        options.refs,
        metrics_from(options),
        against=options.against,
        weights=options.weights,
        mbr=options.mbr,
        k=options.k,
        output=options.output,
        threads=options.threads,
        written=written,
        **field_values(Settings, options),
    )
    output.emit(found.as_dict(), lambda: evaluation_tables(found.comparison, found.intervals, found.published))
    written.check()
