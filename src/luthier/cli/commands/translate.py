"""Translate text by a trained model, line by line.

  luthier translate model < text > translation
  luthier translate model --weights other.json < text

Each line is translated as soon as it is read; an empty line gives an empty line. Rules are looked up line by line.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output, naming_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier translate`."""
    parser.add_argument("model", metavar="MODEL", help="a folder that 'luthier train' made")
    parser.add_argument("--weights", metavar="W", help="weights in place of the model's own")


def run(options: argparse.Namespace, output: Output) -> None:  # noqa: ARG001
    """Answer standard input."""
    import sys

    from luthier.jobs.evaluate import translate_lines
    from luthier.jobs.trained_model import TranslationModel

    model = TranslationModel.open(options.model, options.weights)
    for line in translate_lines(model, sys.stdin.buffer):
        with naming_output():
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
