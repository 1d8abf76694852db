"""List the metrics, with their parameters and variants."""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`luthier list metrics` has no options of its own."""


def run(options: argparse.Namespace, output: Output) -> None:  # noqa: ARG001
    """Print a table of metrics."""
    from luthier.metrics.loading import PACKAGE
    from luthier.report.tables.lists import describe_plugins, plugin_table

    found = describe_plugins(PACKAGE)
    output.emit({"metrics": [dataclasses.asdict(item) for item in found]}, lambda: plugin_table("metrics", found))
