"""Translate with a grammar and language models: text, lists, forests.

  luthier engine decode val.de --grammar val.grammar --lm lm.arpa.gz --weights weights.txt > out.txt
  luthier engine decode val.de --grammar val.grammar --lm lm.arpa.gz -k 200 --unique -o kbest.arrow --text out.txt
  luthier engine decode val.de --model trained/model -k 200 -o kbest.gz
  luthier engine decode val.de --grammar val.grammar --lm lm.arpa.gz --trace 3

Without -k the best translations are written to -o, or to standard output. With -k the lists of the K best go to -o: a
pool with derivations (.arrow), JSON Lines (.jsonl) or a Moses list (any other name, which cdec's tools read too).
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine decode`."""
    from luthier.decoding.chart.options import SearchOptions

    parser.add_argument("source", metavar="SRC", help="sentences, one a line; - is standard input")
    parser.add_argument("--model", metavar="DIR", help="a model of 'luthier train': its rules, language model, weights")
    parser.add_argument(
        "--grammar", metavar="G", help="rules of 'luthier engine extract', or as text of cdec, Joshua, Moses"
    )
    parser.add_argument("--lm", nargs="+", default=[], metavar="L", help="language models of the target side")
    parser.add_argument("--weights", metavar="W", help="weights by name (default: the model's, or stated ones)")
    parser.add_argument("--bins", metavar="B", help="cut features of rules into the bins of 'luthier engine bins'")
    parser.add_argument("-k", type=_positive, metavar="K", help="write lists of the K best of each sentence")
    parser.add_argument("--unique", action="store_true", help="no two of a list have the same words")
    parser.add_argument("--ordinary", action="store_true", help="lists as people write, of a model with [text]")
    parser.add_argument("-o", "--output", metavar="OUT", help="lists with -k, else the best translations (default: -)")
    parser.add_argument("--format", metavar="F", help="arrow, jsonl, moses, parquet (default: by the ending of OUT)")
    parser.add_argument("--text", metavar="T", help="write the best translations here, beside the lists")
    parser.add_argument("--forests", metavar="DIR", help="write all forests into this folder")
    parser.add_argument("--links", metavar="A", help="write the word links of the best translations, as 0-0 1-2")
    parser.add_argument("--trees", metavar="D", help="write the derivations of the best translations, a tree a line")
    parser.add_argument("--report", metavar="R", help="write what each search did, as JSON Lines")
    parser.add_argument("--trace", type=_natural, metavar="N", help="only show the chart of sentence N, from 0 on")
    add_field_options(parser, SearchOptions, "limits")


def _positive(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 1000000, found {text!r}")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, found {text!r}")
    return int(text)


def run(options: argparse.Namespace, output: Output) -> None:
    """Decode, write, and show what was done."""
    from luthier.core.errors import LuthierError
    from luthier.decoding.chart.options import SearchOptions
    from luthier.jobs.decode import decode
    from luthier.report.tables.engine import decoding_table

    given, place = field_values(SearchOptions, options), options.output
    if options.k is None:
        place = None if options.trace is not None or options.text is not None else options.output or "-"
    elif place is None and options.trace is None:
        raise LuthierError("expected a place for the lists (-o) with -k")
    result = decode(
        options.source,
        model=options.model,
        grammar=options.grammar,
        lm=options.lm,
        weights=options.weights,
        bins=options.bins,
        k=options.k,
        unique=options.unique,
        ordinary=options.ordinary,
        output=place,
        format=options.format,
        text=options.text,
        forests=options.forests,
        links=options.links,
        trees=options.trees,
        report=options.report,
        trace=options.trace,
        threads=options.threads,
        **given,
    )
    if "-" not in (place, options.text, options.links, options.trees, options.report):
        output.emit(result.as_dict(), lambda: decoding_table(result.summary))
