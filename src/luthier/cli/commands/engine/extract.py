"""Extract rules for a text from a parallel text and its word links.

  luthier engine extract --source train.de --target train.en --links links.gz --for val.de -o val.grammar
  luthier engine extract --source train.de --target train.en --links links.gz --model rules
  luthier engine extract --model rules --for test.de -o grammars/
  luthier engine extract --model rules --for - -o - < one.de

The name given to -o decides what is written: one file with the grammar of every sentence, which opens at once; a
folder of cdec grammars, one for each sentence (it ends in /); or one grammar for all as text (.txt, .gz, .zst, -).
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine extract`."""
    from luthier.grammar.extraction.options import KINDS, Limits

    parser.add_argument("--source", metavar="S", help="source sentences of the parallel text")
    parser.add_argument("--target", metavar="T", help="their translations, line by line")
    parser.add_argument(
        "--links", metavar="L", help="its word links, as '0-0 1-2', from 'luthier engine align' or elsewhere"
    )
    parser.add_argument(
        "--model", metavar="DIR", help="keep the indexed text in this folder, or use the one kept there"
    )
    parser.add_argument("--for", dest="sentences", metavar="FILE", help="sentences to extract for; - is standard input")
    parser.add_argument("-o", "--output", metavar="OUT", help="a file, a text, or a folder (ends in /)")
    parser.add_argument(
        "--features",
        default="log",
        metavar="KINDS",
        help=f"kinds of features, separated by commas: {', '.join(KINDS)} (default: log)",
    )
    parser.add_argument(
        "--leave-one-out", action="store_true", help="for sentences of the corpus: as if their pairs were not in it"
    )
    parser.add_argument(
        "--max-words", type=_length, default=100, metavar="N", help="leave out longer pairs (default: 100)"
    )
    add_field_options(parser, Limits, "limits")


def _length(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 10000, found {text!r}")
    return int(text)


def run(options: argparse.Namespace, output: Output) -> None:
    """Extract, write, and show what came out."""
    from luthier.core.errors import LuthierError
    from luthier.grammar.extraction.options import Limits, feature_names
    from luthier.jobs.extract import extract
    from luthier.report.tables.engine import extraction_table

    feature_names(options.features.split(","))
    if (options.sentences is None) != (options.output is None):
        raise LuthierError(
            "expected both a text and a place for its rules, or neither, found one of them. "
            "hint: --for names the text, -o the place"
        )
    result = extract(
        options.sentences,
        source=options.source,
        target=options.target,
        links=options.links,
        model=options.model,
        output=options.output,
        features=options.features,
        leave_one_out=options.leave_one_out,
        max_words=options.max_words,
        threads=options.threads,
        **field_values(Limits, options),
    )
    if options.output != "-":
        output.emit(result.as_dict(), lambda: extraction_table(result.summary))
