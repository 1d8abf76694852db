"""Score translations against references.

luthier score out.txt --refs ref0.txt ref1.txt --metric bleu,ter,chrf
luthier score out.txt --refs ref.txt --metric bleu --tokenize 13a
luthier score out.txt --refs ref.txt --metric "0.5*ter - 0.5*bleu_nist" --minimize
"""

from __future__ import annotations

import argparse

from luthier.cli.options.weights import add_metric_options, metrics_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier score`."""
    parser.add_argument("hyps", nargs="+", metavar="HYP", help="translations, a line per sentence")
    parser.add_argument("--refs", nargs="+", required=True, metavar="R", help="references, one file each")
    parser.add_argument("--per-sentence", metavar="TSV", help="also write each sentence's scores")
    add_metric_options(parser, "bleu,ter,chrf")


def run(options: argparse.Namespace, output: Output) -> None:
    """Score all files by all metrics."""
    from luthier.core.files.io import check_writable
    from luthier.core.files.written import Written
    from luthier.jobs.score import score, write_sentence_scores
    from luthier.report.tables.lists import score_table

    metrics = metrics_from(options)
    if options.per_sentence:
        check_writable(options.per_sentence)
    found = score(options.hyps, options.refs, metrics)
    written = Written()
    if options.per_sentence:
        with written.answer(options.per_sentence):
            write_sentence_scores(found.translations, options.per_sentence)
    rows = [(item.path, item.scores) for item in found.translations]
    output.emit(found.as_dict(), lambda: score_table(rows, found.signatures))
    written.check()
