"""Align the words of a parallel text.

  luthier engine align train.de train.en -o links.gz
  luthier engine align train.de train.en --method diagonal --symmetrize intersect -o links.gz
  luthier engine align train.de train.en --train model -o links.gz
  luthier engine align new.de new.en --apply model -o new.links.gz
  luthier engine align --join forward.links backward.links -o links.gz
  luthier engine align --compare links.gz true.links

Texts have one sentence per line, words separated by white space. Links are written as '0-0 1-2', one line per
sentence pair, source before target. Pairs with an empty side, or more words than --max-words, get an empty line.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from luthier.cli.options.cluster import add_cluster_options, cluster_from
from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.jobs.align import Aligned

LONGEST = 1000  # time and memory grow with the square of a sentence and more


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all aligners share."""
    from luthier.alignment.base import DEFAULT
    from luthier.alignment.bitext import MAX_WORDS
    from luthier.alignment.symmetrize import DEFAULT_WAY, WAYS

    parser.add_argument("source", nargs="?", metavar="SRC", help="source sentences")
    parser.add_argument("target", nargs="?", metavar="TRG", help="their translations, line by line")
    parser.add_argument("-o", "--output", metavar="LINKS", help="links to write; .gz and .zst are compressed")
    parser.add_argument("--method", metavar="NAME", help=f"model1, diagonal, hmm or fertility (default: {DEFAULT})")
    parser.add_argument(
        "--symmetrize",
        choices=WAYS,
        default=DEFAULT_WAY,
        metavar="HOW",
        help=f"one alignment from both directions, or one alone: {', '.join(WAYS)} (default: {DEFAULT_WAY})",
    )
    parser.add_argument(
        "--max-words",
        type=_length,
        default=MAX_WORDS,
        metavar="N",
        help=f"leave out pairs with more words on a side (default: {MAX_WORDS})",
    )
    parser.add_argument("--scores", metavar="TSV", help="write log-probabilities of each pair (.tsv, .json, .arrow)")
    parser.add_argument("--train", metavar="MODEL", help="keep what was learned in this file")
    parser.add_argument("--apply", metavar="MODEL", help="align with a kept model; nothing is learned")
    parser.add_argument("--join", nargs=2, metavar=("F", "B"), help="symmetrize two given files of links")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help="precision, recall and AER of A against B")
    parser.add_argument("--possible", metavar="P", help="further links that are not wrong, for --compare")
    add_cluster_options(parser)


def _length(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= LONGEST:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {LONGEST}, found {text!r}")
    return int(text)


def extend_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Add the options of the aligner that was named."""
    from luthier.alignment.base import DEFAULT, PACKAGE
    from luthier.core.plugins import load

    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--method", default=DEFAULT)
    name = peek.parse_known_args(list(arguments))[0].method
    add_field_options(parser, load(PACKAGE, name), f"options of {name}")


def run(options: argparse.Namespace, output: Output) -> None:
    """Align, join or compare, and show what came out."""
    from dataclasses import asdict

    from luthier.core.errors import LuthierError
    from luthier.jobs.align import compare_files, join_files
    from luthier.report.tables.engine import agreement_table, alignment_table, joined_table

    if options.compare:
        found = compare_files(options.compare[0], options.compare[1], options.possible)
        rates = {name: getattr(found, name) for name in ("precision", "recall", "error_rate")}
        output.emit(asdict(found) | rates, lambda: agreement_table(found))
    elif options.join:
        if options.output is None:
            raise LuthierError("nothing to write. hint: name a file of links (-o)")
        joined = join_files(options.join[0], options.join[1], options.output, options.symmetrize)
        if options.output != "-":
            output.emit(asdict(joined) | {"file": options.output}, lambda: joined_table(joined, options.output))
    else:
        aligned = _align(options)
        if "-" not in aligned.files:
            output.emit(aligned.as_dict(), lambda: alignment_table(aligned.summary, aligned.files))


def _align(options: argparse.Namespace) -> Aligned:
    from luthier.alignment.base import DEFAULT, PACKAGE
    from luthier.core.errors import LuthierError
    from luthier.core.plugins import load
    from luthier.jobs.align import align

    if options.target is None:
        raise LuthierError("expected two texts, SRC and TRG. hint: 'luthier engine align --help' has examples")
    given = field_values(load(PACKAGE, options.method or DEFAULT), options)
    if options.apply is not None and (options.method is not None or given):
        raise LuthierError("a kept model (--apply) has its method and options: leave those out")
    if not (options.output or options.scores or options.train):
        raise LuthierError("nothing to write. hint: name a file of links (-o), a model (--train) or scores (--scores)")
    with cluster_from(options) as engine:
        return align(
            options.source,
            options.target,
            options.method,
            symmetrize=options.symmetrize,
            output=options.output,
            scores=options.scores,
            train=options.train,
            apply=options.apply,
            max_words=options.max_words,
            threads=options.threads,
            engine=engine,
            **given,
        )
