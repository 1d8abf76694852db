"""List the formats that can be read, with their options."""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`luthier list formats` has no options of its own."""


def run(options: argparse.Namespace, output: Output) -> None:  # noqa: ARG001
    """Print a table of readers."""
    from luthier.kbest.reading.reader import PACKAGE
    from luthier.report.tables.lists import describe_plugins, plugin_table

    found = describe_plugins(PACKAGE)
    output.emit({"formats": [dataclasses.asdict(item) for item in found]}, lambda: plugin_table("formats", found))
