"""List the formats that can be read, or the options of some.

luthier list formats
luthier list formats jsonl
"""

from __future__ import annotations

import argparse

from luthier.cli.commands.list._plugins import add_names, show_plugins
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier list formats`."""
    add_names(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Print a table."""
    from luthier.kbest.reading.reader import PACKAGE

    show_plugins("formats", PACKAGE, options, output)
