"""List the metrics, or the options of some.

luthier list metrics
luthier list metrics bleu chrf
"""

from __future__ import annotations

import argparse

from luthier.cli.commands.list._plugins import add_names, show_plugins
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier list metrics`."""
    add_names(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Print a table."""
    from luthier.metrics.loading import PACKAGE

    show_plugins("metrics", PACKAGE, options, output)
