"""What the lists share: a line for each name, or the options of those that are named."""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.output import Output


def add_names(parser: argparse.ArgumentParser) -> None:
    """Declare the names whose options are shown."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="show the options of these")


def show_plugins(kind: str, package: str, options: argparse.Namespace, output: Output) -> None:
    """Print a table of a package's plug-ins, and the options of those that are named; with --verbose of all."""
    from luthier.core.plugins import available
    from luthier.report.console import stack
    from luthier.report.tables.lists import describe_plugins, names_table, options_table

    if not (options.names or output.verbose or output.as_json):
        more = f"'luthier list {kind} NAME' shows the options of one, --verbose those of all"
        output.emit({}, lambda: names_table(kind, available(package), more))
        return
    found = describe_plugins(package, options.names)
    output.emit({kind: [dataclasses.asdict(one) for one in found]}, lambda: stack(*map(options_table, found)))
