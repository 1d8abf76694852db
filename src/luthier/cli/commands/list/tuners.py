"""List the tuners, or the options of some.

luthier list tuners
luthier list tuners mert pro
"""

from __future__ import annotations

import argparse

from luthier.cli.commands.list._plugins import add_names, show_plugins
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier list tuners`."""
    add_names(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Print a table."""
    from luthier.tuning.base import PACKAGE

    show_plugins("tuners", PACKAGE, options, output)
