"""List the scorers that need no command, or the options of some.

luthier list scorers
luthier list scorers ngram
"""

from __future__ import annotations

import argparse

from luthier.cli.commands.list._plugins import add_names, show_plugins
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier list scorers`."""
    add_names(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Print a table."""
    from luthier.scorers._scorer import PACKAGE

    show_plugins("scorers", PACKAGE, options, output)
