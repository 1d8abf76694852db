"""List the scorers that need no command, with their options."""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`luthier list scorers` has no options of its own."""


def run(options: argparse.Namespace, output: Output) -> None:  # noqa: ARG001
    """Print a table of scorers."""
    from luthier.report.tables.lists import describe_plugins, plugin_table
    from luthier.scorers._scorer import PACKAGE

    found = describe_plugins(PACKAGE)
    output.emit({"scorers": [dataclasses.asdict(item) for item in found]}, lambda: plugin_table("scorers", found))
