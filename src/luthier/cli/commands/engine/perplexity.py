"""Say how well a language model expects a text.

  luthier engine perplexity lm.arpa.gz text.en
  luthier engine perplexity lm.arpa.gz text.en --per-line lines.tsv

The model is any ARPA file (KenLM, SRILM, IRSTLM). On first use a file is kept beside it that opens at once.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine perplexity`."""
    parser.add_argument("model", metavar="LM", help="an ARPA file, plain or packed")
    parser.add_argument("text", metavar="TEXT", help="sentences, one a line; - is standard input")
    parser.add_argument("--per-line", metavar="TABLE", help="also write each line's numbers (.tsv, .json, .arrow)")
    parser.add_argument(
        "--skip-symbols", action="store_true", help="take <s>, </s> and <unk> in the text for white space"
    )


def run(options: argparse.Namespace, output: Output) -> None:
    """Score the text, print what it is worth."""
    from luthier.core.files.written import Written
    from luthier.jobs.lm import perplexity
    from luthier.report.tables.engine import perplexity_table

    written = Written()
    found = perplexity(
        options.model, options.text, per_line=options.per_line, skip_symbols=options.skip_symbols, written=written
    )
    output.emit(found.as_dict(), lambda: perplexity_table(found))
    written.check()
