"""Translate text by a trained model, line by line.

  luthier translate model
  luthier translate model < text > translation
  luthier translate model -n 5 < text
  luthier translate model --explain < text
  luthier translate model --mbr chrf < text

On a terminal there is a prompt. Each line is translated as soon as it is read, into one line; an empty line gives an
empty line. With -n each line gives N lines, number ||| translation ||| score, as Moses writes lists. With --explain it
gives the translation, the second best and why it lost, and the rules of the first.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.output import Output, naming_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from luthier.jobs.trained_model import TranslationModel
    from luthier.jobs.translate import Answer, Wanted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier translate`."""
    parser.add_argument("model", metavar="MODEL", help="a folder that 'luthier train' made")
    parser.add_argument("--weights", metavar="W", help="weights in place of the model's own")
    parser.add_argument("-n", "--best", type=int, default=1, metavar="N", help="the N best translations of each line")
    parser.add_argument("--explain", action="store_true", help="say why the best translation won")
    parser.add_argument("--mbr", metavar="METRIC", help="the one of the K best that agrees most with the others")
    parser.add_argument("-k", type=int, default=100, metavar="K", help="how many --mbr compares (default: 100)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Answer standard input."""
    import json
    import sys

    from luthier.jobs.trained_model import TranslationModel
    from luthier.jobs.translate import Wanted, answer_lines

    wanted = Wanted.of(best=options.best, explain=options.explain, mbr=options.mbr, k=options.k)
    model = TranslationModel.open(options.model, options.weights)
    output.bars = False  # a line takes less time than a bar
    answers = answer_lines(model, sys.stdin.buffer, wanted)
    if sys.stdin.isatty() and sys.stdout.isatty():
        answers = _typed(model, wanted)
    for number, found in enumerate(answers):
        if output.as_json:
            said = json.dumps(found.as_dict(), ensure_ascii=False)
        else:
            said = _shown(found, number, listed=options.best > 1)
        with naming_output():
            sys.stdout.write(f"{said}\n")
            sys.stdout.flush()


def _shown(found: Answer, number: int, *, listed: bool) -> str:
    lines = [f"{number} ||| {text} ||| {score:.6g}" for text, score in found.best] if listed else [found.text]
    if found.explanation is not None:
        lines += [found.explanation.text(), ""]
    return "\n".join(lines)


def _typed(model: TranslationModel, wanted: Wanted) -> Iterator[Answer]:
    """Yield the answers to lines that are typed; what is wrong with one does not end the session."""
    import sys

    from luthier.core.errors import LuthierError
    from luthier.jobs.translate import answer_lines

    for line in _prompted():
        try:
            yield from answer_lines(model, [line], wanted)
        except LuthierError as error:
            sys.stderr.write(f"luthier: error: {error}\n")


def _prompted() -> Iterator[bytes]:
    """Yield lines that are typed, after a prompt for each."""
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - lines can be edited, and come back by the arrow keys
    with contextlib.suppress(EOFError):
        while True:
            try:
                line = input("> ").encode("utf-8", "surrogateescape")
            except UnicodeDecodeError as error:  # which says what was typed
                line = bytes(error.object)
            yield line
